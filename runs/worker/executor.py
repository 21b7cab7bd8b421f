"""execute: one claimed run, from the agent's first event to the stored terminal one.

The agent runs in a task of its own, so that a stop (cancel, shutdown, timeout) never hits the code
that ends the run. Whatever the agent does, exactly one terminal event is appended, in the
transaction that stores the run's status.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import aclosing, suppress
from enum import Enum
from functools import partial
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError

from agui_host.backends import apart, metrics
from agui_host.backends.postgres import clock, scope
from agui_host.backends.postgres.bridge import db
from agui_host.protocol.encoding import Record
from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.protocol.intake import endings
from agui_host.protocol.intake.intake import Intake
from agui_host.protocol.sizes import LongEvent
from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.kinds.table import runtime_for
from agui_host.runtimes.middleware.chain import Chain
from agui_host.runtimes.options import BadOptions
from agui_host.security.secrets import SecretUnreadable
from events import findings, outlines
from events.checkpoints import Checkpointer
from events.writer import JournalWriter
from events.writer.lease import Also, AppendFailed, Lease, LostLease
from runs.lifecycle import history, jobs, lifecycle
from runs.lifecycle.ingest import batches, intakes
from runs.lifecycle.lifecycle import Claimed
from runs.lifecycle.recovery.continuing import Continued
from runs.lifecycle.statuses import log_end
from runs.lifecycle.usage import team_prices
from runs.worker import failures, traces
from runs.worker.agent import end_state, inboxes, late
from runs.worker.budgets.watch import Spent, Watch
from runs.worker.children import Children
from runs.worker.continuing import contexts, leaving
from runs.worker.pace import Pace, Work

log = structlog.get_logger(__name__)
CLAIM_PAUSE = 0.5
ERROR = RunErrorCode.AGENT_ERROR


class Stop(Enum):
    """The reason for which an executor ends a run early."""

    CANCEL = "cancel"
    SHUTDOWN = "shutdown"


async def execute_claim(
    claim: Callable[[], Coroutine[Any, Any, Claimed | None]],
    writer: JournalWriter,
    why: Callable[[], Stop],
    *,
    retry_seconds: float = 0.0,
    traceparent: str | None = None,
) -> None:
    """Claim a run and execute it; does nothing if the run is no longer queued.

    While the database is away or refuses connections, the claim is tried again for
    ``retry_seconds``; it must recognise an earlier attempt of its own. A stop may arrive while the
    claim runs in a thread, where it cannot be interrupted: so the claim is awaited, and the run
    then ends as stopped.
    """
    until, stopped = time.monotonic() + retry_seconds, False
    while True:
        claiming = asyncio.create_task(claim())
        while not claiming.done():
            try:
                await asyncio.wait({claiming})
            except asyncio.CancelledError:
                stopped = True
        error = claiming.exception()
        away = isinstance(error, OperationalError | InterfaceError)
        if not away or stopped or time.monotonic() > until:
            break
        log.warning("run.claimed_again", error=str(error))
        await asyncio.sleep(CLAIM_PAUSE)
    claimed = claiming.result()
    if claimed and not claimed.run.agent.is_fed:
        await execute(claimed, writer, why, stopped=stopped, traceparent=traceparent)
        return
    if claimed:
        with suppress(lifecycle.IllegalTransition):  # It was cancelled at this moment.
            await db(batches.begin, claimed)
    if stopped:
        raise asyncio.CancelledError


async def execute(
    claimed: Claimed,
    writer: JournalWriter,
    why: Callable[[], Stop],
    *,
    stopped: bool = False,
    traceparent: str | None = None,
) -> None:
    """Run a claimed run to its end. ``why`` explains a cancellation of the calling task.

    ``stopped``: the cancellation came before the claim was done. Raises CancelledError only after
    the run's end is stored.
    """
    team = claimed.run.team_id
    with scope.limited(team), apart.keeping(team, claimed.run.pk):  # also in tasks
        execution = Execution(claimed, writer, traceparent)
        task = asyncio.ensure_future(execution.drive())
        task.add_done_callback(lambda _: metrics.runs.dec())
        metrics.runs.inc()
    if stopped:
        execution.stop(why())
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            stopped = True
            execution.stop(why())
    task.result()
    if stopped:
        raise asyncio.CancelledError


class Execution:
    """One run in this worker."""

    def __init__(
        self, claimed: Claimed, writer: JournalWriter, traceparent: str | None = None
    ) -> None:
        self.claimed, self.run = claimed, (run := claimed.run)
        self.writer = writer
        self.lease: Lease = writer.open(claimed.claim)
        self.children = Children(claimed, lambda claim: execute_claim(claim, writer, self._why))
        self.questions = claimed.questions
        limits, prepared = claimed.limits, claimed.prepared
        self.input, self.opening = prepared.input, claimed.opening
        self.intake = claimed.intake or intakes.new(
            Intake, run, limits, prepared.echo, prepared.history
        )
        # The run's base is the thread's history, which does not change while the run lives.
        base = partial(history.current, run.thread_id)
        self.checkpoints = Checkpointer(run.pk, base, run.team_id)
        self.trace = traces.of(run, traceparent)
        self.chain: Chain | None = None
        self.ctx: RunContext | None = None
        self.spent: Callable[[], dict[str, Any]] = dict
        self.error: BaseException | None = None
        self.watch = Watch(run)
        timeout = run.agent.timeout_seconds or settings.AGUI_RUN_TIMEOUT
        self.limit = min(limits.run_seconds or timeout, timeout)
        self.pace, self.prices = Pace(limits.events_per_second), team_prices.usual()
        self.work = Work(run.team_id, self.intake, len(run.input) + prepared.memory)
        self.stopping: asyncio.Future[Stop] = asyncio.get_running_loop().create_future()
        self.log = log.bind(run=str(run.pk), agent=run.agent.slug)

    def stop(self, why: Stop) -> None:
        """Ask for an early end; the first reason counts."""
        if not self.stopping.done():
            self.stopping.set_result(why)

    def _why(self) -> Stop:
        # Why the children end: the worker is leaving, or the parent no longer needs them.
        return self.stopping.result() if self.stopping.done() else Stop.CANCEL

    async def drive(self) -> None:
        """Start, pump the agent, end. LostLease means that another process has ended the run."""
        try:
            self._open()
            if self.questions and not self.stopping.done():
                # Repeat the thread's open questions, which this run does not answer.
                again = {"type": "interrupt", "interrupts": self.questions}
                self._append(self.intake.finish(again))
            else:
                how = await self._work()
                await self.children.close(ends=how is not Stop.SHUTDOWN)
                await self._end(how)
            await self._ended()
            await self._settle()
        except LostLease:
            self.log.warning("run.lost_lease")
        except AppendFailed:
            await self._end_refused()
        finally:
            inboxes.inboxes().close(self.run.pk)
            self.work.close(self.error)
            if self.trace is not None:
                self.trace.close()
            await self.checkpoints.close()
            self.error = None  # Its frames hold this execution, and the event that failed.

    def _open(self) -> None:
        """Begin the log, unless the claim has."""
        if not self.intake.started:
            self._append(intakes.opening(self.intake, self.input["state"]))
        elif self.opening is not None:
            self.writer.announce(self.opening)
            self._note(self.opening.records, self.opening.bytes)
        elif isinstance(self.claimed, Continued):
            self._append(self.claimed.records)

    async def _ended(self) -> None:
        """Wait until the end is committed."""
        await self.lease.flush()
        if (terminal := self.intake.terminal) is not None:
            log_end(self.run, terminal, self.lease.head)
            if self.trace is not None:
                self.trace.end(terminal)
            if self.lease.head >= outlines.WORTH_STORING:
                await self._outline()

    async def _outline(self) -> None:
        """A job of its own: the thread's next run does not wait for it."""
        try:
            await db(jobs.store_outline, self.run.pk, self.lease.head)
        except DatabaseError as error:
            self.log.warning("outline.not_deferred", error=str(error))

    async def _settle(self) -> None:
        """Store a long log's fold within its own job, so that the thread's next claim finds it."""
        if self._why() is Stop.SHUTDOWN:
            return
        store = partial(history.current, self.run.thread_id)
        settling = asyncio.ensure_future(self.checkpoints.settle(store))
        ends: set[asyncio.Future[Any]] = {settling}
        if not self.stopping.done():
            ends.add(self.stopping)
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)

    async def _work(self) -> BaseException | Stop | None:
        """Pump until the agent is done or told to stop; returns how it went."""
        name = f"agent {self.run.agent.slug} of run {self.run.pk}"
        context = None if self.trace is None else self.trace.around_agent()
        pump = asyncio.create_task(self._pump(), name=name, context=context)
        if not self.stopping.done():
            ends: set[asyncio.Future[Any]] = {pump, self.stopping}
            await asyncio.wait(ends, timeout=self.limit, return_when=asyncio.FIRST_COMPLETED)
        if pump.cancelled():
            return self.watch.spent or RunFailed(ERROR, "The agent cancelled itself.")
        if pump.done():
            return pump.exception()
        if self._why() is Stop.SHUTDOWN:
            await leaving.settle(self.run, self.ctx)
            if pump.done() and not pump.cancelled():
                return pump.exception()
        self.children.stop()
        pump.cancel()
        await asyncio.wait({pump}, timeout=settings.AGUI_CANCEL_GRACE)
        if not pump.done():
            # It swallowed the cancellation: whatever it emits from now on meets a closed intake.
            self.log.error("run.agent_ignores_cancel")
            pump.add_done_callback(late.forget)
        elif not pump.cancelled() and isinstance(pump.exception(), LostLease | AppendFailed):
            return pump.exception()
        if self.stopping.done():
            return self.stopping.result()
        return RunFailed(RunErrorCode.TIMEOUT, f"The run took longer than {self.limit:g} seconds.")

    async def _pump(self) -> None:
        """Agent → runtime → middleware → intake → writer; nothing after the terminal event."""
        lease, pace, intake = self.lease, self.pace, self.intake
        self.prices = await team_prices.loaded(self.run.team_id)
        ctx = await contexts.make(self.claimed, self.input, self.children.spawn, lease, intake)
        self.ctx, self.spent = ctx, ctx.spent
        accept, further, replicas, work = intake.accept, intake.further, intake.replicas, self.work
        if lease.full:
            await lease.room()  # Free the echo: an input may be megabytes.
        stream = await self.watch.stream(runtime_for(self.run.agent).run(ctx), ctx)
        # The stream's next events, unless they are middleware's.
        queue = None if self.run.agent.middleware else ctx.outbox.queue
        if queue is None:
            stream = self._chained(stream, ctx)
        async with aclosing(stream) as events:
            async for event in events:
                is_long = event.__class__ is LongEvent
                records = await work.long(partial(accept, event)) if is_long else accept(event)
                while True:
                    size = self._append(records)
                    if intake.ended:
                        return
                    pace.left -= len(records)
                    due = work.add(records, 0 if is_long else size, replicas.work)
                    records, is_long = [], False  # A run that rests holds no long event.
                    if due:
                        await work.settle()
                    replicas.work = 0
                    if pace.left < 0:
                        await pace.wait()
                    if lease.full:
                        await lease.room()
                    records = further(queue, min(lease.left, pace.left + 1)) if queue else []
                    if not records:
                        break

    def _chained(self, stream: AsyncGenerator[Any, None], ctx: RunContext) -> Any:
        try:
            self.chain = Chain(self.run.agent.chain(), ctx)
        except (BadOptions, SecretUnreadable) as bad:
            raise RunFailed(ERROR, f"The agent's middleware cannot run: {bad}") from None
        return self.chain.stream(self._plain(stream))

    async def _plain(self, stream: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        # Events as middleware reads them: checked dicts in wire form, without chunks.
        async with aclosing(stream) as events:
            async for event in events:
                is_long, read = event.__class__ is LongEvent, partial(self.intake.plain, event)
                for plain in await self.work.apart(read) if is_long else read():
                    yield plain

    def _rest(self) -> None:
        """The remaining events of middleware if the agent did not finish."""
        try:
            for event in self.chain.rest() if self.chain else ():
                self._append(self.intake.accept(event))
        except (LostLease, AppendFailed):
            raise
        except Exception:
            # Nothing that middleware does may keep a run from ending.
            self.log.exception("run.middleware_rest")

    async def _end(self, how: BaseException | Stop | None) -> None:
        if isinstance(how, LostLease | AppendFailed):
            raise how
        if how is not None and not self.intake.ended:
            self._rest()
        if self.intake.ended:
            return
        self.error = how if isinstance(how, BaseException) else None
        match how:
            case None:
                self._append(endings.end(self.intake))
            case Stop.CANCEL:
                self._append(self.intake.cancel(**self.spent()))
            case Stop.SHUTDOWN if await leaving.handed_over(self.run, self.lease):
                return
            case Stop.SHUTDOWN:
                self._fail(RunErrorCode.SHUTDOWN, "The worker was shut down during this run.")
            case Spent(question=dict(asked)):
                self._append(self.intake.finish({"type": "interrupt", "interrupts": [asked]}))
            case RunFailed():
                self.log.warning("run.failed", reason=how.reason, message=how.message)
                self._fail(how.reason, how.message)
            case _:
                self.log.error("run.agent_raised", exc_info=how)
                self._fail(
                    ERROR, "The agent stopped with an error; the host's log has the details."
                )

    async def _end_refused(self) -> None:
        """The database stored everything but the last batch: end after the stored part."""
        self.lease.reopen()
        self.intake = Intake.reopened(
            self.run.thread.thread_id,
            self.run.run_id,
            head=self.lease.head,
            clock=clock.seconds,
        )
        self._fail(RunErrorCode.INVALID_EVENT, "An event of the agent could not be stored.")
        await self._ended()

    def _fail(self, reason: RunErrorCode, message: str) -> None:
        self._append(self.intake.fail(reason, message, **self.spent()))

    def _append(self, records: Sequence[Record]) -> int:
        intake, lease = self.intake, self.lease
        also: list[Also] = []
        if (ctx := self.ctx) is not None and ((inbox := ctx.inbox).read or inbox.accepted):
            also += inboxes.noted(lease, inbox, records)
        if intake.terminal is not None or intake.findings.new:
            also += self._also()
        size = lease.append(records, also)
        self._note(records, size)
        return size

    def _note(self, records: Sequence[Record], size: int) -> None:
        self.checkpoints.note(len(records), size)
        if self.trace is not None:
            self.trace.note(records)

    def _also(self) -> list[Also]:
        """What shares the records' transaction: findings and, with the end, the run's status."""
        also: list[Also] = []
        if new_findings := end_state.findings(self.run.agent, self.intake, self.lease):
            also.append(partial(findings.store, self.run.pk, new_findings))
        if (terminal := self.intake.terminal) is not None:
            tally = self.intake.tally
            also.append(lifecycle.finishing(self.run.pk, terminal, tally, self.prices))
            if terminal["type"] == "RUN_ERROR":
                lines = () if self.ctx is None else tuple(self.ctx.log_lines)
                also.append(failures.storing(self.run, self.error, lines))
        return also
