"""The server that sends notifications and counts: Valkey, or PostgreSQL if ``REDIS_URL`` is empty.

This module chooses, and settings choose Django's layer and cache by the same rule; no other module
asks which of both it is.
"""

from collections.abc import Sequence

from django.conf import settings

from agui_host.backends import valkey
from agui_host.backends.valkey import seats
from agui_host.backends.without_valkey import reach as notifications
from agui_host.backends.without_valkey import seat_table


def reach() -> str:
    """The place of Valkey for the log of a start; ``none`` or ``unreachable`` are others.

    Raises ImproperlyConfigured if Valkey refuses us, or if PostgreSQL's notifications stay away.
    """
    if settings.REDIS_URL:
        return valkey.place(settings.REDIS_URL) if reach_valkey() else "unreachable"
    notifications.reach()
    return "none"


def reach_valkey() -> bool:
    """Whether Valkey answers, before PostgreSQL is there. Raises as ``reach`` does."""
    return bool(settings.REDIS_URL) and valkey.reach(settings.REDIS_URL)


def state() -> str:
    """Valkey's state for ``/ready``; PostgreSQL has its own line there."""
    return valkey.state(settings.REDIS_URL) if settings.REDIS_URL else "ok"


def seat_store() -> seats.ValkeySeats | seat_table.TableSeats:
    """Where the open streams of all web processes are counted, for one event loop."""
    if settings.REDIS_URL:
        return seats.ValkeySeats(settings.REDIS_URL)
    return seat_table.TableSeats()


def seat_counts(keys: Sequence[str]) -> list[int] | None:
    """How many of the seats of each key are taken (synchronous); None if the server is away."""
    if settings.REDIS_URL:
        return seats.counts(settings.REDIS_URL, keys)
    return seat_table.counts(keys)
