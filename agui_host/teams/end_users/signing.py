"""The secret with which a key's owner signs the tokens of its end users."""

from secrets import token_urlsafe
from uuid import uuid4

from django.db import transaction

from agui_host.security.secrets import seal
from agui_host.teams import audit
from agui_host.teams.actors import Acting
from agui_host.teams.keys import KeyRetired, usable
from agui_host.teams.models import ApiKey
from agui_host.teams.revocation import revoked

BYTES = 32


def renew(row: ApiKey, by: Acting) -> str:
    """A new secret of the key, shown once; tokens signed with the former one are refused.

    Its end users remain the same. Raises KeyRetired.
    """
    secret = token_urlsafe(BYTES)
    with transaction.atomic():
        key = _locked(row)
        if not usable(key):
            raise KeyRetired
        action = (
            "key.end_user_secret_rotated" if key.end_user_secret else "key.end_user_secret_made"
        )
        key.end_user_secret = seal(secret)
        key.end_user_realm = key.end_user_realm or uuid4()
        key.save(update_fields=["end_user_secret", "end_user_realm"])
        audit.record(by, key.team, action, key.prefix)
        revoked(key.team_id)
    return secret


def remove(row: ApiKey, by: Acting) -> None:
    """Refuse all end users of the key from now on; without a secret nothing happens."""
    with transaction.atomic():
        key = _locked(row)
        if not key.end_user_secret:
            return
        key.end_user_secret = ""
        key.save(update_fields=["end_user_secret"])
        audit.record(by, key.team, "key.end_user_secret_removed", key.prefix)
        revoked(key.team_id)


def _locked(row: ApiKey) -> ApiKey:
    rows = ApiKey.objects.for_team(row.team).select_for_update(of=("self",))
    locked: ApiKey = rows.get(pk=row.pk)
    return locked
