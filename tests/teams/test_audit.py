"""The audit log takes lines, and gives none back."""

import json

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client

from agui_host.security.requester import ADDRESS
from agui_host.teams import audit
from agui_host.teams.models import AuditEntry, Membership, Role, Team


def test_a_line_says_who_did_what_to_what_and_from_where(team: Team) -> None:
    token = ADDRESS.set("192.0.2.7")
    audit.record("user:alice", team, "key.created", "abcd1234", role="member")
    ADDRESS.reset(token)
    line = AuditEntry.objects.for_team(team).get()
    assert (line.who, line.action, line.target) == ("user:alice", "key.created", "abcd1234")
    assert json.loads(line.details) == {"role": "member"}
    assert line.address == "192.0.2.7"
    assert line.at is not None


def test_a_line_goes_with_the_act_that_was_rolled_back(team: Team) -> None:
    with transaction.atomic():
        audit.record("user:alice", team, "key.created")
        transaction.set_rollback(True)
    assert not AuditEntry.objects.for_team(team).exists()


def test_the_database_refuses_to_change_or_delete_a_line(team: Team, other_team: Team) -> None:
    audit.record("user:alice", team, "key.created")
    lines = AuditEntry.objects.for_team(team)
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        lines.update(who="user:mallory")
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        lines.delete()
    with pytest.raises(IntegrityError, match="append-only"), audit.erasing(other_team):
        lines.delete()
    assert lines.get().who == "user:alice"


@pytest.mark.django_db(transaction=True)
def test_it_goes_with_its_team(transactional_db: None) -> None:
    team = Team.objects.create(slug="gone", name="Gone")
    audit.record("user:alice", team, "key.created")
    with pytest.raises(IntegrityError, match="append-only"):
        team.delete()
    with audit.erasing(team):
        team.delete()
    assert not AuditEntry.objects.exists()
    # the permission ended with its transaction
    other = Team.objects.create(slug="other", name="Other")
    audit.record("user:bob", other, "key.created")
    with pytest.raises(IntegrityError, match="append-only"):
        other.delete()


def test_signing_in_is_in_the_log_of_every_team_of_the_person(
    alice: User, team: Team, other_team: Team
) -> None:
    Membership.objects.create(team=other_team, user=alice, role=Role.VIEWER)
    Client().force_login(alice)
    for each in (team, other_team):
        line = AuditEntry.objects.for_team(each).get()
        assert (line.who, line.action) == ("user:alice", "session.started")
