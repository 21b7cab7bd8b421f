"""Secrets and signatures of webhooks, by the Standard Webhooks specification.

A webhook has one current secret, and the secrets that it was rotated from within the last OVERLAP:
each of them signs, so that a receiver can change over when it wants to.
"""

import hmac
import json
import secrets
from base64 import b64decode, b64encode
from datetime import UTC, datetime, timedelta
from typing import TypedDict

from agui_host.protocol.strict_json import dumps
from agui_host.security.secrets import seal, unseal

PREFIX = "whsec_"
BYTES = 32
OVERLAP = timedelta(hours=24)
MOST = 5
"""Secrets of one webhook; rotating more often drops the oldest."""


class Secret(TypedDict):
    """``until``: when it stops signing, ISO 8601; None for the current one."""

    text: str
    until: str | None


def new() -> str:
    return PREFIX + b64encode(secrets.token_bytes(BYTES)).decode()


def sealed(text: str) -> str:
    """The column of a webhook with this secret only."""
    return seal(dumps([Secret(text=text, until=None)]))


def rotated(column: str, text: str, now: datetime) -> str:
    """The column with ``text`` as the current secret. Raises SecretUnreadable."""
    until = (now + OVERLAP).isoformat()
    older = [Secret(text=old["text"], until=old["until"] or until) for old in _of(column, now)]
    return seal(dumps([Secret(text=text, until=None), *older[: MOST - 1]]))


def headers(column: str, message_id: str, now: datetime, body: bytes) -> dict[str, str]:
    """The headers that sign a try at ``now``. Raises SecretUnreadable."""
    stamp = str(int(now.timestamp()))
    content = f"{message_id}.{stamp}.".encode() + body
    signatures = [f"v1,{_signature(old['text'], content)}" for old in _of(column, now)]
    return {"webhook-timestamp": stamp, "webhook-signature": " ".join(signatures)}


def _signature(text: str, content: bytes) -> str:
    key = b64decode(text.removeprefix(PREFIX))
    return b64encode(hmac.digest(key, content, "sha256")).decode()


def _of(column: str, now: datetime) -> list[Secret]:
    """The secrets that sign at ``now``, the newest first."""
    stored: list[Secret] = json.loads(unseal(column))
    return [
        secret
        for secret in stored
        if secret["until"] is None or datetime.fromisoformat(secret["until"]).astimezone(UTC) > now
    ]
