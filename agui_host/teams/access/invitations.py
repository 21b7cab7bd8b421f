"""Invitations by e-mail: made, found by their link, accepted once, revoked.

The link alone proves nothing, since mails are passed on: the person who joins must also have
verified the invited address.
"""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core.mail import send_mail
from django.db import connection, transaction
from django.db.models import QuerySet
from django.template.loader import render_to_string

from agui_host.backends.postgres import clock, scope
from agui_host.errors import Conflict, Forbidden, NotFound, Unavailable
from agui_host.links import absolute
from agui_host.protocol.errors import HostError
from agui_host.teams import audit
from agui_host.teams.access import members
from agui_host.teams.actors import actor
from agui_host.teams.limits import LimitReached
from agui_host.teams.models import Invitation, Membership, Role, Team

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from agui_host.teams.authentication import Principal

DAYS, MOST_DAYS = 7, 30
A_DAY = timedelta(days=1)
MOST_PER_DAY = 100


class AlreadyMember(Conflict):
    """The person with this address is already in the team."""

    code = "already_member"


class InvitationGone(HostError):
    """This invitation was used or revoked, or it has expired; ask for a new one."""

    code = "invitation_gone"
    status = 410
    close = 4410


class OtherAddress(Forbidden):
    """This invitation is for another address; sign in with that address, verified."""

    code = "other_address"


class MailLost(Unavailable):
    """The host could not send the e-mail; try again shortly."""

    code = "mail_lost"


def invite(principal: "Principal", email: str, role: Role, *, days: int = DAYS) -> Invitation:
    """Invite an address into the principal's team and mail it the link, which others do not see.

    An open invitation of the same address ends. Raises Forbidden, AlreadyMember, LimitReached and
    MailLost.
    """
    principal.require("manage_members")
    members.require_may_give(principal, role)
    return send(principal.team, email, role, by=principal, days=days)[0]


def send(
    team: Team, email: str, role: Role, *, by: "Principal | str", days: int = DAYS
) -> tuple[Invitation, str]:
    """Invite without a permission check: the invitation and its link, for operators only."""
    row, token = _make(team, email.lower(), role, by, days)
    link = absolute(f"/invitations/{token}/")
    try:
        _mail(row, link)
    except OSError as error:  # SMTPException is one
        # An invitation that was not delivered is deleted. The mail is sent outside the transaction:
        # a slow mail server would hold the team's lock.
        Invitation.objects.for_team(team).filter(pk=row.pk).delete()
        raise MailLost from error
    return row, link


@transaction.atomic
def _make(
    team: Team, email: str, role: Role, by: "Principal | str", days: int
) -> tuple[Invitation, str]:
    now, token = clock.now(), secrets.token_urlsafe(32)
    # The team's row is the lock: of two at once for one address, the second ends the first.
    Team.objects.select_for_update(no_key=True).get(pk=team.pk)
    if not isinstance(by, str):
        now_by = members.standing(by)  # A member who was removed meanwhile can send none.
        now_by.require("manage_members")
        members.require_may_give(now_by, role)
        _require_calm(email, now)
    theirs = Invitation.objects.for_team(team)
    if theirs.filter(created_at__gt=now - A_DAY).count() >= MOST_PER_DAY:
        raise LimitReached.of("invitations_per_day", MOST_PER_DAY, after=3600)
    owners = EmailAddress.objects.filter(email__iexact=email, verified=True).values("user")
    if Membership.objects.for_team(team).filter(user__in=owners).exists():
        raise AlreadyMember
    theirs.filter(email=email, accepted_at=None, revoked_at=None).update(revoked_at=now)
    row = Invitation.objects.create(
        id=clock.new_id(),
        team=team,
        email=email,
        role=role,
        token_hash=_hash(token),
        invited_by=actor(by).label,
        inviter=actor(by).actor_id,
        expires_at=now + days * A_DAY,
    )
    audit.record(by, team, "invitation.sent", str(row.pk), email=email, role=role)
    return row, token


def _require_calm(email: str, now: datetime) -> None:
    """Limits over all teams: no address gets too much mail, and the host sends no floods.

    Revoked invitations count. Raises LimitReached.
    """
    with connection.cursor() as cursor:
        # One invitation of the host at a time, until the commit.
        cursor.execute("select pg_advisory_xact_lock(hashtext('teams.invitations'))")
    invitations = Invitation.objects.of_any_team()
    cooldown = timedelta(seconds=settings.AGUI_INVITATION_COOLDOWN)
    last = (
        invitations.filter(email=email, created_at__gt=now - cooldown)
        .order_by("-created_at")
        .first()
    )
    if last is not None:
        left = (last.created_at + cooldown - now).total_seconds()
        raise LimitReached(
            "This address was invited a moment ago; wait before you invite it again.",
            details={"limit": "invitation_cooldown", "max": 1},
            headers={"Retry-After": str(max(1, int(left + 0.999)))},
        )
    most = settings.AGUI_INVITATIONS_PER_DAY
    if most and invitations.filter(created_at__gt=now - A_DAY).count() >= most:
        raise LimitReached(
            "This host has sent its daily limit of invitations; try again tomorrow.",
            details={"limit": "invitations_of_the_host", "max": most},
            headers={"Retry-After": "3600"},
        )


def find(token: str) -> Invitation:
    """The invitation of a link. Raises NotFound, and InvitationGone unless it is open."""
    row = (
        Invitation.objects.by_secret()
        .select_related("team")
        .filter(token_hash=_hash(token))
        .first()
    )
    if row is None:
        raise NotFound
    scope.reach(row.team_id)
    if not is_open(row):
        raise InvitationGone
    return row


def standing(key: str | None) -> Invitation | None:
    """The open invitation with that id, or None."""
    if key is None:
        return None
    row = Invitation.objects.by_secret().select_related("team").filter(pk=UUID(key)).first()
    if row is None or not is_open(row):
        return None
    scope.reach(row.team_id)
    return row


def any_for(emails: Iterable[str]) -> bool:
    """Whether one of these addresses has an open invitation to any team."""
    return _open(
        Invitation.objects.of_one_person().filter(email__in=[each.lower() for each in emails])
    ).exists()


def pending(team: Team) -> QuerySet[Invitation]:
    """A team's invitations that are not accepted, newest first, including expired ones."""
    rows = Invitation.objects.for_team(team).filter(accepted_at=None, revoked_at=None)
    return rows.order_by("-id")


def is_open(row: Invitation) -> bool:
    """Neither accepted nor revoked nor expired, and of a team that is not archived."""
    ended = row.accepted_at or row.revoked_at or row.team.archived_at
    return not ended and row.expires_at > clock.now()


def is_for(row: Invitation, user: "User") -> bool:
    """Whether the person has verified the invited address."""
    proven = EmailAddress.objects.filter(user=user, verified=True, email__iexact=row.email)
    return bool(proven.exists())


@transaction.atomic
def accept(row: Invitation, user: "User") -> Membership:
    """Join the team, once. A member keeps their role. Raises InvitationGone, OtherAddress.

    If two accept at once, the conditional update lets one through.
    """
    if not is_for(row, user):
        raise OtherAddress(details={"email": row.email})
    now = clock.now()
    mine = _open(Invitation.objects.for_team(row.team).filter(pk=row.pk))
    if not mine.update(accepted_at=now, accepted_by=user):
        raise InvitationGone
    membership, _ = Membership.objects.get_or_create(
        team=row.team, user=user, defaults={"role": row.role}
    )
    audit.record(
        audit.of_user(user), row.team, "invitation.accepted", str(row.pk), role=membership.role
    )
    return membership


@transaction.atomic
def revoke(principal: "Principal", key: UUID) -> Invitation:
    """Revoke an open invitation; an ended one stays as it is. Raises Forbidden, NotFound."""
    principal.require("manage_members")
    mine = Invitation.objects.for_team(principal.team).filter(pk=key)
    if mine.filter(accepted_at=None, revoked_at=None).update(revoked_at=clock.now()):
        audit.record(principal, principal.team, "invitation.revoked", str(key))
    row = mine.first()
    if row is None:
        raise NotFound
    return row


def _open(rows: QuerySet[Invitation]) -> QuerySet[Invitation]:
    return rows.filter(
        accepted_at=None, revoked_at=None, team__archived_at=None, expires_at__gt=clock.now()
    )


def _hash(token: str) -> str:
    # The token is random, so a fast hash is enough.
    return hashlib.sha256(token.encode()).hexdigest()


def _mail(row: Invitation, link: str) -> None:
    text = render_to_string("email/invitation.txt", {"invitation": row, "link": link})
    subject = " ".join(f"Join {row.team.name} on AG-UI run host".split())
    send_mail(subject, text, None, [row.email])
