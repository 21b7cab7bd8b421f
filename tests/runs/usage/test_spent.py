"""The usage of a run counts however it ends, and has a cost by its team's prices."""

import asyncio
from typing import Any

import pytest
from django.conf import settings as django_settings

from agui_host.backends.postgres.bridge import db
from agui_host.errors import HostError
from agui_host.prices import Price
from agui_host.runtimes.context.run_context import RunContext
from events.writer import JournalWriter
from runs.lifecycle import lifecycle
from runs.lifecycle.usage import team_prices
from runs.models import Run, Status
from runs.worker.executor import Stop, execute
from tests.cast import Cast, Register, fresh, log_of, perform, start

pytestmark = pytest.mark.django_db(transaction=True)
MODEL = "gpt-5"


def spend(ctx: RunContext) -> None:
    ctx.usage(model=MODEL, input_tokens=1_000, output_tokens=100, cached_input_tokens=400)


async def works(ctx: RunContext) -> None:
    spend(ctx)


async def breaks(ctx: RunContext) -> None:
    spend(ctx)
    ctx.usage(model="odd", input_tokens=-1)  # no event can have it
    raise RuntimeError("out of luck")


async def hangs(ctx: RunContext) -> None:
    spend(ctx)
    ctx.custom("spent", True)
    await asyncio.Event().wait()


async def ended(run: Run, writer: JournalWriter, why: Stop) -> Run:
    """Execute a run that hangs, and stop it once it has spent."""
    claimed = await db(lifecycle.claim, run.pk, begins=True)
    assert claimed
    working = asyncio.create_task(execute(claimed, writer, lambda: why))
    while not any(e["type"] == "CUSTOM" for e in await db(log_of, run)):
        await asyncio.sleep(0.01)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    return await db(fresh, run)


@pytest.fixture
def prices(cast: Cast, settings: Any) -> None:
    settings.AGUI_PRICES = ["gpt-*=2/10/1"]


COST = pytest.approx((600 * 2 + 400 * 1 + 100 * 10) / 1e6)
SPENT = (1_000, 100, 400, COST)


def spent(run: Run) -> tuple[Any, ...]:
    return run.tokens_in, run.tokens_out, run.tokens_cached, run.cost


@pytest.mark.parametrize("agent", [works, breaks])
async def test_a_run_that_ends_by_itself(
    cast: Cast, register: Register, writer: JournalWriter, prices: None, agent: Any
) -> None:
    row = await db(register, agent.__name__, agent)
    run = await perform(await db(start, cast.alice, row), writer)
    assert run.status == (Status.FAILED if agent is breaks else Status.SUCCEEDED)
    assert spent(run) == SPENT
    (end,) = [event for event in await db(log_of, run) if "usage" in event]
    assert end["usage"][0]["inputTokens"] == 1_000


@pytest.mark.parametrize("why", list(Stop))
async def test_a_run_that_is_stopped(
    cast: Cast, register: Register, writer: JournalWriter, prices: None, why: Stop
) -> None:
    row = await db(register, "hangs", hangs)
    run = await ended(await db(start, cast.alice, row), writer, why)
    assert run.status == (Status.CANCELLED if why is Stop.CANCEL else Status.FAILED)
    assert spent(run) == SPENT


async def test_a_teams_own_price_replaces_the_hosts(
    cast: Cast, register: Register, writer: JournalWriter, prices: None
) -> None:
    owner = cast.alice.principal
    await db(team_prices.replace, owner, cast.team, {MODEL: Price(20, 100, 10)})
    row = await db(register, "works", works)
    run = await perform(await db(start, cast.alice, row), writer)
    assert run.cost == pytest.approx(0.026)
    assert run.by_model[0]["cost"] == run.cost
    await db(team_prices.replace, owner, cast.team, {})
    run = await perform(await db(start, cast.alice, row), writer)
    assert spent(run) == SPENT
    assert await db(team_prices.of, cast.other_team.pk)


async def test_a_team_has_a_bounded_number_of_prices(cast: Cast) -> None:
    many = {f"m{n}": Price(1, 1) for n in range(team_prices.MOST + 1)}
    with pytest.raises(HostError, match="at most"):
        await db(team_prices.replace, cast.alice.principal, cast.team, many)


def test_the_default_is_no_price() -> None:
    assert django_settings.AGUI_PRICES == []
