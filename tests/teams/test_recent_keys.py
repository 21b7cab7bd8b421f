"""A key found a moment ago is not read again, and no revocation is missed for longer than that."""

import time
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from agui_host.backends.postgres import clock
from agui_host.teams import keys, recent_keys
from agui_host.teams.models import ApiKey, Role, Team
from tests.runs import clocks

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _for_a_while(settings: Settings) -> None:
    settings.AGUI_KEY_CACHE_SECONDS = 60
    recent_keys._found.clear()


def test_it_is_read_once(team: Team, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    row, text = keys.create_key(team, "a", Role.MEMBER)
    first = recent_keys.find(text)
    assert first is not None
    keys.touch(first)
    with django_assert_num_queries(0):
        again = recent_keys.find(text)
        assert again is not None
        assert (again, again.team) == (row, team)
        keys.touch(again)
    assert recent_keys.find(text + "x") is None


def test_a_revocation_here_counts_at_once(team: Team) -> None:
    row, text = keys.create_key(team, "a", Role.MEMBER)
    other, others = keys.create_key(team, "b", Role.MEMBER)
    assert recent_keys.find(text)
    keys.revoke(row)
    assert recent_keys.find(text) is None
    assert recent_keys.find(others) == other


def test_one_while_the_key_is_read_counts(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    row, text = keys.create_key(team, "a", Role.MEMBER)
    read = keys.find

    def slow(key: str) -> ApiKey | None:
        key_row = read(key)
        keys.revoke(row)
        return key_row

    monkeypatch.setattr(keys, "find", slow)
    assert recent_keys.find(text) == row, "it was still good when it was read"
    monkeypatch.undo()
    assert recent_keys.find(text) is None


def test_one_elsewhere_counts_soon(team: Team, settings: Settings) -> None:
    settings.AGUI_KEY_CACHE_SECONDS = 0.2
    row, text = keys.create_key(team, "a", Role.MEMBER)
    assert recent_keys.find(text) == row
    ApiKey.objects.for_team(team).filter(pk=row.pk).update(revoked=True)
    ends = time.monotonic() + 30
    while recent_keys.find(text) is not None:
        assert time.monotonic() < ends


def test_it_expires_in_time(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    later = timezone.now() + timedelta(hours=1)
    row, text = keys.create_key(team, "a", Role.MEMBER, expires=later)
    assert recent_keys.find(text) == row
    monkeypatch.setattr(clock, "latest", clocks.at(later + timedelta(seconds=1)))
    assert recent_keys.find(text) is None


def test_the_store_is_bounded(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_keys, "MOST", 2)
    for name in "abc":
        _, text = keys.create_key(team, name, Role.MEMBER)
        assert recent_keys.find(text)
    assert len(recent_keys._found) == 2
