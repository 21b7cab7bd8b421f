"""API keys: made, adopted, found, revoked. The key itself is shown once and never stored."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from ipaddress import ip_address
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import OuterRef, Q, QuerySet, Subquery

from agui_host.backends.postgres import clock
from agui_host.backends.postgres.compiled import Compiled
from agui_host.errors import Conflict
from agui_host.protocol.errors import Invalid
from agui_host.security.requester import ADDRESS
from agui_host.teams import audit, notices, offboarding
from agui_host.teams.actors import HOST, Acting, Actor, key_id
from agui_host.teams.models import SCANNABLE, ApiKey, Membership, Role, Scope, Team
from agui_host.teams.permissions import lower
from agui_host.teams.revocation import revoked

if TYPE_CHECKING:
    from django.contrib.auth.models import User

PREFIX = 8
SHORTEST = 32
USED_EVERY = timedelta(minutes=1)


class KeyTaken(Conflict):
    """Another key begins with the same eight characters; choose a different one."""

    code = "key_taken"


class KeyRotated(Conflict):
    """This key was rotated already; rotate its successor, or make a new key."""

    code = "key_rotated"


class KeyRetired(Conflict):
    """This key was revoked or has expired, which cannot be undone; use another key."""

    code = "key_retired"


def create_key(
    team: Team,
    name: str,
    role: Role,
    created_by: "User | None" = None,
    expires: datetime | None = None,
    *,
    scopes: Sequence[str] = tuple(Scope),
    agents: Sequence[str] | None = None,
    by: Acting | None = None,
    made_with: ApiKey | None = None,
) -> tuple[ApiKey, str]:
    """A new key of the team and its text, which is never shown again.

    ``by`` is the name in the log; by default the person, else the host's operator. ``made_with`` is
    the key that created it, if one did.
    """
    with transaction.atomic():
        row, key = ApiKey.objects.create_key(
            team=team,
            name=name,
            role=role,
            created_by=created_by,
            expiry_date=expires,
            scopes=list(scopes),
            agents=None if agents is None else list(agents),
            made_with=made_with,
        )
        audit.record(
            by or _maker(created_by), team, "key.created", row.prefix,
            role=str(role), scopes=list(map(str, scopes)),
        )  # fmt: skip
        notices.key_made(row, (by or _maker(created_by)).label)
    return row, key


def rotate(
    row: ApiKey,
    *,
    overlap: timedelta,
    created_by: "User | None" = None,
    by: Acting | None = None,
    made_with: ApiKey | None = None,
    latest: datetime | None = None,
) -> tuple[ApiKey, str]:
    """A new key with the same rights; the old one works for ``overlap`` longer, at most.

    A key that was to expire passes its length of life on, until ``latest`` at most, and its secret
    for end users. The keys made with the old one end with it. Raises KeyRetired, and KeyRotated for
    a key with a successor: of two rotations at once the second waits for the row.
    """
    with transaction.atomic():
        old: ApiKey = ApiKey.objects.already_found().select_for_update(of=("self",)).get(pk=row.pk)
        if not usable(old):
            raise KeyRetired
        if ApiKey.objects.filter(replaces=old).exists():
            raise KeyRotated
        now = clock.now()
        life = None if old.expiry_date is None else now + (old.expiry_date - old.created)
        life = min(filter(None, (life, latest)), default=None)
        new, key = create_key(
            old.team, old.name, Role(old.role), created_by, life,
            scopes=old.scopes, agents=old.agents, by=by, made_with=made_with,
        )  # fmt: skip
        new.replaces = old
        new.end_user_secret, new.end_user_realm = old.end_user_secret, old.end_user_realm
        new.save(update_fields=["replaces", "end_user_secret", "end_user_realm"])
        old.expiry_date = min(filter(None, (old.expiry_date, now + overlap)))
        old.save(update_fields=["expiry_date"])
        bound_minted(old)
        revoked(old.team_id)  # Without an overlap it has ended.
        maker = by or _maker(created_by)
        audit.record(maker, old.team, "key.rotated", old.prefix, by=new.prefix)
    return new, key


def adopt_key(team: Team, key: str, name: str, role: Role) -> ApiKey:
    """Make the operator's own string (at least 32 printable ASCII characters) a key of the team.

    Adopting it again changes nothing. Raises Invalid, KeyTaken or KeyRetired.
    """
    if len(key) < SHORTEST or not _speakable(key):
        raise Invalid(
            f"An API key must have at least {SHORTEST} printable ASCII characters, "
            "without spaces around it."
        )
    # get_or_create: if two hosts start at once, one inserts and the other finds its row.
    row: ApiKey
    row, created = ApiKey.objects.by_secret().get_or_create(
        prefix=_place(key),
        defaults={
            "team": team,
            "name": name,
            "role": role,
            "hashed_key": ApiKey.objects.key_generator.hash(key),
        },
    )
    if not created and not (row.team_id == team.pk and row.is_valid(key)):
        raise KeyTaken
    if not usable(row):
        raise KeyRetired
    return row


def find(key: str) -> ApiKey | None:
    """The usable key with this text, of a team that is not archived; its team is loaded too."""
    if not _speakable(key):
        return None
    rows = (
        ApiKey.objects.by_secret()
        .select_related("team__limits")
        .filter(prefix__in={key[:PREFIX], beginning(key)})
    )
    valid = (row for row in _with_maker(rows) if row.is_valid(key))  # Compares in constant time.
    row = next(valid, None)
    return row if row is not None and opens(row) else None


def beginning(key: str) -> str:
    """The eight characters that find a key's row and name it in lists and logs."""
    return key.removeprefix(SCANNABLE)[:PREFIX]


def _place(key: str) -> str:
    # ``beginning``, except for a key adopted before keys had the scannable prefix.
    older = ApiKey.objects.by_secret().filter(prefix=key[:PREFIX]).first()
    return key[:PREFIX] if older is not None and older.is_valid(key) else beginning(key)


def standing(team: Team, prefix: str) -> ApiKey | None:
    """The team's key with that beginning, if it is usable and its team not archived."""
    row = _standing().first(team.pk, prefix)
    return row if row is not None and opens(row) else None


@cache
def _standing() -> Compiled[ApiKey]:
    # Each open stream of a key asks again and again.
    def rows(team: UUID, prefix: str) -> QuerySet[ApiKey]:
        keys = ApiKey.objects.for_team(Team(pk=team)).select_related("team")
        return _with_maker(keys.filter(prefix=prefix))

    return Compiled(rows, uuid4(), "a prefix")


def newest(team: Team, key_id: UUID) -> ApiKey | None:
    """``standing`` for the team's key with that id, or for its last successor."""
    rows = ApiKey.objects.for_team(team).select_related("team")
    row: ApiKey | None = _with_maker(rows.filter(pk=key_id)).first()
    while row is not None and not row.revoked and not opens(row):
        row = _with_maker(rows.filter(replaces=row)).first()
    return row if row is not None and opens(row) else None


def role_of(row: ApiKey) -> Role:
    """The role of a key of ``find`` or ``standing``: no more than its maker has today."""
    maker = getattr(row, "maker_role", None)
    return Role(row.role) if maker is None else lower(row.role, maker)


def _with_maker(rows: QuerySet[ApiKey]) -> QuerySet[ApiKey]:
    makers = Membership.objects.filter(
        team=OuterRef("team"), user=OuterRef("created_by"), user__is_active=True
    )
    return rows.annotate(maker_role=Subquery(makers.values("role")[:1]))


def opens(row: ApiKey) -> bool:
    """Whether a key of ``find`` still opens its team."""
    # However a person's membership ended, their keys ended with it.
    orphan = row.created_by_id is not None and getattr(row, "maker_role", None) is None
    return usable(row) and not orphan and row.team.archived_at is None


def usable(row: ApiKey) -> bool:
    """Whether a key still opens anything: neither revoked nor expired."""
    return not row.revoked and (row.expiry_date is None or row.expiry_date > clock.now())


def is_to_be_noted(row: ApiKey) -> bool:
    """Whether ``touch`` would write."""
    return row.last_used_at is None or row.last_used_at <= clock.now() - USED_EVERY


def touch(row: ApiKey) -> None:
    """Record when and from where the key was used, at most once a minute.

    A request must not cost a write. Of many requests at the turn of a minute one UPDATE finds the
    old time; the others match nothing and wait only briefly.
    """
    if not is_to_be_noted(row):
        return
    now = clock.now()
    stale = Q(last_used_at=None) | Q(last_used_at__lte=now - USED_EVERY)
    noted = ApiKey.objects.already_found().filter(stale, pk=row.pk)
    noted.update(last_used_at=now, last_used_from=_address(ADDRESS.get()))
    row.last_used_at = now


def revoke(row: ApiKey, by: Acting | str = "host") -> None:
    """Revoke the key, end its streams, and revoke everything else that gives its holder access.

    The keys made with it end as well, and so do its links and invitations. Revoking it again
    changes nothing.
    """
    row.revoked = True
    with transaction.atomic():
        ended = _revoke_with_minted(row, by)
        offboarding.end(offboarding.Leaving(row.team, [key_id(pk) for pk in ended], by))


def _revoke_with_minted(row: ApiKey, by: Acting | str) -> list[UUID]:
    """Revoke the key and all keys made with it; returns their ids.

    A request that makes a key locks its own, so keys made meanwhile are found here.
    """
    rows = ApiKey.objects.for_team(row.team)
    level, ended = [row.pk], [row.pk]
    while level:
        for key in rows.select_for_update(of=("self",)).filter(pk__in=level, revoked=False):
            rows.filter(pk=key.pk).update(revoked=True)
            audit.record(by, row.team, "key.revoked", key.prefix)
        minted = rows.filter(made_with__in=level).exclude(pk__in=ended)
        level = list(minted.values_list("pk", flat=True))
        ended += level
    return ended


def bound_minted(row: ApiKey) -> None:
    """Let the keys made with ``row`` end no later than ``row``, except its successor."""
    if row.expiry_date is None:
        return
    rows = ApiKey.objects.for_team(row.team).filter(made_with=row)
    later = Q(expiry_date=None) | Q(expiry_date__gt=row.expiry_date)
    for minted in rows.filter(later).exclude(replaces=row):
        minted.expiry_date = row.expiry_date
        minted.save(update_fields=["expiry_date"])
        bound_minted(minted)


def _maker(person: "User | None") -> Actor:
    # The maker of a key, for the audit log; without a person, the host's operator.
    return audit.of_user(person) if person else HOST


def _address(client: str) -> str | None:
    # An IP address, or None: with a UNIX socket there is none.
    try:
        return str(ip_address(client))
    except ValueError:
        return None


def _speakable(key: str) -> bool:
    # Whether it fits a header and a query: NUL would be an error of Postgres, not a wrong key.
    return key.isascii() and key.isprintable() and key == key.strip()
