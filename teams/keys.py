"""API keys: made, adopted, found, revoked. The key itself is shown once and never stored."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db.models import Q
from django.utils import timezone

from agui_project.errors import Conflict, Invalid
from teams.models import ApiKey, Role, Team

if TYPE_CHECKING:
    from django.contrib.auth.models import User

PREFIX = 8
SHORTEST = 32
USED_EVERY = timedelta(minutes=1)


class KeyTaken(Conflict):
    """Another key begins with the same eight characters; choose a different one."""

    code = "key_taken"


class KeyRetired(Conflict):
    """This key was revoked or has expired, which cannot be undone; choose another."""

    code = "key_retired"


def create_key(
    team: Team,
    name: str,
    role: Role,
    created_by: "User | None" = None,
    expires: datetime | None = None,
) -> tuple[ApiKey, str]:
    """A new key of the team, and the only sight of its text."""
    row, key = ApiKey.objects.create_key(
        team=team, name=name, role=role, created_by=created_by, expiry_date=expires
    )
    return row, key


def adopt_key(team: Team, key: str, name: str, role: Role) -> ApiKey:
    """Let the operator's own string (at least 32 printable ASCII characters) be a key of the team.

    Adopting it again changes nothing. Raises Invalid, KeyTaken or KeyRetired.
    """
    if len(key) < SHORTEST or not _speakable(key):
        raise Invalid(
            f"An API key needs at least {SHORTEST} printable ASCII characters, "
            "without spaces around it."
        )
    # get_or_create: of two hosts that start at once, one inserts and the other finds its row.
    row: ApiKey
    row, created = ApiKey.objects.get_or_create(
        prefix=key[:PREFIX],
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
    """The usable key with this text, of a team that is not archived; its team comes along."""
    if not _speakable(key):
        return None
    rows = ApiKey.objects.select_related("team").filter(prefix=key[:PREFIX])
    row: ApiKey | None = rows.first()
    if row is None or not row.is_valid(key):  # compares in constant time
        return None
    return row if usable(row) and row.team.archived_at is None else None


def usable(row: ApiKey) -> bool:
    """Neither revoked nor expired."""
    return not row.revoked and (row.expiry_date is None or row.expiry_date > timezone.now())


def touch(row: ApiKey) -> None:
    """Note that the key was used, at most once a minute: a request must not cost a write.

    Of many requests at the turn of a minute one UPDATE finds the old time; the others match
    nothing and wait for nobody for long.
    """
    now = timezone.now()
    if row.last_used_at is not None and row.last_used_at > now - USED_EVERY:
        return
    stale = Q(last_used_at=None) | Q(last_used_at__lte=now - USED_EVERY)
    ApiKey.objects.filter(stale, pk=row.pk).update(last_used_at=now)


def revoke(row: ApiKey) -> None:
    """End the key for good; revoking it again changes nothing."""
    row.revoked = True
    row.save(update_fields=["revoked"])


def _speakable(key: str) -> bool:
    """What fits a header and a query: a NUL would be an error of Postgres, not a wrong key."""
    return key.isascii() and key.isprintable() and key == key.strip()
