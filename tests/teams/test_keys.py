"""Keys: made once, adopted from the operator, revoked for good, never stored."""

import pytest
from django.db import IntegrityError, transaction

from agui_project.errors import Invalid
from teams import keys
from teams.models import ApiKey, Role, Team

OPERATORS = "demo-key-of-the-operator-0123456789"


def test_a_new_key_is_stored_as_a_hash_only(team: Team) -> None:
    row, key = keys.create_key(team, "ci", Role.MEMBER)
    stored = ApiKey.objects.values().get(pk=row.pk)
    assert stored["prefix"] == key[:8]
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


def test_the_database_refuses_an_unknown_role(team: Team) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        ApiKey.objects.create_key(team=team, name="ci", role="emperor")
