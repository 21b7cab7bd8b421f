"""The outline of a run over HTTP: its rows, who gets them, and what a long run costs."""

import gzip
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agui_host.backends.postgres import scope
from agui_host.backends.postgres.bridge import db
from agui_host.protocol.encoding import Record, encode
from events import journal, outlines, purge
from events.journal import Batch
from events.models import OutlinePage
from events.writer import JournalWriter
from runs.access import sharing
from runs.access.sharing import Terms, To
from runs.models import Run
from tests.asgi import ask, ask_now
from tests.cast import Actor, Cast, LiveRun, log_of, perform, start
from tests.events.records import record

pytestmark = pytest.mark.django_db(transaction=True)

Rows = list[dict[str, Any]]
EVENTS: list[dict[str, Any]] = [
    {"type": "SUBAGENT_STARTED", "subagentRunId": "s1", "name": "researcher"},
    {"type": "TEXT_MESSAGE_START", "messageId": "m1", "role": "assistant", "subagentRunId": "s1"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "Let me look."},
    {"type": "TEXT_MESSAGE_END", "messageId": "m1"},
    {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "search",
     "parentMessageId": "m1", "subagentRunId": "s1"},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": '{"password": "hunter2"}'},
    {"type": "TOOL_CALL_END", "toolCallId": "c1"},
    {"type": "TOOL_CALL_RESULT", "toolCallId": "c1", "messageId": "t1", "content": "hunter2"},
    {"type": "SUBAGENT_FINISHED", "subagentRunId": "s1", "outcome": {"type": "success"}},
    {"type": "STEP_STARTED", "stepName": "plan"},
    {"type": "STEP_FINISHED", "stepName": "plan"},
]  # fmt: skip


def outline_of(actor: Actor, run: Run, **query: int) -> dict[str, Any]:
    fields = "&".join(f"{name}={value}" for name, value in query.items())
    answer = ask_now("GET", f"/api/v1/runs/{run.pk}/outline?{fields}", actor.headers)
    assert answer.status == 200, answer.body
    body: dict[str, Any] = answer.json
    return body


def all_rows(actor: Actor, run: Run, limit: int) -> Rows:
    rows: Rows = []
    while page := outline_of(actor, run, after=len(rows), limit=limit)["rows"]:
        rows += page
    return rows


@contextmanager
def full_house() -> Iterator[None]:
    """Other teams fold long logs, as many at once as this process allows."""
    callers: list[str] = []
    while True:
        with scope.limited(uuid4()):
            caller = outlines.BUILDING.begin()
        if caller is None:
            break
        callers.append(caller)
    try:
        yield
    finally:
        for caller in callers:
            outlines.BUILDING.end(caller)


def with_log(actor: Actor, records: Iterable[Record]) -> Run:
    """A run whose log is this, as its writer stored it."""
    run = start(actor)
    claim = journal.take_over(run.pk)
    assert claim
    first = 1
    batch: list[Record] = []
    for each in [*records, None]:
        if each is not None:
            batch.append(each)
        if batch and (each is None or len(batch) == 5_000):
            assert journal.append([Batch(run.pk, claim.generation, first, batch)])
            first += len(batch)
            batch = []
    return run


def tools(count: int, name: str = "look") -> Iterable[Record]:
    """A whole run of that many tool calls, three events each."""
    yield record("RUN_STARTED", threadId="t", runId="r")
    for n in range(count):
        yield record("TOOL_CALL_START", toolCallId=f"c{n}", toolCallName=name)
        yield record("TOOL_CALL_END", toolCallId=f"c{n}")
        yield record("TOOL_CALL_RESULT", toolCallId=f"c{n}", messageId=f"r{n}", content="ok")
    yield record("RUN_FINISHED", threadId="t", runId="r")


async def test_every_thing_is_a_row_while_it_happens_and_afterwards(
    cast: Cast, writer: JournalWriter
) -> None:
    live = await LiveRun.begin(await db(start, cast.alice), writer)
    open_rows: Rows = []
    for event in EVENTS:
        live._lease.append(live._intake.accept(event))
        await live._lease.flush()
        if event["type"] == "TOOL_CALL_START":
            open_rows = (await db(outline_of, cast.vera, live.run))["rows"]
    facts = [(row["kind"], row["id"], row["seq1"], row["status"]) for row in open_rows[2:]]
    assert facts == [
        ("subagent", "s1", None, "running"),
        ("message", "m1", 5, "succeeded"),
        ("tool", "c1", None, "running"),
    ]
    changed = await db(lambda: outline_of(cast.vera, live.run, since=6))
    assert [row["id"] for row in changed["rows"]] == ["s1", "c1", "plan"]
    kinds = [(row["kind"], row["seq0"], row["seq1"]) for row in open_rows[:2]]
    assert kinds == [("queue", 1, 1), ("attempt", 1, None)]
    assert 0 <= open_rows[0]["t1"] - open_rows[0]["t0"] < 600_000
    await live.ask("may I?")
    body = await db(outline_of, cast.vera, live.run)
    log = await db(log_of, live.run)
    assert body["head"] == len(log)
    rows = {(row["kind"], row["id"]): row for row in body["rows"]}
    assert [row["n"] for row in body["rows"]] == [1, 2, 3, 4, 5, 6, 7]
    tool = rows["tool", "c1"]
    spans = [(row["seq0"], row["seq1"]) for row in rows.values()]
    assert spans == [(1, 1), (1, 13), (2, 10), (3, 5), (6, 9), (11, 12), (13, 13)]
    assert (tool["name"], tool["parent"], tool["lane"]) == ("search", "m1", ["s1"])
    assert (tool["result"], tool["status"], tool["gist"]) == (9, "succeeded", EVENTS[5]["delta"])
    assert (tool["t0"], tool["t1"]) == (log[5]["timestamp"], log[8]["timestamp"])
    assert tool["bytes"] == sum(len(encode(event)) for event in log[5:9])
    assert rows["subagent", "s1"]["lane"] == ["s1"]
    assert rows["interrupt", "may I?"]["status"] == "asked"


async def test_a_link_shows_nothing_that_its_events_hide(cast: Cast, writer: JournalWriter) -> None:
    live = await LiveRun.begin(await db(start, cast.alice), writer)
    for event in EVENTS:
        live._lease.append(live._intake.accept(event))
    await live.end()
    for hidden, secret in (([], True), (["password"], False), (["search"], False)):
        token = (
            await db(
                sharing.share, cast.alice.principal, live.run, To(), Terms(redact=hidden)
            )
        )[1]  # fmt: skip
        base = f"/shared/{token}/runs/{live.run.pk}"
        answer = await ask("GET", f"{base}/outline")
        assert answer.status == 200
        assert (b"hunter2" in answer.body) == secret
        assert [row["seq0"] for row in answer.json["rows"]] == [1, 1, 2, 3, 6, 11]
        assert {row["bytes"] for row in answer.json["rows"]} == {None}
        other = await perform(await db(start, cast.alice), writer)
        assert (await ask("GET", f"/shared/{token}/runs/{other.pk}/outline")).status == 404


def test_bad_numbers_are_refused(cast: Cast) -> None:
    run = with_log(cast.alice, tools(1))
    for query, status in (
        ("after=x", 400), ("after=-1", 400), ("since=99", 400), ("since=1.5", 400),
        ("limit=0", 422), ("limit=10001", 422), ("after=99999999999", 400), ("after=999", 200),
    ):  # fmt: skip
        answer = ask_now("GET", f"/api/v1/runs/{run.pk}/outline?{query}", cast.vera.headers)
        assert answer.status == status, query


class TestLongRuns:
    def test_one_that_has_ended_is_stored_and_then_read_by_the_page(self, cast: Cast) -> None:
        run = with_log(cast.alice, tools(2_000))
        whole = outline_of(cast.vera, run)
        assert [row["id"] for row in whole["rows"]][2:] == [f"c{n}" for n in range(2_000)]
        assert whole["head"] == 6_002
        assert OutlinePage.objects.filter(journal_id=run.pk).count() == 6
        assert run.pk not in {key for key, _ in outlines._growing}
        assert all_rows(cast.vera, run, 700) == whole["rows"]
        with CaptureQueriesContext(
            connection,
        ) as queries:
            part = outlines.read(run.pk, 1_400, limit=50)
        assert [json.loads(row)["n"] for row in part.rows] == list(range(1_401, 1_451))
        assert not [each for each in queries if "agui_events" in each["sql"]]
        late = outlines.read(run.pk, since=6_000)
        assert [json.loads(row)["id"] for row in late.rows] == ["r", "c1999"]

    def test_a_request_folds_for_a_bounded_time_and_the_next_one_continues(
        self, cast: Cast, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run = with_log(cast.alice, tools(4_000))
        whole = outlines.read(run.pk).rows
        OutlinePage.objects.all().delete()
        monkeypatch.setattr(outlines, "SECONDS", 0.0)
        heads: list[int] = []
        while not heads or heads[-1] < 12_002:
            heads.append(outline_of(cast.vera, run)["head"])
            if len(heads) == 3:
                outlines._growing.clear()  # another process is asked
        assert heads == [*range(2_000, 12_001, 2_000), 12_002]
        assert outlines.read(run.pk).rows == whole

    def test_a_step_is_cut_by_its_bytes(self, cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is cut off comes in the next step, also where characters take several bytes."""
        written = (
            each._replace(payload=encode(json.loads(each.payload)))
            for each in tools(200, name="名" * 60)
        )
        run = with_log(cast.alice, written)
        monkeypatch.setattr(outlines, "STEP_BYTES", 40_000)
        rows = all_rows(cast.vera, run, limit=500)
        assert sum(row["kind"] == "tool" for row in rows) == 200

    def test_a_live_run_reads_only_what_is_new(self, cast: Cast) -> None:
        records = list(tools(3_000))
        run = with_log(cast.alice, records[:8_000])
        assert outline_of(cast.vera, run)["head"] == 8_000
        claim = journal.current_claim(run.pk)
        with CaptureQueriesContext(connection) as queries:
            assert outlines.read(run.pk, since=8_000).rows == []
        assert len(queries) == 1
        assert journal.append([Batch(run.pk, claim.generation, 8_001, records[8_000:])])
        with CaptureQueriesContext(connection) as queries:
            part = outlines.read(run.pk, since=8_000)
        assert len([each for each in queries if "agui_events" in each["sql"]]) == 1
        assert [json.loads(row)["n"] for row in part.rows] == [2, *range(2_669, 3_003)]

    def test_others_go_on_while_long_logs_are_folded(
        self, cast: Cast, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run = with_log(cast.alice, tools(3_000))
        monkeypatch.setattr(outlines, "SECONDS", 60.0)
        with full_house():
            assert outline_of(cast.vera, run)["head"] == outlines.STEP_EVENTS
        assert outline_of(cast.vera, run)["head"] == 9_002

    def test_a_huge_event_and_thousands_of_subagents(self, cast: Cast) -> None:
        huge = "x" * 9_000_000
        started = [
            record("SUBAGENT_STARTED", subagentRunId=f"s{n}", name="n", **(
                {"parentSubagentRunId": f"s{n - 1}"} if n else {}
            )) for n in range(5_000)
        ]  # fmt: skip
        ends = [record("SUBAGENT_FINISHED", subagentRunId=f"s{n}") for n in range(5_000)]
        call = {"toolCallId": "c", "toolCallName": huge[:1000]}
        parts = [
            record("TOOL_CALL_START", **call),
            record("TOOL_CALL_ARGS", toolCallId="c", delta=huge),
            record("TOOL_CALL_END", toolCallId="c"),
        ]
        run = with_log(
            cast.alice,
            [record("RUN_STARTED", runId="r"), *parts, *started, *ends, record("RUN_FINISHED")],
        )
        rows = outline_of(cast.vera, run)["rows"][2:]
        assert len(rows) == 5_001
        assert (rows[0]["seq0"], rows[0]["seq1"]) == (2, 4)
        assert rows[0]["bytes"] > 9_000_000
        assert rows[4_999]["lane"][-2:] == ["s4997", "s4998"]
        assert (rows[-1]["seq0"], rows[-1]["seq1"]) == (5_004, 10_004)
        assert len(json.dumps(rows)) < outlines.MOST_BYTES

    def test_a_purged_run_has_no_outline(self, cast: Cast) -> None:
        run = with_log(cast.alice, tools(1_000))
        assert outline_of(cast.vera, run)["rows"]
        assert OutlinePage.objects.exists()
        purge.doom([run.pk])
        Run.objects.filter(pk=run.pk).update(purged_at=timezone.now())
        assert not OutlinePage.objects.exists()
        answer = ask_now("GET", f"/api/v1/runs/{run.pk}/outline", cast.vera.headers)
        assert (answer.status, answer.json["error"]["code"]) == (410, "purged")
        growing = outlines.Growing(run.pk)
        growing.stored = 0
        outlines._store(run.pk, growing)
        assert not OutlinePage.objects.exists(), "stored after the log was doomed"


def test_it_is_sent_compressed_to_readers_who_understand_that(cast: Cast) -> None:
    run = with_log(cast.alice, tools(20))
    headers = {**cast.alice.headers, "accept-encoding": "gzip"}
    answer = ask_now("GET", f"/api/v1/runs/{run.pk}/outline", headers)
    assert answer.headers["content-encoding"] == "gzip"
    assert json.loads(gzip.decompress(answer.body)) == outline_of(cast.alice, run)
