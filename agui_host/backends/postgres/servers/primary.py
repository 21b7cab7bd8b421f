"""Which servers count as the primary: those on the newest timeline that this process has met.

PostgreSQL numbers the history that begins with each promotion: its timeline. A primary that was
killed and starts again with its old data does not know of the promotion, and accepts commits that
are lost later. Its timeline is lower, so its connections are refused. Where an address names
several hosts, all are asked now and then, so that a process learns of a promotion that it missed.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import psycopg
import structlog

from agui_host.logs import sparingly

log = structlog.get_logger(__name__)

SEE = "docs/howto-postgresql.md#failover"
LOOK_AROUND = 30.0
"""Seconds between two questions to all hosts, if nothing has happened."""
READ = """
select pg_backend_pid(), (select system_identifier from pg_control_system()),
       case when not pg_is_in_recovery()
            then ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int end
"""
READ_BACKEND = "select pg_backend_pid(), null, null"


class Outdated(psycopg.OperationalError):
    """The server is a primary of an earlier time: another one was promoted after it."""


class Server(NamedTuple):
    """A server's answer: the session's process, its database system, and its timeline.

    The timeline is None for a standby, and both are None where the service hides them.
    """

    backend: int
    system: int | None
    timeline: int | None


newest: dict[int, int] = {}
"""By database system, since a restored or another one counts its own timelines."""
_learning = threading.Lock()
_looking = threading.Lock()
_asked_at = _answered_at = float("-inf")
_is_hidden = False


def note(server: Server, host: str) -> None:
    """Learn the timeline of a server that accepts commits. Raises Outdated if it is an old one."""
    if server.system is None or server.timeline is None:
        return
    with _learning:
        known = newest.get(server.system, 0)
        if server.timeline > known:
            newest[server.system] = server.timeline
    if server.timeline > known > 0:
        log.warning("database.promoted", host=host, timeline=server.timeline, before=known)
    elif server.timeline < known:
        sparingly(
            log.error, "database.outdated", host=host, timeline=server.timeline, newest=known,
            see=SEE,
        )  # fmt: skip
        raise Outdated(
            f"{host} is a primary of timeline {server.timeline}, and {known} has begun elsewhere"
        )


def is_outdated(server: Server | None) -> bool:
    """Whether a later primary was met since this connection was opened."""
    if server is None or server.system is None or server.timeline is None:
        return False
    return server.timeline < newest.get(server.system, 0)


def query() -> str:
    """The question for a new connection. A service can hide its timeline; then it is not asked."""
    return READ_BACKEND if _is_hidden else READ


def hidden(error: psycopg.Error) -> None:
    """Ask no more for what this service does not tell."""
    global _is_hidden
    _is_hidden = True
    log.info("database.no_timeline", reason=" ".join(str(error).split()))


def suspect() -> None:
    """A connection broke or failed: there might be a new primary, so ask all hosts next time."""
    global _asked_at
    _asked_at = float("-inf")


@contextmanager
def looking_around() -> Iterator[bool]:
    """Whether it is time to ask all hosts, which the block does; one thread at a time.

    A thread that had to wait for another one's answers has them.
    """
    global _asked_at, _answered_at
    began = time.monotonic()
    with _looking:
        is_time = _answered_at < began and began - _asked_at > LOOK_AROUND
        if is_time:
            _asked_at = began  # Before the answers: what breaks meanwhile asks for others.
        yield is_time
        if is_time:
            _answered_at = time.monotonic()


def name_of(raw: Any) -> str:
    """``host:port`` of a connection."""
    return f"{raw.info.host or 'localhost'}:{raw.info.port}"
