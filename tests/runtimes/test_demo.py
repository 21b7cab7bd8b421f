"""The demo team: complete after the first start, unchanged by the next."""

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from pytest_django import Settings

from agui_host.protocol.errors import Invalid
from agui_host.runtimes import registry
from agui_host.runtimes.demo import ensure_demo
from agui_host.runtimes.models import Agent
from agui_host.teams import keys
from agui_host.teams.models import ApiKey, Membership, Role, Team

GIVEN = "a-key-the-operator-chose-0123456789"

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _agents(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    monkeypatch.setattr(registry, "_agents", {})
    registry.agent("docs", description="Answers.")(lambda ctx: None)
    registry.agent("slow")(lambda ctx: None)


def test_the_first_start_makes_everything() -> None:
    demo = ensure_demo()
    team = Team.objects.get(slug="demo")
    user = authenticate(username=demo.login, password=demo.password)
    assert demo.created
    assert isinstance(user, User)
    assert user.is_superuser
    assert Membership.objects.get(user=user).role == Role.OWNER
    assert demo.api_key is not None
    row = keys.find(demo.api_key)
    assert row is not None
    assert (row.team, row.role) == (team, "owner")
    agents = Agent.objects.for_team(team)
    assert {agent.slug for agent in agents} == {"docs", "slow"}
    assert [agent.slug for agent in agents if agent.is_default] == ["docs"]


def test_the_next_start_changes_nothing_and_knows_no_secrets() -> None:
    ensure_demo()
    before = User.objects.get().password
    demo = ensure_demo()
    assert (demo.created, demo.password, demo.api_key) == (False, None, None)
    assert User.objects.get().password == before
    assert [m.objects.count() for m in (Team, Membership, ApiKey, Agent)] == [1, 1, 1, 2]


def test_kept_secrets_come_back_on_every_start() -> None:
    first = ensure_demo(GIVEN, "a password that was kept")
    again = ensure_demo(GIVEN, "a password that was kept")
    assert (first.password, first.api_key) == ("a password that was kept", GIVEN)
    assert (again.password, again.api_key) == ("a password that was kept", GIVEN)
    assert (first.created, again.created) == (True, False)
    assert ApiKey.objects.count() == 1


def test_a_password_that_is_not_the_users_any_more_is_not_printed() -> None:
    ensure_demo(password="the first one")
    assert ensure_demo(password="not the one").password is None
    assert authenticate(username="demo", password="the first one")


def test_a_given_key_joins_the_one_that_was_made() -> None:
    ensure_demo()
    assert ensure_demo(GIVEN).api_key == GIVEN
    assert keys.find(GIVEN)


def test_a_revoked_key_is_replaced_once() -> None:
    ensure_demo(GIVEN)
    keys.revoke(ApiKey.objects.get())
    replaced = ensure_demo(GIVEN).api_key
    assert replaced not in (None, GIVEN)
    assert ensure_demo(GIVEN).api_key is None


def test_a_short_key_leaves_nothing_half_made() -> None:
    with pytest.raises(Invalid):
        ensure_demo("short")
    assert not Team.objects.exists()
    assert not User.objects.exists()


def test_a_new_agent_gets_its_row_at_the_next_start() -> None:
    ensure_demo()
    registry.agent("later")(lambda ctx: None)
    ensure_demo()
    assert Agent.objects.filter(slug="later").exists()


def test_an_existing_user_of_that_name_is_not_raised() -> None:
    User.objects.create_user("demo", password="mine")
    ensure_demo()
    assert not User.objects.get().is_superuser
    assert authenticate(username="demo", password="mine")
