"""Reads that a standby can answer: replay, lists, search and exports (ADR 0011).

Each of them asks the primary first how far its log is, and reads from the standby once that has
replayed as much: so no answer is older than the primary's, whichever process wrote. If the standby
is not there in milliseconds, or is away, promoted, or of another history, the primary answers, and
/ready names the reason.
"""

import threading
import time
from collections.abc import Callable
from functools import wraps
from typing import NamedTuple, ParamSpec, TypeVar

import structlog
from django.conf import settings
from django.db import Error, connection, connections

from agui_host.backends import metrics
from agui_host.backends.postgres import roles
from agui_host.backends.postgres.servers import standby
from agui_host.backends.postgres.servers.standby import StandbyWrapper
from agui_host.logs import sparingly

P = ParamSpec("P")
T = TypeVar("T")

log = structlog.get_logger(__name__)

SEE = "docs/howto-postgresql.md#read-replica"
OK, UNKNOWN, AWAY, BEHIND, PROMOTED, FOREIGN = (
    "ok", "unknown", "away", "behind", "promoted", "other history",
)  # fmt: skip
PAUSES = (0.001, 0.002, 0.004, 0.008)
"""Seconds between the questions whether it has replayed enough."""
PAUSE_BEHIND = 0.25
"""Seconds in which nothing is read from a standby that was behind."""
PAUSE_AWAY = 2.0
"""Seconds between two looks at a standby that cannot be used."""
LOOK_EVERY = 5.0
"""/ready looks at a standby if that was not read for this many seconds."""
BEHIND_FOR = 2.0
"""Seconds of nothing but reads that came too early, after which it counts as behind."""
# A commit that does not wait for the disk is visible before it is flushed.
POSITION = """
select case when not pg_is_in_recovery() then pg_current_wal_insert_lsn()::text end, agui_epoch()
"""
HAS_REPLAYED = """
select pg_is_in_recovery(), pg_last_wal_replay_lsn() >= %s::pg_lsn, agui_epoch()
"""


class Unusable(Exception):
    """The primary has to answer. Control flow: clients never see it."""

    def __init__(self, state: str) -> None:
        super().__init__(state)
        self.state = state


class Position(NamedTuple):
    """How far the primary's log is, and which history it is of."""

    system: int | None
    lsn: str
    epoch: int


class Health:
    """Whether the standby can be used, as seen from this process. Safe in threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state = UNKNOWN
        self._again_at = 0.0
        self._fine_at = self._looked_at = float("-inf")

    def allows(self) -> bool:
        """Whether a read should try it. If it was away, one look decides, in its own thread."""
        with self._lock:
            if self._state == OK:
                return True
            if time.monotonic() < self._again_at:
                return False
            if self._state == BEHIND:
                return True
            self._again_at = time.monotonic() + PAUSE_AWAY
        threading.Thread(target=_look, name="replica-look", daemon=True).start()
        return False

    def note(self, state: str) -> None:
        """Remember what became of a read; UNKNOWN, of a silent primary, is ignored."""
        if state == UNKNOWN:
            return
        now = time.monotonic()
        with self._lock:
            before, self._state, self._looked_at = self._state, state, now
            if state == OK:
                self._fine_at = now
            self._again_at = now + (PAUSE_BEHIND if state == BEHIND else PAUSE_AWAY)
        if state in (before, BEHIND) or (state, before) == (OK, BEHIND):
            return
        if state == OK:
            log.info("database.replica_used")
        else:
            sparingly(log.warning, "database.replica_unused", reason=state, see=SEE)

    def summary(self) -> str:
        """Its state for /ready; looks at it if nothing was read for a while."""
        now = time.monotonic()
        with self._lock:
            state, is_brief = self._state, now - self._fine_at < BEHIND_FOR
            is_old = now - self._looked_at > LOOK_EVERY
            if is_old:
                self._looked_at = now
        if is_old:
            threading.Thread(target=_look, name="replica-look", daemon=True).start()
        return OK if state == BEHIND and is_brief else state


health = Health()
_of_thread = threading.local()


def is_set() -> bool:
    """Whether this process reads from a standby: a web process with DATABASE_REPLICA_URL."""
    return bool(settings.AGUI_DATABASE_REPLICA) and roles.process.shares


def read(call: Callable[[], T]) -> T:
    """The result of ``call``, which only reads: from the standby if that is as new, else not.

    ``call`` is made again on the primary if the standby fails in the middle of it.
    """
    if not is_set() or connection.in_atomic_block or not health.allows():
        return call()
    try:
        result = _from_standby(call)
    except Unusable as unusable:
        metrics.replica_reads.labels("primary").inc()
        health.note(unusable.state)
    else:
        metrics.replica_reads.labels("replica").inc()
        return result
    return call()


def reading(view: Callable[P, T]) -> Callable[P, T]:
    """A function whose calls are ``read``."""

    @wraps(view)
    def from_either(*args: P.args, **kwargs: P.kwargs) -> T:
        return read(lambda: view(*args, **kwargs))

    return from_either


def _look() -> None:
    try:
        _from_standby(lambda: None)
    except Unusable as unusable:
        health.note(unusable.state)
    finally:
        connection.close()


def _from_standby(call: Callable[[], T]) -> T:
    position = _position()
    primary, other = connections["default"], _wrapper()
    connections["default"] = other
    try:
        _wait_for(other, position)
        try:
            result = call()
        except Error as error:
            # If it is not the standby's fault, the primary raises it again.
            raise Unusable(AWAY if _is_broken(other) else OK) from error
    finally:
        connections["default"] = primary
        other.close()
    health.note(OK)
    return result


def _position() -> Position:
    """Asked by this thread's own connection to the primary."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(POSITION)
            lsn, epoch = cursor.fetchone()
    except Error as error:
        raise Unusable(UNKNOWN) from error
    if lsn is None:
        raise Unusable(UNKNOWN)
    server = connection.connection.server
    return Position(server.system if server else None, lsn, epoch)


def _wait_for(other: StandbyWrapper, position: Position) -> None:
    """Raises Unusable."""
    try:
        for pause in (*PAUSES, None):
            with other.cursor() as cursor:
                cursor.execute(HAS_REPLAYED, [position.lsn])
                follows, has_replayed, epoch = cursor.fetchone()
            _check(other, position, follows=follows)
            if has_replayed:
                if epoch != position.epoch:
                    raise Unusable(FOREIGN)
                return
            if pause is None:
                raise Unusable(BEHIND)
            time.sleep(pause)
    except Error as error:
        raise Unusable(AWAY) from error


def _is_broken(other: StandbyWrapper) -> bool:
    return other.connection is None or other.connection.closed


def _check(other: StandbyWrapper, position: Position, *, follows: bool) -> None:
    server = other.connection.server
    systems = {server.system, position.system} - {None} if server else set()
    if follows and len(systems) < 2:
        return
    other.connection.pgconn.finish()  # the pool opens another, at a host that is a standby now
    raise Unusable(FOREIGN if follows else PROMOTED)


def _wrapper() -> StandbyWrapper:
    made = getattr(_of_thread, "wrapper", None)
    if made is None:
        made = _of_thread.wrapper = standby.wrapper()
    return made
