"""Changes of the code reach teams that exist: at `migrate`, and when a worker starts."""

import threading

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from pytest_django import Settings

from agui_host.runtimes import agent, provisioning, registry, team_agents
from agui_host.runtimes.create_team import create_team
from agui_host.runtimes.models import Agent
from agui_host.teams.management.commands import migrate
from agui_host.teams.models import Team
from tests.cast import Cast, cast

__all__ = ["cast"]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_agents", {})
    agent("docs", description="Answers.")(lambda ctx: None)


@pytest.fixture
def teams() -> list[Team]:
    return [create_team(slug, slug) for slug in ("old-one", "old-two")]


def row(team: Team, slug: str) -> Agent:
    return Agent.objects.for_team(team).get(slug=slug)


def code(slug: str, **values: str) -> None:
    """The module as the next process finds it."""
    registry._agents.pop(slug, None)  # type: ignore[attr-defined]
    agent(slug, **values)(lambda ctx: None)  # type: ignore[arg-type]


def test_a_new_agent_reaches_teams_that_have_ours(teams: list[Team]) -> None:
    bare = Team.objects.create(slug="bare", name="Bare")
    code("later", description="Came later.", queue="default")
    call_command("migrate", verbosity=0)
    provisioning.bring()
    for team in teams:
        assert row(team, "later").description == "Came later."
        assert row(team, "later").enabled
    assert not Agent.objects.for_team(bare).exists()


def test_a_new_agent_brings_whether_its_raw_events_are_stored(teams: list[Team]) -> None:
    agent("quiet", raw=False)(lambda ctx: None)
    provisioning.bring()
    assert not row(teams[0], "quiet").raw
    assert row(teams[0], "docs").raw
    assert not row(create_team("new", "new"), "quiet").raw


def test_changes_of_the_code_arrive_and_those_of_a_team_stay(teams: list[Team]) -> None:
    Agent.objects.for_team(teams[0]).filter(slug="docs").update(name="Ours")
    code("docs", name="Papers", description="Finds.", queue="gpu")
    provisioning.bring()
    values = [(r.name, r.description, r.queue) for r in (row(team, "docs") for team in teams)]
    assert values == [("Ours", "Finds.", "gpu"), ("Papers", "Finds.", "gpu")]


def test_rows_of_earlier_versions_follow_unless_a_person_changed_them(cast: Cast) -> None:
    for team, description in ((cast.team, "Old."), (cast.other_team, "Old.")):
        Agent.objects.for_team(team).filter(slug="docs").delete()
        Agent.objects.create(
            team=team, slug="docs", target="docs", name="Docs", description=description
        )
    team_agents.change(cast.alice.principal, "docs", {"name": "Alice's"})
    code("docs", name="Papers", description="New.")
    provisioning.bring()
    ours, theirs = row(cast.team, "docs"), row(cast.other_team, "docs")
    assert (ours.name, ours.description) == ("Alice's", "New.")
    assert (theirs.name, theirs.description) == ("Papers", "New.")


def test_an_agent_that_left_is_disabled_until_it_returns(teams: list[Team]) -> None:
    code("passing")
    provisioning.bring()
    Agent.objects.for_team(teams[0]).filter(slug="passing").update(enabled=False)  # a person
    registry._agents.pop("passing")  # type: ignore[attr-defined]
    provisioning.bring(["gpu"])
    assert row(teams[1], "passing").enabled, "another queue's worker has other code"
    provisioning.bring()
    assert [row(team, "passing").enabled for team in teams] == [False, False]
    code("passing")
    provisioning.bring()
    assert [row(team, "passing").enabled for team in teams] == [False, True]


@pytest.mark.parametrize(
    ("module", "is_known"),
    [
        (__name__, True),
        ("tests.runtimes.an_agent_of_before", True),
        ("agents_of_another_image", False),
        ("another_image.agents", False),
    ],
)
def test_migrate_decides_about_agents_of_modules_that_it_has(
    teams: list[Team], module: str, is_known: bool
) -> None:
    """Whatever their queue; a worker of other queues decides nothing about them."""
    code("gpu", queue="gpu")
    registry.get("gpu").target.__module__ = module
    provisioning.bring()
    registry._agents.pop("gpu")  # type: ignore[attr-defined]
    provisioning.bring(["default"])
    assert row(teams[0], "gpu").enabled
    call_command("migrate", verbosity=0)
    assert [row(team, "gpu").enabled for team in teams] == [not is_known] * 2
    code("gpu", queue="gpu")
    provisioning.bring(["gpu"])
    assert row(teams[0], "gpu").enabled


def test_a_team_has_the_last_word_about_a_withdrawn_agent(cast: Cast) -> None:
    registry.provision(cast.team)
    code("passing")
    provisioning.bring()
    registry._agents.pop("passing")  # type: ignore[attr-defined]
    provisioning.bring()
    assert row(cast.team, "passing").withdrawn
    team_agents.change(cast.alice.principal, "passing", {"enabled": False})
    code("passing")
    provisioning.bring()
    assert not row(cast.team, "passing").enabled


def test_agents_of_operators_and_other_kinds_are_left_alone(teams: list[Team]) -> None:
    for slug, kind, target in (("x", "python", "gone"), ("later", "http", "http://a.example")):
        Agent.objects.create(team=teams[0], slug=slug, kind=kind, target=target, name="Own")
    code("later")
    provisioning.bring()
    assert row(teams[0], "x").enabled
    assert row(teams[0], "later").kind == "http"


def test_workers_that_start_together_agree(teams: list[Team]) -> None:
    code("later")
    failures: list[BaseException] = []

    def start() -> None:
        try:
            provisioning.bring()
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert [row(team, "later").enabled for team in teams] == [True, True]


def test_a_start_without_changes_reads_only(teams: list[Team]) -> None:
    provisioning.bring()
    before = row(teams[0], "docs").provided
    assert provisioning.bring in migrate.AFTER
    provisioning.bring()
    assert row(teams[0], "docs").provided == before == registry.get("docs").provided


def test_agents_can_be_for_every_team_or_for_some(teams: list[Team], settings: Settings) -> None:
    bare = Team.objects.create(slug="bare", name="Bare")
    settings.AGUI_AGENTS_FOR = ["old-one"]
    code("later")
    provisioning.bring()
    assert Agent.objects.filter(slug="later").values_list("team__slug", flat=True)[0] == "old-one"
    assert not Agent.objects.for_team(create_team("new", "new")).exists()
    settings.AGUI_AGENTS_FOR = ["*"]
    provisioning.bring()
    assert Agent.objects.for_team(bare).count() == 2
    assert Agent.objects.filter(slug="later").count() == Team.objects.count()


def test_an_operator_gives_every_team_an_agent(teams: list[Team]) -> None:
    call_command("create_agent", all_teams=True, slug="shared-name", target="docs")
    owners = Agent.objects.filter(slug="shared-name").values_list("team", flat=True)
    assert set(owners) == {team.pk for team in teams}
    with pytest.raises(CommandError, match="one of the arguments --team --all-teams is required"):
        call_command("create_agent", slug="nobodys")
