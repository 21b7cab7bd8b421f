"""Registering, finding and provisioning agents."""

import re
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.runtimes import agent, registry
from agui_host.runtimes.kinds.python import PythonRuntime
from agui_host.runtimes.kinds.table import runtime_for
from agui_host.runtimes.models import Agent
from agui_host.teams.models import Team


@pytest.fixture(autouse=True)
def _empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_agents", {})


def test_an_agent_is_found_by_its_slug() -> None:
    @agent("my-agent", description="Does it.", state_schema={"type": "object"})
    def mine(ctx: object) -> None: ...

    registered = registry.get("my-agent")
    assert (registered.name, registered.description, registered.target) == (
        "My agent",
        "Does it.",
        mine,
    )
    assert list(registry.all()) == ["my-agent"]


def test_one_slug_for_two_agents_names_both() -> None:
    @agent("same")
    def first(ctx: object) -> None: ...

    with pytest.raises(registry.DuplicateAgent, match=r"first.*second"):

        @agent("same")
        def second(ctx: object) -> None: ...


def test_a_module_imported_twice_is_no_clash() -> None:
    for _ in range(2):

        @agent("same")
        def again(ctx: object) -> None: ...

    assert registry.get("same").target is again


def test_a_users_module_is_imported_by_its_name(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "their_agents.py").write_text(
        "from agui_host import RunContext, agent\n\n"
        '@agent("theirs")\nasync def theirs(ctx: RunContext):\n    yield "hi"\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    settings.AGUI_AGENT_MODULES = ["their_agents"]
    registry.autodiscover()
    assert "theirs" in registry.all()
    sys.modules.pop("their_agents")


@pytest.mark.parametrize(
    "source", ["import no_such_module", "1 / 0", "def broken(:", "raise ValueError('a\\nb')"]
)
def test_a_broken_users_module_is_named(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    (tmp_path / "broken_agents.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    settings.AGUI_AGENT_MODULES = ["broken_agents"]
    with pytest.raises(ImproperlyConfigured, match="AGUI_AGENT_MODULES names 'broken_agents'") as e:
        registry.autodiscover()
    assert "\n" not in str(e.value)
    assert re.search(r"line \d+", str(e.value)), "where the code is wrong"


def test_a_users_module_that_needs_an_extra_says_which(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("langgraph", "langgraph.types"):  # as if it were not installed
        monkeypatch.setitem(sys.modules, name, None)
    (tmp_path / "graph_agents.py").write_text("from langgraph.types import interrupt")
    monkeypatch.syspath_prepend(tmp_path)
    settings.AGUI_AGENT_MODULES = ["graph_agents"]
    with pytest.raises(ImproperlyConfigured, match=r"pip install '\.\[langgraph\]'"):
        registry.autodiscover()


@pytest.mark.parametrize("name", ["no_such_agents", "no_such.agents", "tests.no_such_agents"])
def test_a_users_module_that_is_not_there_is_named(settings: Settings, name: str) -> None:
    settings.AGUI_AGENT_MODULES = [name]
    with pytest.raises(ImproperlyConfigured, match=r"there is no module '[\w.]+'; .*PYTHONPATH"):
        registry.autodiscover()


def test_a_row_leads_to_its_runtime() -> None:
    agent("code")(lambda ctx: None)
    assert isinstance(runtime_for(Agent(slug="shown", target="code")), PythonRuntime)
    assert isinstance(runtime_for(Agent(slug="code")), PythonRuntime)
    for row in (Agent(slug="gone"), Agent(slug="code", kind="no such kind")):
        with pytest.raises(RunFailed) as failed:
            runtime_for(row)
        assert failed.value.reason == RunErrorCode.AGENT_ERROR


@pytest.mark.django_db
def test_a_team_gets_a_row_for_every_agent_that_is_not_hidden() -> None:
    agent("docs", description="Answers.")(lambda ctx: None)
    agent("other")(lambda ctx: None)
    agent("test-only", hidden=True)(lambda ctx: None)
    team, others = (Team.objects.create(slug=slug, name=slug) for slug in ("ours", "theirs"))
    assert [row.slug for row in registry.provision(team)] == ["docs", "other"]
    Agent.objects.for_team(team).filter(slug="other").update(name="Renamed", is_default=False)
    registry.provision(team)
    rows = Agent.objects.for_team(team)
    assert [(row.name, row.is_default) for row in rows] == [("Docs", True), ("Renamed", False)]
    assert not Agent.objects.for_team(others).exists()


@pytest.mark.django_db
def test_a_default_that_a_team_chose_stays() -> None:
    team = Team.objects.create(slug="ours", name="Ours")
    Agent.objects.create(team=team, slug="chosen", name="Chosen", is_default=True)
    agent("docs")(lambda ctx: None)
    registry.provision(team)
    assert Agent.objects.for_team(team).get(is_default=True).slug == "chosen"
