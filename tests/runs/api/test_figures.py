"""The figures of a run are columns of its row, written with its end."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agui_host.backends.postgres.bridge import db
from agui_host.protocol.intake.tally import Tally
from events.writer import JournalWriter
from runs.lifecycle import lifecycle
from runs.lifecycle.statements import figures
from runs.models import Run
from tests.cast import Cast, Register, fresh, perform, start
from tests.dashboard.conftest import browse as browse
from tests.runs.jobs import FINISHED

pytestmark = pytest.mark.django_db

NAMES = ("tool_calls", "subagents", "tokens_in", "tokens_out", "cost", "queued_ms", "ttft_ms")


def stored(run: Run) -> tuple[Any, ...]:
    row = fresh(run)
    return tuple(getattr(row, name) for name in NAMES)


@pytest.mark.parametrize(
    ("terminal", "tokens_in", "tokens_out", "cost"),
    [
        ({}, None, None, None),
        ({"usage": None, "result": None}, None, None, None),
        ({"usage": [{"inputTokens": 3, "outputTokens": 4}, {"inputTokens": 2}]}, 5, 4, None),
        ({"usage": [{"inputTokens": 0, "cost": 0.25}, {"costUsd": 1}]}, 0, None, 1.25),
        ({"result": {"costUsd": 0.5, "cost": "a lot"}}, None, None, 0.5),
        ({"result": {"cost": 7}}, None, None, None),
        ({"usage": ["x", {"inputTokens": "many", "cost": True}]}, None, None, None),
        ({"usage": [{"inputTokens": 2**63, "cost": float("nan")}]}, None, None, None),
        ({"usage": [{"inputTokens": -1, "cost": 10**400}]}, None, None, None),
    ],
)
def test_tokens_and_cost_are_what_the_end_says(
    terminal: dict[str, Any], tokens_in: int | None, tokens_out: int | None, cost: float | None
) -> None:
    values = figures.of(terminal, None)
    assert (values["tokens_in"], values["tokens_out"], values["cost"]) == (
        tokens_in, tokens_out, cost
    )  # fmt: skip


def test_what_is_unknown_stays_empty(cast: Cast) -> None:
    cancelled, lost = start(cast.alice), start(cast.alice)
    lifecycle.cancel(cancelled)
    calls, subagents, *tokens, queued, first = stored(cancelled)
    assert (calls, subagents, tokens, first) == (0, 0, [None] * 3, None)
    assert queued >= 0
    lifecycle.claim(lost.pk)
    lifecycle.finish(lost.pk, FINISHED)
    assert stored(lost)[:5] == (None,) * 5


def test_the_waits_are_in_milliseconds_and_fit_whatever_the_clocks_say(cast: Cast) -> None:
    now = timezone.now()
    for first, created, ttft, queued in (
        (now.timestamp() + 1.5, now - timedelta(seconds=2), 1500, 2000),
        (now.timestamp() - 60, now + timedelta(seconds=60), 0, 0),
        (now.timestamp() + 9e7, now - timedelta(days=1000), 2**31 - 1, 2**31 - 1),
    ):
        run = start(cast.alice)
        lifecycle.claim(run.pk)
        Run.objects.filter(pk=run.pk, team=run.team).update(created_at=created, started_at=now)
        tally = Tally()
        tally.load([2, 1, first])
        lifecycle.finish(run.pk, FINISHED, tally)
        assert stored(run) == (2, 1, None, None, None, queued, ttft)


def test_the_api_and_the_list_show_them(cast: Cast, browse: Any) -> None:
    run = start(cast.alice)
    values = dict(zip(NAMES, (31, 32, 33, 34, 0.5, 36, 37), strict=True))
    Run.objects.filter(pk=run.pk, team=run.team).update(**values)
    for path in ("/api/v1/runs", f"/api/v1/runs/{run.pk}"):
        body = Client(headers=cast.vera.headers).get(path).json()
        (row,) = body.get("results", [body])
        assert {name: row[name] for name in NAMES} == values
    query = "columns=first,tools,subagents,tokens_in,tokens_out,cost"
    page = browse(cast.vera).get(f"/runs/?{query}").content.decode()
    for text in ("37 ms", ">31<", ">32<", ">33<", ">34<", "$0.5000"):
        assert text in page.replace("\n", ""), text


@pytest.mark.django_db(transaction=True)
async def test_an_executed_run_has_them(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    async def agent(ctx: Any) -> AsyncIterator[Any]:
        yield {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "x", "delta": "{}"}
        yield {"type": "RUN_FINISHED", "usage": [{"inputTokens": 5, "outputTokens": 7}]}

    run = await perform(await db(start, cast.alice, await db(register, "worker", agent)), writer)
    *known, queued, first = await db(stored, run)
    assert known == [1, 0, 5, 7, None]
    assert queued >= 0
    assert first >= 0
