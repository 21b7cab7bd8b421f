"""What another session can tell of, and do to, a statement whose answer has not come.

Whether PostgreSQL still works on it: after a failover without resets no server will answer a
statement that can take minutes, and its deadline is far away. And that it should not work on it any
longer.
"""

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from procrastinate.contrib.django.utils import connector_params

ASK_AFTER = 10.0  # seconds of a wait between two questions
ANSWER = 3.0
"""Seconds for an answer that is under way, and for that to the question itself."""
STATE = "select state from pg_stat_activity where pid = %s"
IDLE = frozenset({"idle", "idle in transaction", "idle in transaction (aborted)"})


CANCEL = 2
"""Seconds to stop a statement, and to connect for that."""
NOT_FOR_A_STANDBY = "wait_event is distinct from 'SyncRep'"
"""Which sessions of ``pg_stat_activity`` can be cancelled or ended.

A commit that waits for its synchronous standby is on this server's disk already. If its wait is
cancelled, or its session ended, everybody sees data that the standby might lack.
"""
# Another server, after a failover, might have given the number to another session.
STOP = f"""
select pg_cancel_backend(pid) from pg_stat_activity
 where pid = %s and usename = session_user and {NOT_FOR_A_STANDBY}
   and query_start < now() - make_interval(secs => %s)
"""  # noqa: S608
SLACK = 0.5
"""The part of a statement's time here that it has certainly taken there, too."""


class NotWorking(psycopg.OperationalError):
    """The server has nothing to do for this connection, and its answer has not come."""


def watched(
    gen: Generator[Any, Any, Any], connection: psycopg.Connection[Any]
) -> Generator[Any, Any, Any]:
    """The same wait, with questions in between. Raises NotWorking once two answers are no.

    ``gen`` is one of psycopg's: it yields what to wait for, and is sent whether that is ready.
    """
    ask_at = time.monotonic() + ASK_AFTER
    is_suspected = False
    try:
        awaited = next(gen)
        while True:
            ready = yield awaited
            if ready:
                ask_at, is_suspected = time.monotonic() + ASK_AFTER, False
            elif time.monotonic() >= ask_at:
                is_idle = _is_idle(connection)
                if is_idle and is_suspected:
                    raise NotWorking("PostgreSQL does not work on this statement any more")
                is_suspected = is_idle
                ask_at = time.monotonic() + (ANSWER if is_idle else ASK_AFTER)
            awaited = gen.send(ready)
    except StopIteration as end:
        return end.value


def stop(connection: psycopg.Connection[Any], seconds: float) -> None:
    """Have the server cancel what the connection waits for, unless that is its standby.

    ``seconds``: how long it has waited. Behind a pooler, or without another session, the statement
    runs to its end.
    """
    with suppress(psycopg.Error), _another(connection, CANCEL) as other:
        other.execute(STOP, [connection.info.backend_pid, seconds * SLACK])


@contextmanager
def _another(
    connection: psycopg.Connection[Any], seconds: float
) -> Iterator[psycopg.Connection[Any]]:
    """Another session of the same server. Raises OperationalError behind a pooler."""
    values = connector_params() | {"connect_timeout": CANCEL}
    with type(connection).connect(**values, autocommit=True) as other:
        other.deadline, other.asks = seconds, True  # type: ignore[attr-defined]
        if other.execute("select pg_backend_pid()").fetchone() != (other.info.backend_pid,):
            raise psycopg.OperationalError("a pooler makes its own numbers")
        yield other


def _is_idle(connection: psycopg.Connection[Any]) -> bool:
    """Whether its session is gone or waits for a statement. False if that cannot be said."""
    try:
        with _another(connection, ANSWER) as other:
            row = other.execute(STATE, [connection.info.backend_pid]).fetchone()
    except psycopg.Error:
        return False
    return row is None or row[0] in IDLE
