"""Share a thread or a run with a person, another team or by link; revoke grants; open links."""

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from agui_host.backends.postgres import clock, scope
from agui_host.backends.postgres.compiled import Compiled
from agui_host.errors import Forbidden, NotFound, Unauthenticated
from agui_host.protocol.errors import Invalid
from agui_host.protocol.views.redaction import BadPath, Redaction
from agui_host.teams import audit
from agui_host.teams.access import members
from agui_host.teams.actors import HOST, Acting, actor
from agui_host.teams.authentication import Principal
from agui_host.teams.models import Membership, Role, Team
from agui_host.teams.offboarding import Ended, Leaving
from agui_host.teams.revocation import revoked
from runs.access import access
from runs.access.notices import shares
from runs.models import Run, Thread, without_bodies
from runs.models.grant import ACTIONS, Grant, Level

TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")
MOST_UNOPENED = 100


@dataclass(frozen=True, slots=True)
class To:
    """Whom to share with: a ``member`` (login), a ``team``, a member of that team, else a link."""

    member: str | None = None
    team: UUID | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms: the ``Level``, an expiry, and for links who may open it and what is hidden."""

    level: Level = Level.VIEW
    expires_at: datetime | None = None
    name: str = ""
    sign_in: bool = False
    redact: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Opened:
    """A link that lets its visitor in. ``person`` is the login of a signed-in visitor."""

    grant: Grant
    principal: Principal
    person: str | None


def managed(principal: Principal) -> QuerySet[Grant]:
    """The grants on what the principal sees and may share, newest first; to owners, all."""
    access.require(principal, "share")
    if principal.can("manage_grants"):
        return joined(Grant.objects.for_team(principal.team))
    runs = access.visible(principal).order_by().values("pk")
    threads = access.visible_threads(principal).values("pk")
    grants = Grant.objects.for_team(principal.team).filter(Q(run__in=runs) | Q(thread__in=threads))
    return joined(grants)


def joined(rows: QuerySet[Grant]) -> QuerySet[Grant]:
    """The grants with all related rows that their descriptions need."""
    related = ("team", "thread", "run__agent", "run__thread", "to_user", "to_team")
    joined = rows.select_related(*related)
    return without_bodies(joined, "run__")


def received(principal: Principal) -> QuerySet[Grant]:
    """The valid grants that others made to the principal or to all of its team, newest first.

    ``continues`` of a grant on a run: the run is not the first of its thread, so that its
    question can be a message of the runs before it, which the grant does not show.
    """
    access.require(principal, "view")
    before = Run.objects.of_one_thread().filter(
        thread=OuterRef("run__thread"), journal_id__lt=OuterRef("run")
    )
    return joined(access.grants_to(principal)).annotate(continues=Exists(before))


def unopened(principal: Principal) -> int:
    """How many of ``received`` nobody has used, at most ``MOST_UNOPENED``."""
    rows = access.grants_to(principal).order_by().filter(last_used_at=None)
    return rows[:MOST_UNOPENED].count()


def share(principal: Principal, what: Thread | Run, to: To, terms: Terms) -> tuple[Grant, str]:
    """Make a grant; for a link also its token, which is stored nowhere.

    Raises Forbidden if the principal may not do it itself, NotFound, Invalid.
    """
    thread = what if isinstance(what, Thread) else what.thread
    _check_sharer(principal, thread, what if isinstance(what, Run) else None, terms.level)
    if terms.expires_at is not None and terms.expires_at <= clock.now():
        raise Invalid("expires_at must be in the future.", details={"path": "expires_at"})
    user, team, through = _receiver(principal, to)
    is_link = user is None and team is None
    _check_options(terms, is_link)
    token = secrets.token_urlsafe(32) if is_link else ""
    # If a removal runs at the same time, one waits for the other: no grant outlives the sharer's
    # right.
    with members.holding(principal):
        grant = Grant.objects.create(
            team=thread.team,
            thread=what if isinstance(what, Thread) else None,
            run=what if isinstance(what, Run) else None,
            to_user=user,
            through=through,
            to_team=team,
            token_hash=_hash(token) if is_link else None,
            level=terms.level,
            name=terms.name,
            sign_in=terms.sign_in,
            redact=list(terms.redact),
            created_by=principal.label,
            creator=principal.actor_id,
            expires_at=terms.expires_at,
        )
        audit.record(
            principal, thread.team, "grant.created", str(grant.pk),
            on=str(what.pk), kind=grant.kind, level=grant.level,
        )  # fmt: skip
        shares.tell(grant)
    return grant, token


def find(principal: Principal, grant_id: UUID) -> Grant:
    """A grant that the principal may manage. Raises NotFound."""
    grant = managed(principal).filter(pk=grant_id).first()
    if grant is None:
        raise NotFound("There is no such grant.")
    return grant


def revoke(principal: Principal, grant_id: UUID) -> None:
    """Revoke a grant and end the streams that it serves; idempotent."""
    grant = find(principal, grant_id)
    thread = grant.thread or Thread.objects.already_found().get(runs=grant.run_id)
    if grant.creator != principal.actor_id and not principal.can("manage_grants"):
        _check_sharer(principal, thread, None, Level.VIEW)
    _end(grant, principal)


def withdraw(leaving: Leaving) -> Ended:
    """Revoke the grants through which a person who leaves the team could still get in.

    Those are grants that named them through the team, in any team's hands, and links and grants to
    the outside that they made. Their grants to team mates stay.
    """
    named = Grant.objects.own_or_granted().filter(
        to_user=leaving.user_id, to_user__isnull=False, through=leaving.team, revoked_at=None
    )
    outside = Q(token_hash__isnull=False) | Q(to_team__isnull=False)
    outside |= Q(to_user__isnull=False) & ~Q(through=leaving.team)
    opened = Grant.objects.for_team(leaving.team).filter(
        outside, creator__in=leaving.actors, revoked_at=None
    )
    grants = [grant for rows in (named, opened) for grant in rows.select_related("team")]
    for grant in grants:
        # Another team's log does not name people it has nothing to do with.
        _end(grant, leaving.by if grant.team_id == leaving.team.pk else HOST)
    links = sum(grant.token_hash is not None for grant in grants)
    return Ended(grants=len(grants) - links, links=links)


@scope.everywhere()
def _end(grant: Grant, by: Acting | str) -> None:
    with transaction.atomic():
        open_rows = Grant.objects.for_team(grant.team).filter(pk=grant.pk, revoked_at=None)
        if open_rows.update(revoked_at=clock.now(), revoked_by=actor(by).label):
            audit.record(by, grant.team, "grant.revoked", str(grant.pk))
            _ring(grant)


def grant_of(visitor: Principal) -> Grant:
    """The grant of a link's visitor, which ``open_link`` has let in."""
    return Grant.objects.already_found().get(pk=visitor.name)


def open_link(token: str, user: User | None) -> Opened:
    """The principal of a link's visitor. ``user`` is the signed-in person, if any.

    Raises NotFound for a link that never existed, was revoked or has expired; Unauthenticated if
    the link requires a sign-in.
    """
    grant = None
    if TOKEN.fullmatch(token):
        grant = _links().first(_hash(token))
    if grant is None or not grant.is_live():
        raise NotFound("This link is invalid or has expired.")
    scope.reach(grant.team_id)
    if grant.sign_in and user is None:
        raise Unauthenticated("Sign in to open this link.")
    access.note_use(grant, f"link:{grant.pk}", "link.opened")
    principal = Principal(
        "link",
        str(grant.pk),
        grant.team,
        Role.VIEWER,
        user_id=user.pk if user else None,
        via_cookie=user is not None,
    )
    return Opened(grant, principal, user.get_username() if user else None)


@cache
def _links() -> Compiled[Grant]:
    rows = Grant.objects.by_secret().select_related("team", "thread", "run")
    return Compiled(lambda token: rows.filter(token_hash=token, team__archived_at=None), "a hash")


def _ring(grant: Grant) -> None:
    """Make open streams that this grant may serve re-check access."""
    teams = {grant.team_id}
    if grant.to_team_id is not None:
        teams.add(grant.to_team_id)
    if grant.to_user_id is not None:
        rows = Membership.objects.of_one_person().filter(user=grant.to_user_id)
        teams |= set(rows.values_list("team_id", flat=True))
    for team_id in teams:
        revoked(team_id)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _check_sharer(principal: Principal, thread: Thread, run: Run | None, level: Level) -> None:
    """Nobody can pass on what was shared with them, or more than they may do themselves."""
    access.require(principal, "share")
    if thread.team_id != principal.team.pk:
        raise Forbidden("Only the team that owns this may share it.")
    if thread.visibility == "private" and not access.is_creator(principal, thread):
        raise Forbidden("Only the person who started a private thread can share it.")
    for action in ACTIONS[level]:
        if run is not None:
            access.require_for(principal, action, run)
        else:
            access.require(principal, action)


@scope.everywhere()
def _receiver(principal: Principal, to: To) -> tuple[User | None, Team | None, Team | None]:
    """The person or team, and the team through which the person is named.

    Another team is named by its id, which nobody can guess: names would reveal which teams exist.
    """
    team = principal.team
    if to.team is not None:
        other_team = Team.objects.filter(pk=to.team, archived_at=None).first()
        if other_team is None:
            raise NotFound("There is no such team.")
        if to.member is None and other_team == team:
            raise Invalid("Your own team already has access.", details={"path": "team"})
        team = other_team
    if to.member is None:
        return None, (team if to.team is not None else None), None
    rows = Membership.objects.for_team(team).select_related("user")
    member = rows.filter(user__username=to.member, user__is_active=True).first()
    if member is None:
        raise NotFound("The team has no member with that login.")
    return member.user, None, team


def _check_options(terms: Terms, is_link: bool) -> None:
    if not is_link:
        if terms.sign_in or terms.redact:
            raise Invalid("sign_in and redact are options of links.", details={"path": "redact"})
        return
    if terms.level not in (Level.VIEW, Level.COMMENT):
        raise Invalid("A link can only allow view or comment.", details={"path": "level"})
    try:
        Redaction(terms.redact)
    except BadPath as error:
        raise Invalid(str(error), details={"path": "redact"}) from None
