"""A run waits while only the reserves of others leave it no room, and what a budget learns from."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from events.writer import JournalWriter
from runs.models import BudgetedRun, Run
from runs.worker.budgets import watch
from tests.asgi import ask_now
from tests.cast import Cast, Register, perform, start

pytestmark = pytest.mark.django_db(transaction=True)
BUDGETS = "/api/v1/budgets"


def make(cast: Cast, **more: Any) -> dict[str, Any]:
    body = {"scope": "agent", "of": "spender", **more}
    made: dict[str, Any] = ask_now("POST", BUDGETS, cast.alice.headers, json=body).json
    return made


class Spender:
    """Its first run spends once another one waits, the others at once: 60 tokens each."""

    def __init__(self) -> None:
        self.runs: list[str] = []

    async def __call__(self, ctx: Any) -> AsyncIterator[Any]:
        self.runs.append(ctx.run_id)
        while len(self.runs) == 1 and not await db(BudgetedRun.objects.filter(waits=True).exists):
            await asyncio.sleep(0)
        ctx.usage(model="m", input_tokens=50, output_tokens=10)
        yield {"type": "CUSTOM", "name": "call", "value": len(self.runs)}


async def both(cast: Cast, writer: JournalWriter, agent: Any) -> list[Run]:
    runs = [await db(start, cast.alice, agent, threadId=str(n)) for n in range(2)]
    return list(await asyncio.gather(*(perform(run, writer) for run in runs)))


async def test_a_run_waits_for_the_calls_of_others(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    agent = await db(register, "spender", spender := Spender())
    budget = await db(lambda: make(cast, tokens=130))
    assert budget["reserve"] is None
    runs = await both(cast, writer, agent)
    assert [run.status for run in runs] == ["succeeded", "succeeded"]
    assert len(spender.runs) == 2
    after = await db(lambda: ask_now("GET", f"{BUDGETS}/{budget['id']}", cast.vera.headers).json)
    assert (after["used"], after["largest_call"]) == (120, 60)


async def test_it_ends_once_the_budget_is_spent(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    agent = await db(register, "spender", spender := Spender())
    await db(lambda: make(cast, tokens=60))
    runs = await both(cast, writer, agent)
    assert sorted((run.status, run.error_code) for run in runs) == [
        ("failed", "budget_exceeded"), ("succeeded", ""),
    ]  # fmt: skip
    assert len(spender.runs) == 1


async def test_it_waits_for_a_bounded_time(
    cast: Cast, register: Register, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "LONGEST_WAIT", 0.0)
    agent = await db(register, "spender", Spender())
    await db(lambda: make(cast, tokens=130))
    runs = await both(cast, writer, agent)
    assert sorted((run.status, run.error_code) for run in runs) == [
        ("failed", "budget_exceeded"), ("succeeded", ""),
    ]  # fmt: skip


async def test_a_new_budget_learns_from_earlier_runs(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    async def quick(ctx: Any) -> AsyncIterator[Any]:
        ctx.usage(model="m", input_tokens=int(ctx.state["size"]))
        yield {"type": "CUSTOM", "name": "call", "value": 1}

    agent = await db(register, "spender", quick)
    for size in (20, 90, 40):
        await perform(await db(start, cast.alice, agent, state={"size": size}), writer)
    assert (await db(lambda: make(cast, tokens=500)))["largest_call"] == 90
    assert (await db(lambda: make(cast, tokens=500, reserve=5)))["reserve"] == 5


def test_a_reserve_can_be_given_back_to_learning(cast: Cast) -> None:
    made = make(cast, of="echo", tokens=10, reserve=3)
    url = f"{BUDGETS}/{made['id']}"
    changed = ask_now("PATCH", url, cast.alice.headers, json={"reserve": None})
    assert (changed.status, changed.json["reserve"]) == (200, None)
