"""POST /api/v1/runs/{id}/stream: a run that is executed elsewhere is fed, once and in order."""

import asyncio
import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from agui_host.dialects.durable_streams import wire
from agui_host.teams import keys
from agui_host.teams.models import Role, Scope, TeamLimits
from events.writer import JournalWriter
from runs.lifecycle import lifecycle
from runs.lifecycle.ingest import batches, intakes
from runs.lifecycle.lifecycle import Claimed
from runs.models import Ingest, Run, Status
from runs.worker import reaper
from runs.worker.executor import Stop, execute_claim
from tests.asgi import Answer, ask
from tests.cast import Cast, fresh, log_of, types_of

pytestmark = pytest.mark.django_db(transaction=True)

START = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
END = {"type": "TEXT_MESSAGE_END", "messageId": "m"}
FINISHED = {"type": "RUN_FINISHED"}
TURNS = ["running", "queued"]
"""The statuses of two runs of a thread: the second waits until the first has ended."""


def delta(text: str) -> dict[str, Any]:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": text}


@dataclass(frozen=True)
class Producer:
    """A producer by hand, with the headers of each batch."""

    run: Run
    headers: dict[str, str]
    name: str = "p"

    async def feed(
        self, seq: int, *events: Any, epoch: int = 0, name: str | None = None, **more: str
    ) -> Answer:
        place = {"producer-epoch": str(epoch), "producer-seq": str(seq)}
        return await self.post(*events, producer_id=name or self.name, **place, **more)

    async def post(self, *events: Any, **headers: str) -> Answer:
        body = json.dumps(list(events)).encode() if events else b""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if events:
            headers = {"content-type": "application/json", **headers}
        url = f"/api/v1/runs/{self.run.pk}/stream"
        return await ask("POST", url, {**self.headers, **headers}, body=body)

    async def types(self) -> list[str]:
        return await db(types_of, self.run)

    async def texts(self) -> list[str]:
        log = await db(log_of, self.run)
        return [event["delta"] for event in log if event["type"].endswith("CONTENT")]

    async def status(self) -> str:
        return str((await db(fresh, self.run)).status)


async def opened(
    cast: Cast, headers: dict[str, str] | None = None, status: str = "running", **input: Any
) -> Producer:
    """A run of the external agent ``ext``: open, or waiting for its turn in its thread."""
    body = {"agent": "ext", "on_busy": "enqueue", "input": input}
    answer = await ask("POST", "/api/v1/runs", headers or cast.bob.headers, json=body)
    assert (answer.status, answer.json["status"]) == (202, status), answer.body
    run = await db(lambda: Run.objects.of_any_team().get(pk=answer.json["id"]))
    return Producer(run, headers or cast.bob.headers)


@pytest.fixture
async def external(cast: Cast, bell: None) -> None:
    """The agent, made as a team makes it."""
    body = {"slug": "ext", "kind": "external"}
    answer = await ask("POST", "/api/v1/agents", cast.alice.headers, json=body)
    assert (answer.status, answer.json["kind"], answer.json["url"]) == (201, "external", None)


@pytest.fixture
async def producer(cast: Cast, external: None) -> Producer:
    return await opened(cast)


@pytest.fixture(params=["one process", "another process each time"])
def processes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the process that takes a batch has taken the one before."""
    if request.param != "one process":
        monkeypatch.setattr(intakes, "keep", lambda *values: None)


class TestBatches:
    async def test_a_run_from_its_first_event_to_its_last(self, producer: Producer) -> None:
        answer = await producer.feed(0, START, delta("a"))
        assert (answer.status, answer.body) == (200, b"")
        assert answer.headers["producer-epoch"] == "0"
        assert answer.headers["producer-seq"] == "0"
        assert answer.headers["stream-next-offset"] == wire.offset(3)
        assert "stream-closed" not in answer.headers
        answer = await producer.feed(1, delta("b"), END, FINISHED)
        assert (answer.status, answer.headers["stream-closed"]) == (200, "true")
        run = await db(fresh, producer.run)
        assert (run.status, run.journal.head) == (Status.SUCCEEDED, 6)
        assert await producer.texts() == ["a", "b"]

    async def test_the_same_batch_twice_is_stored_once(self, producer: Producer) -> None:
        await producer.feed(0, START, delta("a"))
        await producer.feed(1, delta("b"))
        for seq in (0, 1):
            again = await producer.feed(seq, delta("other"))
            assert again.status == 204
            assert again.headers["producer-seq"] == "1"
        assert await producer.texts() == ["a", "b"]

    async def test_a_gap(self, producer: Producer) -> None:
        first = await producer.feed(1, START)
        assert (first.status, first.code) == (409, "sequence_gap")
        assert first.headers["producer-expected-seq"] == "0"
        await producer.feed(0, START)
        answer = await producer.feed(3, END)
        assert (answer.status, answer.code) == (409, "sequence_gap")
        assert answer.headers["producer-expected-seq"] == "1"
        assert answer.headers["producer-received-seq"] == "3"

    async def test_at_once_each_is_stored_once_and_in_order(self, producer: Producer) -> None:
        await producer.feed(0, START)

        async def until_taken(seq: int) -> None:
            while (await producer.feed(seq, delta(str(seq)))).status == 409:
                await asyncio.sleep(0.01)

        await asyncio.gather(*(until_taken(seq) for seq in (3, 2, 1, 1, 2, 3)))
        assert await producer.texts() == ["1", "2", "3"]

    async def test_of_other_processes_continue_what_is_open(
        self, producer: Producer, processes: None
    ) -> None:
        """Chunks, halves of a character, the state, an open step: not all of it is in the log."""
        chunk = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "c"}
        await producer.feed(0, {"type": "STATE_SNAPSHOT", "snapshot": {}}, {**chunk, "delta": "a"})
        await producer.feed(1, {**chunk, "delta": "b\ud83d"})
        answer = await producer.feed(2, {**chunk, "delta": "\ude00c"})
        assert answer.status == 200, answer.body
        patch = [{"op": "add", "path": "/n", "value": [1]}]
        await producer.feed(3, {"type": "STATE_DELTA", "delta": patch})
        patch = [{"op": "add", "path": "/n/-", "value": 2}]
        step = {"type": "STEP_STARTED", "stepName": "s"}
        await producer.feed(4, {"type": "STATE_DELTA", "delta": patch}, step)
        answer = await producer.feed(5, {"type": "STEP_FINISHED", "stepName": "s"}, FINISHED)
        assert answer.status == 200, answer.body
        assert "".join(await producer.texts()) == "ab😀c"
        kinds = await producer.types()
        assert (kinds.count("TEXT_MESSAGE_START"), kinds.count("TEXT_MESSAGE_END")) == (1, 1)
        assert await producer.status() == "succeeded"

    async def test_one_event_without_an_array(self, producer: Producer) -> None:
        place = {"producer-id": "p", "producer-epoch": "0", "producer-seq": "0"}
        url = f"/api/v1/runs/{producer.run.pk}/stream"
        assert (await ask("POST", url, {**producer.headers, **place}, json=START)).status == 200
        assert (await producer.types())[-1] == "TEXT_MESSAGE_START"


class TestEpochs:
    async def test_the_next_takes_over(self, producer: Producer) -> None:
        await producer.feed(0, START, delta("a"))
        assert (await producer.feed(0, delta("b"), epoch=1)).status == 200
        stale = await producer.feed(1, delta("c"))
        assert (stale.status, stale.code) == (403, "stale_epoch")
        assert stale.headers["producer-epoch"] == "1"
        assert (await producer.feed(1, delta("d"), epoch=1, name="q")).status == 403
        assert (await producer.feed(0, delta("e"), epoch=2, name="q")).status == 200
        assert await producer.texts() == ["a", "b", "e"]

    async def test_begins_with_0(self, producer: Producer) -> None:
        await producer.feed(0, START)
        answer = await producer.feed(1, END, epoch=1)
        assert (answer.status, answer.code) == (409, "sequence_gap")
        assert answer.headers["producer-expected-seq"] == "0"
        assert (await producer.feed(1, END)).status == 200, "nobody has taken over"


class TestEnds:
    @pytest.mark.parametrize("body", [(), (delta("b"),), (delta("b"), END, FINISHED)])
    async def test_by_stream_closed(self, producer: Producer, body: Any) -> None:
        await producer.feed(0, START, delta("a"))
        answer = await producer.feed(1, *body, stream_closed="true")
        assert (answer.status, answer.headers["stream-closed"]) == (200, "true")
        assert (await producer.types())[-2:] == ["TEXT_MESSAGE_END", "RUN_FINISHED"]
        assert await producer.status() == "succeeded"
        again = await producer.feed(1, *body, stream_closed="true")
        assert (again.status, again.headers["stream-closed"]) == (204, "true")
        closed = await producer.feed(2, stream_closed="true")
        assert closed.status == 204
        late = await producer.feed(2, delta("c"))
        assert (late.status, late.code) == (409, "stream_closed")
        assert late.headers["stream-closed"] == "true"
        # The stock client would ask again for ever, if something were missing before its batch.
        assert late.headers["producer-expected-seq"] == "2"

    async def test_without_a_producer(self, producer: Producer) -> None:
        for _ in range(2):
            answer = await producer.post(stream_closed="true")
            assert (answer.status, answer.headers["stream-closed"]) == (204, "true")
        assert await producer.types() == ["RUN_STARTED", "RUN_FINISHED"]
        assert (await producer.post(stream_closed="yes")).status == 400

    async def test_by_a_cancel(self, cast: Cast, producer: Producer, processes: None) -> None:
        await producer.feed(0, START, {"type": "TEXT_MESSAGE_CHUNK", "messageId": "c"})
        url = f"/api/v1/runs/{producer.run.pk}"
        assert (await ask("POST", f"{url}/cancel", cast.bob.headers)).status == 202
        assert await producer.status() == "cancelled"
        log = await db(log_of, producer.run)
        assert log[-1]["outcome"] == {"type": "cancelled"}
        assert [event["type"] for event in log].count("TEXT_MESSAGE_END") == 2
        answer = await producer.feed(1, delta("a"))
        assert (answer.status, answer.code) == (409, "stream_closed")

    async def test_by_silence(self, producer: Producer, settings: Settings) -> None:
        settings.AGUI_WORKER_LOST_AFTER = 3600
        await producer.feed(0, START)
        assert await db(reaper.run_once) == []
        settings.AGUI_INGEST_LEASE = 0.0
        assert await db(reaper.run_once) == [producer.run.pk]
        run = await db(fresh, producer.run)
        assert (run.status, run.error_code) == (Status.FAILED, "worker_lost")
        assert (await producer.feed(1, END)).code == "stream_closed"

    async def test_a_repeated_batch_renews_the_lease(self, producer: Producer) -> None:
        await producer.feed(0, START)
        old = await db(lambda: Ingest.objects.get().seen_at)
        assert (await producer.feed(0)).status == 204
        assert await db(lambda: Ingest.objects.get().seen_at) > old

    async def test_by_time(self, producer: Producer) -> None:
        await producer.feed(0, START)
        await db(lambda: Ingest.objects.update(ends_at="2020-01-01T00:00Z"))
        assert (await producer.feed(1, END)).code == "stream_closed"
        run = await db(fresh, producer.run)
        assert (run.status, run.error_code) == (Status.FAILED, "timeout")

    async def test_with_a_question_whose_answer_opens_the_next(
        self, cast: Cast, producer: Producer
    ) -> None:
        interrupt = {"id": "q", "reason": "input_required"}
        outcome = {"type": "interrupt", "interrupts": [interrupt]}
        await producer.feed(0, {**FINISHED, "outcome": outcome})
        assert await producer.status() == "interrupted"
        thread = await db(lambda: fresh(producer.run).thread.thread_id)
        resume = [{"interruptId": "q", "status": "resolved", "payload": True}]
        following = await opened(cast, threadId=thread, resume=resume)
        assert following.run.pk != producer.run.pk
        assert json.loads(following.run.input)["resume"][0]["payload"] is True


class TestRefusals:
    BROKEN: dict[str, Any] = {
        "unknown": {"type": "NO_SUCH_EVENT"},
        "incomplete": {"type": "TEXT_MESSAGE_START"},
        "out of order": {"type": "TEXT_MESSAGE_CONTENT", "messageId": "x", "delta": "x"},
        "no event": [1],
    }

    @pytest.mark.parametrize("name", BROKEN)
    async def test_a_batch_that_breaks_ag_ui_stores_nothing(
        self, producer: Producer, name: str
    ) -> None:
        await producer.feed(0, START, delta("a"))
        answer = await producer.feed(1, delta("b"), END, self.BROKEN[name], FINISHED)
        assert (answer.status, answer.code) == (422, "event_refused")
        assert answer.json["error"]["details"]["index"] == 2
        assert await producer.texts() == ["a"]
        assert (await producer.feed(1, delta("c"), END)).status == 200
        assert await producer.texts() == ["a", "c"]
        assert await producer.status() == "running"

    async def test_what_is_no_batch(self, producer: Producer) -> None:
        place = {"producer-id": "p", "producer-epoch": "0", "producer-seq": "0"}
        url = f"/api/v1/runs/{producer.run.pk}/stream"
        json_type = {"content-type": "application/json"}
        bad: list[tuple[int, dict[str, str], bytes]] = [
            (400, {**place, **json_type}, b"[]"),
            (400, {**place, **json_type}, b"[1"),
            (400, place, b""),
            (415, place, b"[1]"),
            (400, json_type, b'[{"type":"RUN_FINISHED"}]'),
            (400, {**place, **json_type, "producer-seq": "-1"}, b"[1]"),
            (400, {**place, **json_type, "producer-seq": "9" * 16}, b"[1]"),
            (400, {**place, **json_type, "producer-epoch": "x"}, b"[1]"),
            (400, {**place, **json_type, "producer-id": ""}, b"[1]"),
            (400, {"producer-id": "p", **json_type}, b"[1]"),
        ]
        for status, headers, body in bad:
            answer = await ask("POST", url, {**producer.headers, **headers}, body=body)
            assert answer.status == status, (headers, body)
        assert await producer.types() == ["RUN_STARTED"]

    async def test_a_run_of_a_hosted_agent(self, cast: Cast, external: None) -> None:
        answer = await ask("POST", "/api/v1/runs", cast.bob.headers, json={"input": {}})
        run = await db(lambda: Run.objects.of_any_team().get(pk=answer.json["id"]))
        assert (await Producer(run, cast.bob.headers).feed(0, START)).status == 405

    async def test_a_team_that_is_too_fast(self, cast: Cast, producer: Producer) -> None:
        await db(lambda: TeamLimits.objects.create(team=cast.team, events_per_second=100))
        assert (await producer.feed(0, START, *[delta("a")] * 120)).status == 200
        left = await db(lambda: Ingest.objects.get().paced_until - timezone.now())
        assert 0 < left.total_seconds() <= 1, "it was not slowed down"
        later = timezone.now() + timedelta(hours=1)
        await db(lambda: Ingest.objects.update(paced_until=later))
        answer = await producer.feed(1, delta("a"))
        assert (answer.status, answer.code) == (429, "limit_reached")

    async def test_an_agent_of_two_kinds(self, cast: Cast, external: None) -> None:
        url = "/api/v1/agents"
        for body in (
            {"slug": "a", "kind": "external", "url": "https://agents.example.com/"},
            {"slug": "a", "kind": "python"},
            {"slug": "a"},
        ):
            assert (await ask("POST", url, cast.alice.headers, json=body)).status == 422
        changed = await ask("PATCH", f"{url}/ext", cast.alice.headers, json={"policy": "repair"})
        assert (changed.status, changed.json["policy"]) == (200, "repair")
        refused = await ask("PATCH", f"{url}/ext", cast.alice.headers, json={"headers": {"x": "y"}})
        assert refused.status == 422
        assert (await ask("DELETE", f"{url}/ext", cast.alice.headers)).status == 204


class TestRights:
    async def test_a_key_for_ingest_opens_and_feeds_and_does_nothing_else(
        self, cast: Cast, external: None
    ) -> None:
        text = (await db(keys.create_key, cast.team, "x", Role.MEMBER, scopes=[Scope.INGEST]))[1]
        headers = {"authorization": f"Bearer {text}"}
        producer = await opened(cast, headers)
        assert (await producer.feed(0, START)).status == 200
        hosted = await ask("POST", "/api/v1/runs", headers, json={"agent": "echo", "input": {}})
        assert hosted.status == 403
        url = f"/api/v1/runs/{producer.run.pk}/stream"
        assert (await ask("GET", url, headers)).status == 403

    async def test_others(self, cast: Cast, producer: Producer) -> None:
        vera, charlie = (Producer(producer.run, who.headers) for who in (cast.vera, cast.charlie))
        assert (await vera.feed(0, START)).status == 403
        assert (await charlie.feed(0, START)).status == 404
        text = (await db(keys.create_key, cast.team, "x", Role.MEMBER, scopes=["run"]))[1]
        bare = Producer(producer.run, {"authorization": f"Bearer {text}"})
        assert (await bare.feed(0, START)).status == 403
        assert await producer.types() == ["RUN_STARTED"]


class TestOpening:
    async def test_by_a_worker(self, cast: Cast, external: None) -> None:
        """A run whose turn comes later is opened by the worker that gets its job."""
        first, second = [await opened(cast, None, each, threadId="t") for each in TURNS]
        assert (await second.feed(0, START)).status == 503
        await first.post(stream_closed="true")
        claimed = await db(lifecycle.claim, second.run.pk)
        assert claimed
        early = await second.feed(0, START)
        assert (early.status, early.code) == (503, "unavailable")
        await db(batches.begin, claimed)
        assert (await second.feed(0, START)).status == 200

    async def test_by_a_worker_while_it_is_cancelled(
        self, cast: Cast, external: None, writer: JournalWriter
    ) -> None:
        """Between the worker's claim and its opening: the run ends at once, and stays so."""
        first, second = [await opened(cast, None, each, threadId="t") for each in TURNS]
        await first.post(stream_closed="true")

        async def claim_first() -> Claimed | None:
            claimed = await db(lifecycle.claim, second.run.pk)
            await ask("POST", f"/api/v1/runs/{second.run.pk}/cancel", cast.bob.headers)
            return claimed

        await execute_claim(claim_first, writer, lambda: Stop.CANCEL)
        assert await second.status() == "cancelled"
        assert await second.types() == ["RUN_STARTED", "RUN_FINISHED"]
        assert not await db(Ingest.objects.filter(run=second.run).exists)
        assert (await second.feed(0, START)).code == "stream_closed"

    async def test_by_its_first_batch(self, cast: Cast, external: None) -> None:
        first, second = [await opened(cast, None, each, threadId="t") for each in TURNS]
        await first.post(stream_closed="true")
        assert (await second.feed(0, START)).status == 200
        assert await second.types() == ["RUN_STARTED", "TEXT_MESSAGE_START"]
