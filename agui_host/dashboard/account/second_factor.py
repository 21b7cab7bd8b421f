"""The second factor: people's secrets are sealed in the database, and resealed with all others."""

from typing import Any

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.db import transaction

from agui_host.security.secrets import SecretUnreadable, reseal, seal, unseal

SEALED = frozenset({"secret", "seed", "migrated_codes"})
"""The values that allauth passes to ``encrypt``, by their names in an authenticator's data."""


class MfaAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """allauth's hooks for secrets."""

    def encrypt(self, text: str) -> str:
        """Seal a second factor's secret for its column."""
        return seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        """The secret that ``encrypt`` sealed."""
        return unseal(encrypted_text)


def rotate() -> tuple[int, int]:
    """Reseal every authenticator; how many were, and how many could not be read."""
    keys = list(Authenticator.objects.values_list("pk", flat=True))
    done = [_rotate(key) for key in keys]
    return done.count(True), done.count(False)


def _rotate(key: int) -> bool:
    """Reseal one row under a lock: a recovery code used meanwhile stays used."""
    with transaction.atomic():
        row = Authenticator.objects.select_for_update().filter(pk=key).first()
        try:
            if row is not None:
                row.data |= {name: _resealed(row.data[name]) for name in SEALED & row.data.keys()}
                row.save(update_fields=["data"])
        except SecretUnreadable:
            return False
    return True


def _resealed(value: Any) -> Any:
    return list(map(reseal, value)) if isinstance(value, list) else reseal(value)
