"""Results of effects stay with the people who manage agents, and go with their run."""

from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.teams.models import TeamLimits
from runs.lifecycle.deletion import retention
from runs.models import Effect, Recovery, Run
from tests.asgi import ask
from tests.cast import Cast
from tests.dashboard.conftest import Browse, browse
from tests.runs.playing import Play, play

__all__ = ["browse", "play"]
pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "receipt 4711"


async def agent(ctx: Any) -> None:
    await ctx.once("charge", lambda: SECRET)


async def test_only_people_who_manage_agents_see_them(
    cast: Cast, play: Play, browse: Browse
) -> None:
    run, _ = await play(agent)

    def in_pages() -> list[bool]:
        return [
            SECRET in browse(actor).get(f"/runs/{run.pk}/").content.decode()
            for actor in (cast.alice, cast.bob, cast.vera)
        ]

    assert await db(in_pages) == [True, False, False]
    for path in ("", "/events", "/export", "/archive", "/outline", "/state"):
        answer = await ask("GET", f"/api/v1/runs/{run.pk}{path}", cast.alice.headers)
        assert SECRET.encode() not in answer.body


async def test_they_are_purged_with_the_run(cast: Cast, play: Play) -> None:
    run, _ = await play(agent)

    def purge() -> None:
        Recovery.objects.create(run=run, team=cast.team, number=2, seq=1, reason="shutdown")
        TeamLimits.objects.update_or_create(team=cast.team, defaults={"retention_days": 1})
        Run.objects.filter(pk=run.pk).update(
            created_at="2020-01-01T00:00Z", ended_at="2020-01-01T00:00Z"
        )
        retention.run_once()

    await db(purge)
    assert not await db(Effect.objects.filter(run=run).exists)
    assert not await db(Recovery.objects.filter(run=run).exists)


async def test_values_count_as_stored(cast: Cast, play: Play) -> None:
    run, _ = await play(lambda ctx: ctx.once("big", lambda: "x" * 100_000) and None)

    def counted() -> int:
        from runs.lifecycle import admission
        from runs.models import TeamUsage

        admission.recount()
        return TeamUsage.objects.get(team=cast.team).stored_bytes

    assert await db(counted) > 100_000
    assert (await db(Effect.objects.get, run=run)).bytes == 100_002
