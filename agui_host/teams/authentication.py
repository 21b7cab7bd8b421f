"""Authentication: one Principal per request, for DRF views and ASGI consumers alike."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast
from uuid import UUID

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib import auth
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from agui_host.backends.postgres import clock
from agui_host.backends.postgres.compiled import Compiled
from agui_host.errors import Forbidden, Unauthenticated, UnsupportedMediaType
from agui_host.security import origins, requester
from agui_host.teams import actors, keys, recent_keys
from agui_host.teams.actors import EndUser
from agui_host.teams.end_users import tokens
from agui_host.teams.models import ApiKey, Membership, Role, Team
from agui_host.teams.permissions import allowed, within

if TYPE_CHECKING:
    from rest_framework.views import APIView  # DRF's views import this module

CHALLENGE = "Bearer"
SEEN_EVERY = timedelta(minutes=5)
"""How exactly it is recorded when a person was in a team."""
FOR_END_USERS = frozenset({"view", "run", "answer", "cancel", "comment"})
"""The actions of a key that acts for an end user: those on this person's own threads."""


class SecondFactorRequired(Forbidden):
    """This team requires a second factor: set yours up at /account/mfa/."""

    code = "second_factor_required"


class Bound(NamedTuple):
    """The run or thread that a ticket is for."""

    run: UUID | None = None
    thread: UUID | None = None


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller, in one team: a person, a key, a shared link or a stream ticket.

    ``name`` is the user's login or the key's prefix; ``via_cookie``: a browser sent the credential
    by itself, so that the Origin rules apply. ``only``: the actions that the credential is for,
    whatever the role allows; None for all of them. ``agents``: the only agents it is for. A ticket
    is ``bound`` to a run, a thread or a channel; ``behind`` is the principal that it acts for.
    ``end_user`` is the person for whom a key acts: it sees their threads and no others.
    """

    kind: Literal["user", "key", "link", "ticket"]
    name: str
    team: Team
    role: Role
    user_id: int | None = None
    key_prefix: str | None = None
    via_cookie: bool = False
    only: frozenset[str] | None = None
    agents: frozenset[str] | None = None
    session_key: str | None = field(default=None, compare=False, repr=False)
    bound: Bound | None = None
    behind: "Principal | None" = None
    key_id: UUID | None = None
    end_user: EndUser | None = None
    is_operator: bool = field(default=False, compare=False)

    @property
    def label(self) -> str:
        """The name for people, like ``user:alice`` or ``key:abcd1234``; it decides no right."""
        return f"{self.kind}:{self.name}"

    @property
    def actor_id(self) -> str:
        """The id that rows store for this principal (``agui_host.teams.actors``).

        A ticket acts as its person or key, a link as its signed-in visitor.
        """
        if self.end_user is not None:
            return self.end_user.actor_id
        if self.key_id is not None:
            return actors.key_id(self.key_id)
        return actors.user_id(self.user_id) if self.user_id is not None else self.label

    @property
    def credential(self) -> Hashable:
        """Equal for requests by the same credential, down to the browser's session."""
        behind = self.behind and self.behind.credential
        return self, self.session_key, behind

    def can(self, action: str) -> bool:
        """Whether role and credential both allow ``action`` (``permissions.ACTIONS``)."""
        return allowed(self.role, action) and (self.only is None or action in self.only)

    def require(self, action: str) -> None:
        """Raises Forbidden unless this principal ``can``."""
        if self.can(action):
            return
        who = "This key's scopes do" if allowed(self.role, action) else "Your role does"
        raise Forbidden(f"{who} not include permission to {action}.", details={"action": action})

    def may_use(self, agent: str) -> bool:
        """Whether the credential is for the agent of that slug."""
        return self.agents is None or agent in self.agents

    def as_ticket(self, bound: Bound) -> "Principal":
        """A reader of one run or thread, by a ticket that this principal got."""
        only = frozenset({"view"} if self.can("view") else ())
        return replace(self, kind="ticket", via_cookie=False, only=only, bound=bound, behind=self)


def resolve(headers: Mapping[str, str], cookies: Mapping[str, str]) -> Principal:
    """The principal of these headers (lower-case names) and cookies. Queries the database.

    An Authorization header wins over the session cookie, even if it is wrong. Raises
    Unauthenticated, or Forbidden for a person who is in no team.
    """
    if "authorization" in headers:
        return _by_key(headers)
    if tokens.HEADER in headers:
        raise tokens.EndUserWithoutKey
    session = _session(cookies.get(settings.SESSION_COOKIE_NAME, ""))
    user = _user_of(session)
    if user is None:
        raise _unauthenticated()
    return _by_session(user, session)


def at_hand(headers: Mapping[str, str]) -> Principal | None:
    """``resolve`` without the database, for a key that was resolved a moment ago; else None."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    row = recent_keys.at_hand(key.strip()) if scheme.lower() == "bearer" else None
    if row is None:
        return None
    requester.identified(row.team_id)
    return _of_key(row, headers.get(tokens.HEADER))


def person(cookies: Mapping[str, str]) -> User | None:
    """The active person who is signed in, in any team or none."""
    return _user_of(_session(cookies.get(settings.SESSION_COOKIE_NAME, "")))


def refreshed(principal: Principal) -> Principal | None:
    """The principal with its current role and scopes; None if it has lost access.

    A browser's session counts as long as it is signed in. A role that was changed meanwhile counts
    as it is now.
    """
    if principal.behind is not None and principal.bound is not None:
        behind = refreshed(principal.behind)
        return behind.as_ticket(principal.bound) if behind else None
    if principal.key_prefix is not None:
        row = keys.standing(principal.team, principal.key_prefix)
        if row is None or principal.end_user is None:
            return _of_key(row) if row else None
        end_user = principal.end_user
        return _for(_of_key(row), end_user) if tokens.remains(row, end_user) else None
    if principal.session_key is not None:
        user = _user_of(_session(principal.session_key))
        if user is None or user.pk != principal.user_id:
            return None
    mine = (
        Membership.objects.for_team(principal.team)
        .select_related("team")
        .filter(user=principal.user_id, user__is_active=True, team__archived_at=None)
        .first()
    )
    if mine is None or not meets_rules(mine.user_id, mine.team):
        return None
    return replace(principal, team=mine.team, role=Role(mine.role))


def current(principal: Principal) -> Principal:
    """``refreshed``, for a caller that asks again later. Raises Unauthenticated."""
    now = refreshed(principal)
    if now is None:
        raise Unauthenticated("Your credential was revoked.")
    return now


def of_actor(team: Team, actor_id: str) -> Principal | None:
    """The person or key of that ``actor_id`` with its current rights; None if it has no access.

    For later actions of the host in a person's or key's name. A key that was rotated is its
    successor.
    """
    kind, _, pk = actor_id.partition(":")
    if actors.is_end_user(actor_id):
        return None  # Only with a token.
    if kind == "key":
        row = keys.newest(team, UUID(pk))
        return _of_key(row) if row else None
    mine = Membership.objects.for_team(team).select_related("user").filter(user=int(pk)).first()
    if mine is None:
        return None
    user = mine.user
    return refreshed(Principal("user", user.get_username(), team, Role(mine.role), user.pk))


def meets_rules(user_id: int, team: Team) -> bool:
    """Whether a person has the second factor that the team may require; codes are not enough."""
    if not team.second_factor:
        return True
    factors = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
    return bool(Authenticator.objects.filter(user=user_id, type__in=factors).exists())


def guard_cookie(headers: Mapping[str, str], *, host: str, scheme: str, json_body: bool) -> None:
    """Refuse a cookie that another site's page may have made the browser send.

    For unsafe methods and sockets of a principal that came ``via_cookie``; ``json_body`` for a
    POST. Raises Forbidden or UnsupportedMediaType.
    """
    if not origins.check_origin(headers, host=host, scheme=scheme):
        raise Forbidden(
            "A signed-in browser may do this only from this site or from an origin that "
            "AGUI_ALLOWED_ORIGINS lists by name; the Origin header differs."
        )
    if json_body and not origins.is_json(headers):
        raise UnsupportedMediaType


class PrincipalAuthentication(BaseAuthentication):
    """DRF: ``request.auth`` is the Principal, ``request.user`` its person, if any."""

    def authenticate(self, request: Request) -> tuple[User | AnonymousUser, Principal] | None:
        """None without credentials: open views answer, ``IsPrincipal`` refuses."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        if "authorization" in headers:
            return AnonymousUser(), _by_key(headers)
        if tokens.HEADER in headers:
            raise tokens.EndUserWithoutKey
        session = _session(request.COOKIES.get(settings.SESSION_COOKIE_NAME, ""))
        user = _user_of(session)
        if user is None:
            return None
        principal = _by_session(user, session)
        if request.method not in SAFE_METHODS:
            guard_cookie(
                headers,
                host=request.get_host(),
                scheme=request.scheme or "http",
                json_body=request.method == "POST",
            )
        return user, principal

    def authenticate_header(self, request: Request) -> str:
        """The challenge of a 401."""
        return CHALLENGE


class IsPrincipal(BasePermission):
    """DRF permission: requires that the caller was resolved to a Principal."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        """Whether the caller is known: any role may enter, each view asks for more."""
        principal_of(request)
        return True


def principal_of(request: Request) -> Principal:
    """The Principal of a DRF request; raises Unauthenticated."""
    if isinstance(request.auth, Principal):
        return request.auth
    raise _unauthenticated()


def _unauthenticated(message: str | None = None) -> Unauthenticated:
    return Unauthenticated(message, headers={"WWW-Authenticate": CHALLENGE})


def _by_key(headers: Mapping[str, str]) -> Principal:
    scheme, _, key = headers["authorization"].partition(" ")
    if scheme.lower() != "bearer":
        raise _unauthenticated("Send the API key as 'Authorization: Bearer <key>'.")
    row = recent_keys.find(key.strip())
    if row is None:
        raise _unauthenticated("This API key is unknown, revoked or expired.")
    keys.touch(row)
    requester.identified(row.team_id)
    return _of_key(row, headers.get(tokens.HEADER))


def _of_key(row: ApiKey, token: str | None = None) -> Principal:
    """``token`` is the header that names an end user. Raises EndUserRefused."""
    principal = Principal(
        "key",
        row.prefix,
        row.team,
        keys.role_of(row),
        key_prefix=row.prefix,
        key_id=row.pk,
        only=within(row.scopes),
        agents=None if row.agents is None else frozenset(row.agents),
    )
    return principal if token is None else _for(principal, tokens.verified(row, token))


def _for(principal: Principal, end_user: EndUser) -> Principal:
    only = FOR_END_USERS & (FOR_END_USERS if principal.only is None else principal.only)
    return replace(principal, end_user=end_user, only=only)


class _ReadOnlySession(dict[str, Any]):
    """A stored session's values, read without ending or renewing the session.

    ``get_user`` might do either, but no answer from here can carry the new cookie: the person would
    be signed out. Django's middleware does it instead.
    """

    session_key: str | None = None

    def flush(self) -> None:
        self.clear()

    def cycle_key(self) -> None:
        pass


def _session(key: str) -> _ReadOnlySession:
    if not key or not key.isascii() or not key.isprintable():
        return _ReadOnlySession()
    store = import_module(settings.SESSION_ENGINE).SessionStore(key)
    session = _ReadOnlySession(store.load())
    session.session_key = key
    return session


def _user_of(session: _ReadOnlySession) -> User | None:
    # The active person of this session, unless the password has changed since.
    request = HttpRequest()
    request.session = cast(Any, session)
    user = auth.get_user(request)
    return user if user.is_authenticated else None


def _note_visit(membership: Membership) -> None:
    """Record that the person is here, at most once in a while: a request must not cost a write."""
    now = clock.now()
    last, stale = membership.last_seen_at, now - SEEN_EVERY
    if last is not None and last > stale:
        return
    of_before = Q(last_seen_at=None) | Q(last_seen_at__lte=stale)
    rows = Membership.objects.already_found().filter(of_before, pk=membership.pk)
    rows.update(last_seen_at=now)


@cache
def _memberships() -> Compiled[Membership]:
    rows = Membership.objects.of_one_person().select_related("team__limits")
    rows = rows.filter(team__archived_at=None).order_by("created_at", "pk")
    return Compiled(lambda user: rows.filter(user=user), actors.NOBODY)


def _by_session(user: User, session: _ReadOnlySession) -> Principal:
    memberships = list(_memberships().rows(user.pk))
    if not memberships:
        raise Forbidden(
            "You are signed in, but not a member of any team: ask a team's owner to add you."
        )
    chosen = str(session.get("team"))
    mine = next((m for m in memberships if str(m.team_id) == chosen), None)
    if mine is None:
        # The person chose no team, so one team's rule must not exclude the others.
        mine = next((m for m in memberships if meets_rules(user.pk, m.team)), memberships[0])
    if not meets_rules(user.pk, mine.team):
        raise SecondFactorRequired
    _note_visit(mine)
    requester.identified(mine.team_id)
    return Principal(
        "user",
        user.get_username(),
        mine.team,
        Role(mine.role),
        user_id=user.pk,
        is_operator=user.is_superuser,
        via_cookie=True,
        session_key=session.session_key,
    )
