"""Whether PostgreSQL still works on a statement that may take minutes.

After a failover without resets nobody will answer it, and its deadline is far away. Another session
can tell: the server lists what each of its sessions does.
"""

import time
from collections.abc import Generator
from typing import Any

import psycopg
from procrastinate.contrib.django.utils import connector_params

ASK_AFTER = 10.0  # seconds of a wait between two questions
ANSWER = 3.0
"""Seconds for an answer that is under way, and for that to the question itself."""
STATE = "select state from pg_stat_activity where pid = %s"
IDLE = frozenset({"idle", "idle in transaction", "idle in transaction (aborted)"})


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


def _is_idle(connection: psycopg.Connection[Any]) -> bool:
    """Whether its session is gone or waits for a statement. False if that cannot be said."""
    try:
        with type(connection).connect(**connector_params(), autocommit=True) as other:
            other.deadline = ANSWER  # type: ignore[attr-defined]
            if other.execute("select pg_backend_pid()").fetchone() != (other.info.backend_pid,):
                return False  # a pooler is in between, which makes numbers of its own
            row = other.execute(STATE, [connection.info.backend_pid]).fetchone()
    except psycopg.Error:
        return False
    return row is None or row[0] in IDLE
