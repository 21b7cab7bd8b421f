"""Keys: made once, adopted from the operator, revoked for good, never stored."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.utils import timezone

from agui_host.protocol.errors import Invalid
from agui_host.security.requester import ADDRESS
from agui_host.teams import keys
from agui_host.teams.models import ApiKey, AuditEntry, Role, Team

OPERATORS = "demo-key-of-the-operator-0123456789"


def test_a_new_key_is_stored_as_a_hash_only(team: Team) -> None:
    row, key = keys.create_key(team, "ci", Role.MEMBER)
    stored = ApiKey.objects.values().get(pk=row.pk)
    assert stored["prefix"] == keys.beginning(key)
    assert not [value for value in stored.values() if key[8:] in str(value)]
    assert keys.find(key) == row


def test_the_hash_is_not_in_the_primary_key(team: Team) -> None:
    row, _ = keys.create_key(team, "ci", Role.MEMBER)
    assert row.hashed_key not in str(row.pk)


@pytest.mark.parametrize("key", [OPERATORS, "x" * 32, "with spaces in it and a . and 0123456789"])
def test_the_operators_string_is_a_key(team: Team, key: str) -> None:
    row = keys.adopt_key(team, key, "demo", Role.OWNER)
    assert keys.find(key) == row
    assert keys.adopt_key(team, key, "demo", Role.OWNER) == row
    assert ApiKey.objects.count() == 1


@pytest.mark.parametrize(
    "key", ["", "x" * 31, " " + "x" * 40, "x" * 40 + "\n", "é" * 40, "\0" * 40]
)
def test_what_cannot_be_a_key(team: Team, key: str) -> None:
    with pytest.raises(Invalid):
        keys.adopt_key(team, key, "demo", Role.OWNER)
    assert not ApiKey.objects.exists()


def test_another_teams_key_is_taken(team: Team, other_team: Team) -> None:
    keys.adopt_key(other_team, OPERATORS, "theirs", Role.OWNER)
    with pytest.raises(keys.KeyTaken):
        keys.adopt_key(team, OPERATORS, "ours", Role.OWNER)


def test_another_key_with_the_same_beginning_is_taken(team: Team) -> None:
    keys.adopt_key(team, OPERATORS, "demo", Role.OWNER)
    with pytest.raises(keys.KeyTaken):
        keys.adopt_key(team, OPERATORS + "!", "demo", Role.OWNER)


def test_revoking_is_for_good(team: Team) -> None:
    row = keys.adopt_key(team, OPERATORS, "demo", Role.OWNER)
    keys.revoke(row)
    keys.revoke(row)
    assert keys.find(OPERATORS) is None
    with pytest.raises(keys.KeyRetired):
        keys.adopt_key(team, OPERATORS, "demo", Role.OWNER)


def test_keys_stay_in_their_team(team: Team, other_team: Team) -> None:
    row, _ = keys.create_key(team, "ci", Role.MEMBER)
    assert list(ApiKey.objects.for_team(team)) == [row]
    assert not ApiKey.objects.for_team(other_team).exists()


@pytest.mark.parametrize(
    "wrong", [{"scopes": ["fly"]}, {"scopes": []}, {"scopes": ["read"], "agents": []}]
)
def test_the_database_refuses_scopes_and_agents_that_say_nothing(team: Team, wrong: Any) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        keys.create_key(team, "ci", Role.MEMBER, **wrong)


@pytest.mark.parametrize(
    ("address", "noted"), [("192.0.2.7", "192.0.2.7"), ("2001:db8::1", "2001:db8::1"), ("", None)]
)
def test_where_it_was_used_from(team: Team, address: str, noted: str | None) -> None:
    row, _ = keys.create_key(team, "ci", Role.MEMBER)
    here = ADDRESS.set(address)
    keys.touch(row)
    ADDRESS.reset(here)
    row.refresh_from_db()
    assert (row.last_used_from, row.last_used_at is not None) == (noted, True)


class TestRotation:
    def test_both_work_until_the_old_one_ends(self, team: Team, alice: User) -> None:
        old, text = keys.create_key(team, "ci", Role.MEMBER, scopes=["run"], agents=["echo"])
        new, fresh = keys.rotate(old, overlap=timedelta(hours=2), created_by=alice)
        assert keys.find(text) == old
        assert keys.find(fresh) == new
        new.refresh_from_db()
        same = ("team_id", "name", "role", "scopes", "agents")
        assert [getattr(new, name) for name in same] == [getattr(old, name) for name in same]
        assert (new.replaces, new.created_by, new.expiry_date) == (old, alice, None)
        old.refresh_from_db()
        assert old.expiry_date is not None
        left = old.expiry_date - timezone.now()
        assert timedelta(minutes=119) < left <= timedelta(hours=2)
        ApiKey.objects.filter(pk=old.pk).update(expiry_date=timezone.now())
        assert (keys.find(text), keys.find(fresh)) == (None, new)

    def test_without_overlap_the_old_one_ends_now(self, team: Team) -> None:
        old, text = keys.create_key(team, "ci", Role.MEMBER)
        keys.rotate(old, overlap=timedelta(0), created_by=None)
        assert keys.find(text) is None

    def test_it_never_lengthens_a_life(self, team: Team) -> None:
        soon = timezone.now() + timedelta(hours=1)
        old, _ = keys.create_key(team, "ci", Role.MEMBER, expires=soon)
        new, _ = keys.rotate(old, overlap=timedelta(hours=2), created_by=None)
        old.refresh_from_db()
        assert old.expiry_date == soon
        assert new.expiry_date is not None
        assert abs(new.expiry_date - soon) < timedelta(minutes=1)

    def test_once_only(self, team: Team) -> None:
        old, _ = keys.create_key(team, "ci", Role.MEMBER)
        keys.rotate(old, overlap=timedelta(hours=2), created_by=None)
        with pytest.raises(keys.KeyRotated):
            keys.rotate(old, overlap=timedelta(hours=2), created_by=None)
        assert ApiKey.objects.count() == 2

    def test_a_revoked_one_stays_revoked(self, team: Team) -> None:
        old, _ = keys.create_key(team, "ci", Role.MEMBER)
        keys.revoke(old)
        with pytest.raises(keys.KeyRetired):
            keys.rotate(old, overlap=timedelta(hours=2), created_by=None)


def test_the_database_refuses_an_unknown_role(team: Team) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        ApiKey.objects.create_key(team=team, name="ci", role="emperor")


def test_what_happens_to_a_key_is_in_the_teams_log(team: Team, alice: User) -> None:
    first, _ = keys.create_key(team, "ci", Role.MEMBER, created_by=alice)
    second, _ = keys.rotate(first, overlap=timedelta(0), created_by=alice)
    for _ in range(2):
        keys.revoke(second, by="user:alice")
    lines = AuditEntry.objects.for_team(team).order_by("id")
    assert [(line.action, line.target) for line in lines] == [
        ("key.created", first.prefix),
        ("key.created", second.prefix),
        ("key.rotated", first.prefix),
        ("key.revoked", second.prefix),
    ]
    assert {line.who for line in lines} == {"user:alice"}


def test_the_command_prints_a_key_once(team: Team, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("create_key", team.slug, "laptop", "--scopes", "read", "--days", "2")
    row = keys.find(capsys.readouterr().out.strip())
    assert row is not None
    assert (row.name, row.role, row.scopes) == ("laptop", Role.MEMBER, ["read"])
    assert row.expiry_date is not None
    assert row.expiry_date - timezone.now() < timedelta(days=2)
    with pytest.raises(CommandError, match="There is no team 'nobody'"):
        call_command("create_key", "nobody", "laptop")
