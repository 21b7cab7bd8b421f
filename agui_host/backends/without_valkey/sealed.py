"""Small events in a payload, encrypted: any role that can connect to the database can LISTEN.

The key is derived from SECRET_KEY. A process with another key reads the events from the journal, as
it does for events without a payload.
"""

from collections.abc import Sequence

from cryptography.fernet import InvalidToken
from django.conf import settings

from agui_host.backends.derived_key import fernet

PURPOSE = b"agui run host: events in notifications"
CARRY_BYTES = 4_000
"""Of events in one payload: encrypted and in printable characters they are a third longer."""


def seal(place: str, payloads: Sequence[bytes] | None) -> str:
    """The events in printable characters; "" if they are too long. ``place`` goes with them."""
    if payloads is None or sum(map(len, payloads)) > CARRY_BYTES:
        return ""
    if any(b"\n" in payload for payload in payloads):
        return ""
    return (
        fernet(settings.SECRET_KEY, PURPOSE)
        .encrypt(b"\n".join([place.encode(), *payloads]))
        .decode()
    )


def unseal(place: str, sealed: str) -> list[bytes] | None:
    """The events; None if they were not sealed by this key for this ``place``."""
    try:
        first, *payloads = fernet(settings.SECRET_KEY, PURPOSE).decrypt(sealed).split(b"\n")
    except InvalidToken:
        return None
    # Who can LISTEN can also NOTIFY: what another notification carried proves nothing about this.
    return payloads if first == place.encode() else None
