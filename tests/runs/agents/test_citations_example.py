"""docs/examples/citations.md: 3 quotes verified, 1 partial, 1 missed, whoever looks when."""

import ast
import asyncio
import json
import re
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.protocol.fold.fold import Fold
from agui_host.runtimes import registry
from agui_host.runtimes.middleware import citations
from agui_host.runtimes.middleware.citing.extract import Citation
from agui_host.runtimes.middleware.citing.local import LocalVerifier
from agui_host.runtimes.models import Agent
from events.models import Event
from events.writer import JournalWriter
from runs.lifecycle import lifecycle
from runs.models import Run
from runs.worker.executor import Stop, execute
from tests.asgi import Exchange, events_of
from tests.cast import Cast, fresh, log_of, perform, start
from tests.house.repository import ROOT
from tests.runs.playing import settled

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = (ROOT / "docs" / "examples" / "citations.md").read_text()
(CODE,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
MIDDLEWARE, BODY, SUMMARY = map(json.loads, re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))


(ANSWER,) = re.findall(r"ANSWER = (\(.*?\n\))", CODE, re.DOTALL)
SSE = {"accept": "text/event-stream"}


class Gated(LocalVerifier):
    """Checks as many quotes as the test has let pass."""

    passes: asyncio.Semaphore

    async def verify(self, citation: Citation) -> dict[str, Any]:
        await self.passes.acquire()
        return await super().verify(citation)


@pytest.fixture
async def passes(monkeypatch: pytest.MonkeyPatch) -> asyncio.Semaphore:
    """Nothing is verified until it is released."""
    monkeypatch.setitem(citations.VERIFIERS, "local", Gated)
    monkeypatch.setattr(Gated, "passes", asyncio.Semaphore(0), raising=False)
    return Gated.passes


@pytest.fixture
async def reader(cast: Cast) -> Agent:
    names: dict[str, Any] = {"__name__": "example"}
    exec(CODE, names)  # noqa: S102
    entry = registry.get("lease-reader")

    def made() -> Agent:
        row: Agent = Agent.objects.create(
            team=cast.team, slug=entry.slug, name=entry.name, target=entry.slug,
            middleware=MIDDLEWARE,
        )  # fmt: skip
        return row

    return await db(made)


def state_of(events: list[dict[str, Any]]) -> Any:
    fold = Fold()
    for event in events:
        fold.feed(event)
    return fold.state


def answer_of(events: list[dict[str, Any]]) -> dict[str, Any]:
    message: dict[str, Any] = state_of(events)["deepcitation"]["messages"]["answer"]
    return message


async def test_three_are_verified_one_is_partial_one_is_missed(
    cast: Cast, reader: Agent, writer: JournalWriter
) -> None:
    run = await db(start, cast.alice, reader, **BODY)
    ended, log = await settled(await perform(run, writer))
    assert ended.status == "succeeded"
    answer = answer_of(log)
    assert (answer["summary"], answer["status"]) == (SUMMARY, "complete")
    by_quote = {
        citation["quote"][:12]: answer["verifications"][key]["status"]
        for key, citation in answer["citations"].items()
    }
    assert by_quote == {
        "runs for twe": "verified", "subletting n": "verified", "quiet hours ": "verified",
        "two monthly ": "partial", "cats and sma": "missed",
    }  # fmt: skip
    assert state_of(log)["pages_read"] == 2
    spoken = [event["delta"] for event in log if event["type"] == "TEXT_MESSAGE_CONTENT"]
    assert max(map(len, spoken)) <= 12, "the deltas are the agent's own"
    assert "".join(spoken) == "".join(ast.literal_eval(ANSWER))
    # One before the first change, and the agent's own at its end.
    assert [e["type"] for e in log].count("STATE_SNAPSHOT") == 2


async def executing(
    cast: Cast, reader: Agent, writer: JournalWriter
) -> tuple[Run, "asyncio.Task[None]"]:
    """A run whose text is all stored, and whose quotes are not verified."""
    run = await db(start, cast.alice, reader, **BODY)
    claimed = await db(lifecycle.claim, run.pk)
    assert claimed
    task = asyncio.create_task(execute(claimed, writer, lambda: Stop.CANCEL))
    await stored(run, task, '/status","value":"verifying"')
    return run, task


async def stored(run: Run, task: "asyncio.Task[None]", text: str, times: int = 1) -> None:
    """Wait until the log says something that often."""
    events = Event.objects.filter(journal_id=run.pk, payload__contains=text)
    while await db(events.count) < times:
        assert not task.done()


async def test_a_reader_who_joins_between_text_and_results(
    cast: Cast, reader: Agent, writer: JournalWriter, passes: asyncio.Semaphore
) -> None:
    run, task = await executing(cast, reader, writer)
    passes.release()
    passes.release()
    await stored(run, task, ".evidence_ready", times=2)
    url, headers = f"/api/v1/runs/{run.pk}/events", {**cast.vera.headers, **SSE}
    async with Exchange("GET", url, headers) as exchange:
        head = len(await db(log_of, run))
        body = await exchange.until(b"id: %d\n" % head)
        if not body.endswith(b"\n\n"):  # else the next blank line is that of a heartbeat
            body += await exchange.until(b"\n\n")
        opening = [event for _, event in events_of(body)]
        for _ in range(3):
            passes.release()
        rest = [event for _, event in events_of(await exchange.rest())]
    await task
    _, log = await settled(await db(fresh, run))
    joined = answer_of(opening)
    assert joined["status"] == "verifying"
    assert (joined["summary"]["total"], joined["summary"]["pending"]) == (5, 3)
    assert len(joined["citations"]) == 5
    assert len(joined["verifications"]) == 2
    assert state_of(opening)["pages_read"] == 2
    assert state_of([*opening, *rest]) == state_of(log)
    assert answer_of([*opening, *rest])["summary"] == SUMMARY
    terminals = [event["type"] for event in rest if event["type"].startswith("RUN_")]
    assert terminals == ["RUN_FINISHED"]


async def test_a_cancel_while_verifying(
    cast: Cast, reader: Agent, writer: JournalWriter, passes: asyncio.Semaphore
) -> None:
    run, task = await executing(cast, reader, writer)
    passes.release()
    await stored(run, task, ".evidence_ready")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 20)
    ended, log = await settled(await db(fresh, run))
    assert ended.status == "cancelled"
    answer = answer_of(log)
    assert answer["status"] == "error"
    assert answer["summary"]["pending"] == 4
    assert state_of(log)["pages_read"] == 2
    names = {each.get_name() for each in asyncio.all_tasks()}
    assert not [name for name in names if str(run.pk) in name or "lease-reader" in name]
