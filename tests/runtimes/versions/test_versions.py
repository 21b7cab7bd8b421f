"""The version of an agent: what changes it, which runs have it, and what people find by it."""

from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes import provisioning, registry, team_agents
from agui_host.runtimes.models import Agent, AgentVersion
from agui_host.runtimes.versions import codes, digests
from agui_host.teams.models import Team
from runs.access.agents import versions
from runs.lifecycle import lifecycle
from runs.models import Thread, Visibility
from tests.asgi import ask_now
from tests.cast import Cast, bell, cast, fresh, perform, start, writer
from tests.dashboard.conftest import Browse, browse
from tests.runs.jobs import FAILED, FINISHED
from tests.runs.usage.test_usage import run_of

__all__ = ["bell", "browse", "cast", "writer"]

pytestmark = pytest.mark.django_db(transaction=True)
REMOTE = {"slug": "far", "url": "https://agents.example.com/agui"}


def test_settings_that_matter_change_it_and_others_do_not(cast: Cast) -> None:
    me = cast.alice.principal
    first = team_agents.create(me, REMOTE).version
    assert len(first) == digests.LENGTH
    assert team_agents.change(me, "far", {"name": "x" * 120, "enabled": False}).version == first
    assert team_agents.change(me, "far", {"headers": {"A": "b"}}).version == first
    names = {first}
    for change in (
        {"url": "https://agents.example.com/other"},
        {"settings": {"protocol": "0.x"}},
        {"middleware": [{"name": "citations"}]},
        {"context_providers": [{"name": "wisdom"}]},
    ):
        names.add(team_agents.change(me, "far", change).version)
    assert len(names) == 5
    row = team_agents.find(me, "far")
    assert set(row.versions.values_list("version", flat=True)) == names


def test_a_version_that_returns_keeps_its_first_day(cast: Cast) -> None:
    me = cast.alice.principal
    first = team_agents.create(me, REMOTE).version
    before = AgentVersion.objects.get(team=cast.team, version=first)
    team_agents.change(me, "far", {"settings": {"protocol": "0.x"}})
    assert team_agents.change(me, "far", {"settings": {}}).version == first
    after = AgentVersion.objects.get(team=cast.team, version=first)
    assert (after.pk, after.first_seen_at) == (before.pk, before.first_seen_at)


def module(path: Path, body: str) -> Any:
    """A module of an agent, as its author has just saved it."""
    file = path / f"agent_{digests.of_parts(body)}.py"
    file.write_text(body)
    namespace: dict[str, Any] = {}
    exec(compile(body, str(file), "exec"), namespace)  # noqa: S102
    return namespace["run"]


def test_new_code_changes_the_version_of_every_team_as_a_worker_starts(
    cast: Cast, tmp_path: Path
) -> None:
    rows = Agent.objects.of_any_team().filter(slug="echo")
    versions_before = set()
    for body in ("def run(ctx):\n    return 'one'\n", "def run(ctx):\n    return 'two'\n"):
        registry._agents.pop("echo")  # type: ignore[attr-defined]
        registry.agent("echo")(module(tmp_path, body))
        provisioning.bring(["gpu"])
        assert {row.version for row in rows.all()}.isdisjoint(versions_before - {rows[0].version})
        provisioning.bring(["default"])
        [version] = {row.version for row in rows.all()}
        assert version not in versions_before
        versions_before.add(version)
        assert all(row.code == codes.code_of(row) != "" for row in rows.all())
    # A web process without this code, or with older code, saves a rule: the version stays.
    registry._agents.pop("echo")  # type: ignore[attr-defined]
    assert team_agents.change(cast.alice.principal, "echo", {"name": "E"}).version == version


def test_agents_of_an_earlier_release_get_one(cast: Cast) -> None:
    Agent.objects.of_any_team().update(version="", code="")
    AgentVersion.objects.of_any_team().delete()
    provisioning.bring()
    teams = AgentVersion.objects.of_any_team().values_list("team", flat=True)
    assert set(teams) == {cast.team.pk, cast.other_team.pk}


def test_a_run_has_the_version_with_which_it_started(cast: Cast) -> None:
    echo = cast.echo
    run = start(cast.alice)
    assert fresh(run).agent_version is None
    echo.settings = {"changed": "before a worker took it"}
    echo.save()
    lifecycle.claim(run.pk)
    assert fresh(run).agent_version == echo.version
    echo.settings = {}
    echo.save()
    lifecycle.finish(run.pk, FINISHED)
    assert fresh(run).agent_version != echo.version


async def test_so_has_a_run_that_a_worker_performs(cast: Cast, writer: Any) -> None:
    run = await perform(await db(start, cast.alice), writer)
    assert run.status == "succeeded"
    assert run.agent_version == await db(lambda: cast.echo.version)


def test_the_claim_needs_no_further_query(cast: Cast) -> None:
    run = start(cast.alice)
    with CaptureQueriesContext(connection) as queries:
        lifecycle.claim(run.pk)
    assert not [q for q in queries if "runtimes_agentversion" in q["sql"]]
    assert len(queries) <= 3


def test_people_and_programs_find_runs_by_it(cast: Cast, browse: Browse) -> None:
    old, old_version = run_of(cast.alice, None, FINISHED), cast.echo.version
    echo = cast.echo
    echo.settings = {"now": "changed"}
    echo.save()
    new = run_of(cast.alice, None, FAILED)
    run_of(cast.charlie, None, FINISHED)

    def runs_of(query: str) -> list[str]:
        answer = ask_now("GET", f"/api/v1/runs?{query}", cast.bob.headers)
        assert answer.status == 200
        return [row["id"] for row in answer.json["results"]]

    assert runs_of(f"agent_version={old_version}") == [str(old.pk)]
    assert runs_of(f"agent_version={echo.version}&agent=echo") == [str(new.pk)]
    assert runs_of("agent_version=nothing") == []
    assert ask_now("GET", f"/api/v1/runs?agent_version={17 * 'x'}", cast.bob.headers).status == 422
    page = browse(cast.bob).get("/runs/", {"q": f"version:{old_version}"}).content.decode()
    assert f"run-{old.pk}" in page
    assert f"run-{new.pk}" not in page
    row = ask_now("GET", f"/api/v1/runs/{old.pk}", cast.bob.headers).json
    assert row["agent_version"] == old_version
    page = browse(cast.bob).get(f"/runs/{old.pk}/").content.decode()
    assert f"agent_version={old_version}" in page


def test_the_versions_of_an_agent_with_their_days(cast: Cast) -> None:
    run = run_of(cast.alice, None, FINISHED)
    first = cast.echo.version
    echo = cast.echo
    echo.settings = {"b": 1}
    echo.save()
    answer = ask_now("GET", "/api/v1/agents/echo/versions", cast.vera.headers)
    second, oldest = answer.json["results"]
    assert (second["version"], second["is_present"]) == (echo.version, True)
    assert second["last_seen_at"] is None
    assert (oldest["version"], oldest["is_present"]) == (first, False)
    assert (
        oldest["last_seen_at"]
        == ask_now("GET", f"/api/v1/runs/{run.pk}", cast.vera.headers).json["created_at"]
    )
    assert ask_now("GET", "/api/v1/agents/gone/versions", cast.vera.headers).status == 404
    assert ask_now("GET", "/api/v1/agents/echo/versions?cursor=x", cast.vera.headers).status == 400


def test_an_agent_of_ten_thousand_versions(cast: Cast) -> None:
    echo = cast.echo
    AgentVersion.objects.of_any_team().bulk_create(
        [
            AgentVersion(
                team=cast.team, agent=echo, version=f"{n:012x}", first_seen_at=echo.created_at
            )
            for n in range(10_000)
        ]
    )
    names: list[str] = []
    address: str | None = "/api/v1/agents/echo/versions?limit=200"
    for _ in range(3):
        assert address
        answer = ask_now("GET", address[address.index("/api/") :], cast.alice.headers)
        names += [row["version"] for row in answer.json["results"]]
        address = answer.json["next"]
    assert len(set(names)) == 600


def test_how_versions_have_fared(cast: Cast) -> None:
    run_of(cast.alice, None, FINISHED)
    run_of(cast.bob, None, FAILED)
    run_of(cast.bob, None, None)
    hidden = run_of(cast.bob, None, FAILED)
    Thread.objects.filter(pk=hidden.thread_id).update(
        visibility=Visibility.PRIVATE, creator=cast.bob.principal.actor_id
    )
    echo = cast.echo
    figures = versions.fared(cast.alice.principal, echo, [echo.version, "x" * 12])
    own = figures[echo.version]
    assert (own.runs, own.failed, own.failing, own.cost) == (2, 1, 0.5, 1.0)
    assert own.p50 is not None
    assert own.p95 is not None
    assert own.p95 >= own.p50 >= 0
    assert "x" * 12 not in figures
    assert versions.fared(cast.bob.principal, echo, [echo.version])[echo.version].runs == 3


def test_versions_go_with_their_agent_and_their_team(cast: Cast) -> None:
    team_agents.create(cast.alice.principal, REMOTE)
    team_agents.remove(cast.alice.principal, "far")
    assert not AgentVersion.objects.filter(team=cast.team, agent__slug="far").exists()
    bare = Team.objects.create(slug="bare", name="Bare")
    Agent.objects.create(team=bare, slug="a", name="A", target="a")
    bare.delete()
    assert not AgentVersion.objects.of_any_team().filter(team=bare.pk).exists()
