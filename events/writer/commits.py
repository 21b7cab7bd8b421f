"""Commits: the writer's thread. Appends a group of batches in one transaction.

- A small group, with what goes along, is one message, which PostgreSQL makes one transaction. By
  itself it would be a BEGIN, the fence, the COPY with an exchange of its own, each run's end, and a
  COMMIT: on a busy machine the writer waits for a processor after each. If runs end with it, what
  there is to do behind the commit is asked in the same message, too.
- A batch that cannot be stored ends only its own run: the group is repeated run by run. A run alone
  is repeated as well, since the fault can be its session's.
- A lock that another transaction holds delays only the run that needs it: ``Blocked``, and the
  writer tries that run again by itself. Nobody else's events wait for it.
- If the answer to a commit was lost, the database is asked whether it happened: see ``_transact``.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, cast
from uuid import UUID

import structlog
from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction
from psycopg.errors import DiskFull, LockNotAvailable
from psycopg.pq import TransactionStatus

from agui_host.backends.postgres import roles
from agui_host.backends.postgres.base import own_connection
from agui_host.backends.postgres.deadlines import Demoted
from agui_host.protocol.errors import HostError
from events import journal
from events.journal import Batch
from events.writer.lease import Also, AppendFailed, LostLease, Statement, joined

log = structlog.get_logger(__name__)

RETRY_SECONDS = (0.05, 0.2, 0.5, 1.0)
DEADLINE = 8.0
TRANSACTION_SECONDS = 30
GROUP_WAITS, ALONE_WAITS = "50ms", "20ms"
"""Timeouts for a lock: all runs of the worker wait for a group, and for a run tried alone."""
SMALL_EVENTS, SMALL_BYTES = 64, 64 * 1024
"""The most that a small group has; for more, COPY is quicker."""
APPEND = f"""
select agui_append({journal.FENCE_VALUES},
                   %(numbers)s::int4[], %(seqs)s::int4[], %(moments)s::float8[],
                   %(types)s::text[], %(payloads)s::text[])
"""
REFUSED = {"AG005", "AG006"}

Work = list[tuple[Batch, list[Also]]]


class NotInOneMessage(Exception):
    """Nothing is stored: some run is another writer's, or has ended. Control flow."""


class Blocked:
    """Another transaction holds a row that this run needs: try again later."""


Verdicts = dict[UUID, HostError | Blocked | None]


Look = Callable[[Sequence[UUID]], Statement]
"""A statement whose rows are the work to do now that these journals have ended."""


class Committer:
    """All of its methods are called in one thread, whose connection is its own.

    ``to_look_at`` are journals that ended with the last commits, and ``rows`` what ``look`` has
    returned for others that did.
    """

    def __init__(self, look: Look | None = None) -> None:
        self._look = look
        self.to_look_at: list[UUID] = []
        self.rows: list[Any] = []

    def commit(self, work: Work, *, alone: bool = False, again: bool = False) -> Verdicts:
        """Store the batches, and the statements of each; a verdict per journal.

        ``alone`` is for a run that was blocked before: it waits more briefly. ``again`` is for a
        run that was refused before.
        """
        if not work:
            return {}
        self._connect()
        for delay in (*RETRY_SECONDS, None):
            try:
                return self._with_room(work, alone)
            except (OperationalError, InterfaceError) as error:
                if isinstance(error.__cause__, LockNotAvailable):
                    return self._apart(work)
                self._reconnect(error, delay or RETRY_SECONDS[-1])
                if delay is None:
                    return self._one_by_one(work, error, again)
            except Exception as error:
                return self._one_by_one(work, error, again)
        raise AssertionError("unreachable")

    def _with_room(self, work: Work, alone: bool) -> Verdicts:
        """``_transact``, repeated while the disk is full or the server is read-only or away."""
        while True:
            try:
                return self._transact(work, alone)
            except OperationalError as error:
                if not isinstance(error.__cause__, DiskFull | Demoted):
                    raise
                full = isinstance(error.__cause__, DiskFull)
                log.warning("writer.disk_full" if full else "writer.read_only", error=str(error))
                if not full:
                    connection.close()  # outside of a transaction Django does not see that it is
                time.sleep(RETRY_SECONDS[-1])

    def _transact(self, work: Work, alone: bool) -> Verdicts:
        """Fence, COPY, and the statements with them; a small group in one message if it can.

        A batch that the fence leaves out belongs to another writer, or an earlier attempt committed
        it and the answer was lost. That attempt may still have been running when the fence asked:
        then the fence waited for its row lock. So ``confirm`` asks after the fence, in a separate
        statement, whose snapshot contains that commit.

        The rest (``also``) was committed with the batch, so it does not run again.
        """
        batches = [batch for batch, _ in work]
        if not alone and is_small(work):
            with suppress(NotInOneMessage):
                self.rows += store_in_one_message(work, self._look)
                return dict.fromkeys(batch.journal_id for batch in batches)
        with transaction.atomic():
            if alone:
                with connection.cursor() as cursor:
                    cursor.execute(f"set local lock_timeout = '{ALONE_WAITS}'")
            stored = journal.append(batches)
            for batch, also in work:
                if batch.journal_id in stored:
                    for verb in also:
                        verb()
            left = [batch for batch in batches if batch.journal_id not in stored]
            if left:
                stored = stored | journal.confirm(left)
        self.to_look_at += [
            batch.journal_id for batch in batches if batch.final and batch.journal_id in stored
        ]
        return {
            batch.journal_id: None if batch.journal_id in stored else LostLease()
            for batch in batches
        }

    def _apart(self, work: Work) -> Verdicts:
        """Find the blocked runs: plain events together, then each run that writes more rows."""
        if len(work) == 1:
            return {work[0][0].journal_id: Blocked()}
        plain = [item for item in work if not item[1]]
        rest = [item for item in work if item[1]]
        if not plain or not rest:
            plain, rest = [], work
        verdicts = self.commit(plain, alone=True)
        for item in rest:
            verdicts |= self.commit([item], alone=True)
        return verdicts

    def _one_by_one(self, work: Work, error: Exception, again: bool) -> Verdicts:
        """Give each run its own transaction, so that only a run that is refused twice fails."""
        if again:
            log.error("writer.refused", journal=str(work[0][0].journal_id), exc_info=error)
            return {work[0][0].journal_id: AppendFailed()}
        if len(work) == 1:
            log.warning("writer.refused_once", error=repr(error))
            connection.close()
        verdicts: Verdicts = {}
        for item in work:
            verdicts |= self.commit([item], again=True)
        return verdicts

    def _connect(self) -> None:
        """A connection outside the pool, named so that a takeover can find it."""
        own_connection(
            journal.WRITER_APPLICATION,
            deadline=DEADLINE,
            transaction_seconds=TRANSACTION_SECONDS,
            lock_timeout=GROUP_WAITS,
            part=roles.WRITER,
        )

    def _reconnect(self, error: Exception, pause: float) -> None:
        """Return once a connection works.

        A new connection has ended whatever the lost one was still doing. With a connection pooler
        that is impossible: then these runs are ``Blocked`` for a while.
        """
        while not _usable():
            log.warning("writer.reconnecting", error=str(error))
            connection.close()
            time.sleep(pause)


def _usable() -> bool:
    try:
        connection.ensure_connection()
        return connection.is_usable()
    except (OperationalError, InterfaceError):
        return False


def is_small(work: Work) -> bool:
    """Whether these batches are few and small, and everything else is a statement."""
    return (
        sum(len(batch.records) for batch, _ in work) <= SMALL_EVENTS
        and sum(batch.bytes for batch, _ in work) <= SMALL_BYTES
        and all(isinstance(verb, Statement) for _, also in work for verb in also)
    )


def store_in_one_message(work: Work, look: Look | None = None) -> list[Any]:
    """Store a group that ``is_small``, outside of a transaction. Raises NotInOneMessage.

    Returns the rows of what ``look`` asks for the journals that ended, after the commit.
    """
    batches = [batch for batch, _ in work]
    statements = [_append(batches)]
    statements += [cast("Statement", verb) for _, also in work for verb in also]
    message, results = joined(statements), len(statements)
    ended = [batch.journal_id for batch in batches if batch.final]
    asks = look is not None and bool(ended)
    if look is not None and asks:
        question = look(ended).marked("look__")
        sql = f"begin;{message.sql};commit;{question.sql}"
        message, results = Statement(sql, message.values | question.values), results + 3
    try:
        with connection.cursor() as cursor:
            cursor.execute(message.sql, message.values)
            for _ in range(1, results):
                cursor.nextset()
            return cursor.fetchall() if asks else []
    except DatabaseError as error:
        if asks and _is_stored(batches):
            log.exception("writer.look_failed")  # behind the commit
            return []
        if getattr(error.__cause__, "sqlstate", None) in REFUSED:
            raise NotInOneMessage from None
        raise


def _is_stored(batches: Sequence[Batch]) -> bool:
    """After an error: whether it came behind the COMMIT. Ends the BEGIN if it came before.

    False also where that is unknown: the next try asks.
    """
    raw = connection.connection
    if raw is None or raw.closed:
        return False
    if raw.pgconn.transaction_status != TransactionStatus.IDLE:
        with connection.wrap_database_errors:  # A connection that breaks here is tried again too.
            raw.rollback()
        return False
    # The COMMIT itself can have failed, by a constraint that is deferred to it.
    return len(journal.confirm(batches)) == len(batches)


def _append(batches: Sequence[Batch]) -> Statement:
    events = [
        (number, seq, record.at, record.type, record.payload.decode())
        for number, batch in enumerate(batches, 1)
        for seq, record in enumerate(batch.records, batch.first)
    ]
    names = ("numbers", "seqs", "moments", "types", "payloads")
    columns = dict(zip(names, map(list, zip(*events, strict=True)), strict=True))
    return Statement(APPEND, journal.fence_values(batches) | columns)
