"""The cast: Alice, Bob and Vera in one team, Charlie in another."""

from collections.abc import Callable

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from agui_host.teams.models import Membership, Role, Team

SignIn = Callable[..., dict[str, str]]


def person(name: str, team: Team, role: Role) -> User:
    user = User.objects.create_user(name)
    Membership.objects.create(team=team, user=user, role=role)
    return user


@pytest.fixture
def team(db: None) -> Team:
    return Team.objects.create(slug="acme", name="Acme")


@pytest.fixture
def other_team(db: None) -> Team:
    return Team.objects.create(slug="globex", name="Globex")


@pytest.fixture
def alice(team: Team) -> User:
    return person("alice", team, Role.OWNER)


@pytest.fixture
def bob(team: Team) -> User:
    return person("bob", team, Role.MEMBER)


@pytest.fixture
def vera(team: Team) -> User:
    return person("vera", team, Role.VIEWER)


@pytest.fixture
def charlie(other_team: Team) -> User:
    return person("charlie", other_team, Role.OWNER)


@pytest.fixture
def sign_in() -> SignIn:
    """Sign a user in, with ``values`` in the session, and return the browser's cookies."""

    def cookies_of(user: User, **values: str) -> dict[str, str]:
        client = Client()
        client.force_login(user)
        session = client.session
        session.update(values)
        session.save()
        return {settings.SESSION_COOKIE_NAME: str(session.session_key)}

    return cookies_of
