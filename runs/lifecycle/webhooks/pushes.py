"""Webhooks of one task: a dialect makes their messages, the host delivers them.

A dialect with tasks provides a ``Messages`` at the start of each process.
"""

import json
from typing import Protocol

from agui_host.protocol.strict_json import dumps
from agui_host.security.secrets import seal, unseal
from runs.models import Status, Webhook, WebhookDelivery

EVENTS = tuple(status.event for status in Status if status != Status.QUEUED)
"""The types of deliveries."""
ENDS = frozenset(status.event for status in (Status.SUCCEEDED, Status.CANCELLED, Status.FAILED))


class Messages(Protocol):
    """Makes the requests that a receiver of a task's changes gets."""

    def headers(self, webhook: Webhook) -> dict[str, str]:
        """The headers that prove the sender to the receiver. Raises SecretUnreadable."""
        ...

    def body(self, delivery: WebhookDelivery) -> bytes | None:
        """The message; None if the task has been erased, or the run is not one of its runs."""
        ...


_provided: list[Messages] = []


def provide(maker: Messages) -> None:
    """Let this maker, and no other, make the messages."""
    _provided[:] = [maker]


def messages() -> Messages:
    """The maker that a dialect has provided."""
    return _provided[0]


def sealed(token: str, scheme: str, credentials: str) -> str:
    """The column of a task's push notifications with what is to be sent along."""
    return seal(dumps({"token": token, "scheme": scheme, "credentials": credentials}))


def secrets(webhook: Webhook) -> dict[str, str]:
    """``token``, ``scheme`` and ``credentials``, each maybe empty. Raises SecretUnreadable."""
    stored: dict[str, str] = json.loads(unseal(webhook.secrets))
    return stored
