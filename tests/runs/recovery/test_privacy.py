"""Results of effects stay with the people who manage agents, and go with their run."""

from typing import Any

import pytest
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from runs.lifecycle.deletion import retention
from runs.models import Effect, Recovery, Run
from tests.asgi import ask
from tests.cast import Cast
from tests.dashboard.conftest import Browse, browse
from tests.runs.past import old_run
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


def test_they_are_purged_with_the_run(cast: Cast, settings: Settings) -> None:
    settings.AGUI_LIMIT_RETENTION_DAYS = 365
    run = old_run(cast.alice)
    Effect.objects.create(team=cast.team, run=run, key="k", digest="0" * 64, generation=1)
    Recovery.objects.create(team=cast.team, run=run, number=2, seq=1, reason="shutdown")
    retention.run_once()
    assert Run.objects.get(pk=run.pk).purged_at is not None
    assert not Effect.objects.filter(run=run).exists()
    assert not Recovery.objects.filter(run=run).exists()


async def test_values_count_as_stored(cast: Cast, play: Play) -> None:
    run, _ = await play(lambda ctx: ctx.once("big", lambda: "x" * 100_000) and None)

    def counted() -> int:
        from runs.lifecycle import admission
        from runs.models import TeamUsage

        admission.recount()
        return TeamUsage.objects.get(team=cast.team).stored_bytes

    assert await db(counted) > 100_000
    assert (await db(Effect.objects.get, run=run)).bytes == 100_002
