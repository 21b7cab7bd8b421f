"""Invitations: who may send them, whom they let in, and how they end."""

import re
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.core import mail
from django.db import IntegrityError
from django.utils import timezone
from pytest_django import Settings

from agui_host.errors import Forbidden, NotFound
from agui_host.teams.access import invitations
from agui_host.teams.access.invitations import AlreadyMember, InvitationGone, MailLost, OtherAddress
from agui_host.teams.authentication import Principal
from agui_host.teams.limits import LimitReached
from agui_host.teams.models import AuditEntry, Invitation, Membership, Role, Team

DORA = "dora@example.com"


def principal(user: User, team: Team) -> Principal:
    role = Role(Membership.objects.get(user=user, team=team).role)
    return Principal("user", user.get_username(), team, role, user.pk)


@pytest.fixture(autouse=True)
def no_cooldown(settings: Settings) -> None:
    settings.AGUI_INVITATION_COOLDOWN = 0


@pytest.fixture
def dora(db: None) -> User:
    """Somebody in no team, who has verified an address."""
    user = User.objects.create_user("dora", DORA)
    EmailAddress.objects.create(user=user, email="Dora@Example.com", verified=True, primary=True)
    return user


def invite(
    user: User, team: Team, email: str = DORA, role: Role = Role.MEMBER, **more: Any
) -> tuple[Invitation, str]:
    """The invitation, and the token from its mail."""
    row = invitations.invite(principal(user, team), email, role, **more)
    link = re.search(r"http://127\.0\.0\.1:8000/invitations/([\w-]+)/", str(mail.outbox[-1].body))
    assert link
    return row, link[1]


def test_the_link_goes_to_the_address_and_nowhere_else(alice: User, team: Team) -> None:
    row, token = invite(alice, team, "Dora@Example.com")
    assert mail.outbox[-1].to == [row.email] == [DORA]
    assert "Acme" in mail.outbox[-1].subject
    assert "alice invites you" in str(mail.outbox[-1].body)
    assert token not in str(Invitation.objects.values().get(pk=row.pk))
    assert invitations.find(token) == row
    for wrong in ("", token[:-1], token.swapcase(), row.token_hash):
        with pytest.raises(NotFound):
            invitations.find(wrong)


def test_who_may_invite_whom(alice: User, bob: User, vera: User, team: Team) -> None:
    for user in (bob, vera):
        with pytest.raises(Forbidden):
            invite(user, team)
    Membership.objects.filter(user=bob).update(role=Role.ADMIN)
    with pytest.raises(Forbidden, match="above"):
        invite(bob, team, role=Role.OWNER)
    assert not mail.outbox
    assert invite(bob, team, role=Role.ADMIN)[0].role == Role.ADMIN
    assert invite(alice, team, role=Role.OWNER)[0].role == Role.OWNER


def test_joining_takes_the_verified_address(alice: User, bob: User, dora: User, team: Team) -> None:
    row, _ = invite(alice, team, role=Role.VIEWER)
    EmailAddress.objects.create(user=bob, email=DORA, verified=False)
    with pytest.raises(OtherAddress):
        invitations.accept(row, bob)
    assert invitations.accept(row, dora).role == Role.VIEWER
    assert Membership.objects.get(user=dora, team=team).role == Role.VIEWER
    row.refresh_from_db()
    assert row.accepted_by == dora


def test_an_invitation_is_used_once(alice: User, dora: User, team: Team) -> None:
    row, token = invite(alice, team)
    invitations.accept(row, dora)
    Membership.objects.filter(user=dora).delete()
    with pytest.raises(InvitationGone):
        invitations.accept(row, dora)
    with pytest.raises(InvitationGone):
        invitations.find(token)
    assert not Membership.objects.filter(user=dora).exists()


@pytest.mark.parametrize("end", ["expired", "revoked", "replaced", "archived"])
def test_what_has_ended_lets_nobody_in(alice: User, dora: User, team: Team, end: str) -> None:
    row, token = invite(alice, team)
    assert invitations.any_for([DORA.upper()])
    if end == "expired":
        Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif end == "revoked":
        assert invitations.revoke(principal(alice, team), row.pk).revoked_at
    elif end == "replaced":
        assert invite(alice, team)[0] != row
    else:
        Team.objects.filter(pk=team.pk).update(archived_at=timezone.now())
    with pytest.raises(InvitationGone):
        invitations.find(token)
    with pytest.raises(InvitationGone):
        invitations.accept(row, dora)
    assert invitations.standing(str(row.pk)) is None
    assert invitations.any_for([DORA]) is (end == "replaced")
    assert not Membership.objects.filter(user=dora).exists()


def test_a_member_keeps_the_role(alice: User, dora: User, team: Team) -> None:
    row, _ = invite(alice, team, role=Role.OWNER)
    Membership.objects.create(user=dora, team=team, role=Role.VIEWER)
    assert invitations.accept(row, dora).role == Role.VIEWER
    with pytest.raises(AlreadyMember):
        invite(alice, team)


def test_another_teams_invitation_is_not_there(
    alice: User, charlie: User, team: Team, other_team: Team
) -> None:
    row, _ = invite(alice, team)
    with pytest.raises(NotFound):
        invitations.revoke(principal(charlie, other_team), row.pk)
    assert not invitations.pending(other_team).exists()
    assert list(invitations.pending(team)) == [row]
    assert invite(charlie, other_team)[0].team == other_team
    row.refresh_from_db()
    assert row.revoked_at is None


def test_a_lost_mail_is_no_invitation(alice: User, team: Team, settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    with pytest.raises(MailLost):
        invite(alice, team)
    assert not invitations.pending(team).exists()


def test_a_team_floods_nobody(alice: User, team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invitations, "MOST_PER_DAY", 2)
    for name in ("a", "b"):
        invite(alice, team, f"{name}@example.com")
    with pytest.raises(LimitReached) as refused:
        invite(alice, team)
    assert refused.value.headers["Retry-After"]
    assert len(mail.outbox) == 2


def test_the_log_tells_it(alice: User, dora: User, team: Team) -> None:
    row, _ = invite(alice, team)
    invitations.accept(row, dora)
    other, _ = invite(alice, team, "e@example.com")
    invitations.revoke(principal(alice, team), other.pk)
    invitations.revoke(principal(alice, team), other.pk)
    lines = AuditEntry.objects.for_team(team).order_by("id").values_list("who", "action", "target")
    assert list(lines) == [
        ("user:alice", "invitation.sent", str(row.pk)),
        ("user:dora", "invitation.accepted", str(row.pk)),
        ("user:alice", "invitation.sent", str(other.pk)),
        ("user:alice", "invitation.revoked", str(other.pk)),
    ]


@pytest.mark.parametrize("wrong", [{"role": "emperor"}, {"email": "Dora@x.org"}, {"both": True}])
def test_the_database_refuses_what_cannot_be(alice: User, team: Team, wrong: Any) -> None:
    row, _ = invite(alice, team)
    now = timezone.now()
    fields = {"accepted_at": now, "revoked_at": now} if "both" in wrong else wrong
    with pytest.raises(IntegrityError):
        Invitation.objects.filter(pk=row.pk).update(**fields)


def test_an_address_is_left_alone_for_a_while(
    alice: User, charlie: User, team: Team, other_team: Team, settings: Settings
) -> None:
    """By whatever team, in whatever case, also after the first one was revoked."""
    settings.AGUI_INVITATION_COOLDOWN = 600
    row, _ = invite(alice, team)
    invitations.revoke(principal(alice, team), row.pk)
    for user, where, email in ((alice, team, DORA), (charlie, other_team, DORA.upper())):
        with pytest.raises(LimitReached) as caught:
            invitations.invite(principal(user, where), email, Role.MEMBER)
        assert caught.value.details["limit"] == "invitation_cooldown"
        assert 0 < int(caught.value.headers["Retry-After"]) <= 600
    assert len(mail.outbox) == 1
    invitations.invite(principal(charlie, other_team), "eve@example.com", Role.MEMBER)
    Invitation.objects.update(created_at=timezone.now() - timedelta(seconds=601))
    invitations.invite(principal(charlie, other_team), DORA, Role.MEMBER)


def test_the_host_sends_no_floods(
    alice: User, charlie: User, team: Team, other_team: Team, settings: Settings
) -> None:
    settings.AGUI_INVITATIONS_PER_DAY = 2
    invite(alice, team)
    invitations.invite(principal(charlie, other_team), "eve@example.com", Role.MEMBER)
    with pytest.raises(LimitReached) as caught:
        invitations.invite(principal(alice, team), "f@example.com", Role.MEMBER)
    assert caught.value.details == {"limit": "invitations_of_the_host", "max": 2}
    settings.AGUI_INVITATIONS_PER_DAY = 0
    invitations.invite(principal(alice, team), "f@example.com", Role.MEMBER)
