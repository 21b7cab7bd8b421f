"""The runs that one run has started: how they begin, and that they end before it does.

A child lives in its parent's worker (``lifecycle.spawn``). So whatever ends the parent can end the
children, and if a worker dies, the reaper finds all of them at once. If the parent and the child
continue, the parent's next attempt gets the child when it starts it again. A parent reads its
children's events from the journal: it sees what every reader sees, and never more.
"""

import asyncio
import functools
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Collection,
    Coroutine,
    Mapping,
)
from contextlib import aclosing, asynccontextmanager
from typing import Any
from uuid import UUID

import structlog
from django.db import DatabaseError

from agui_host.backends import apart
from agui_host.backends.epochs import Reset
from agui_host.backends.postgres import clock
from agui_host.backends.postgres.bridge import db, db_read
from agui_host.protocol import patient_json
from agui_host.protocol.errors import HostError, RunErrorCode, RunFailed
from agui_host.protocol.input import run_agent_input
from agui_host.protocol.input.run_agent_input import OnBusy
from agui_host.protocol.sizes import LongEvent
from agui_host.runtimes.models import Agent
from agui_host.runtimes.versions.codes import code_of
from agui_host.teams.limits import LimitReached
from events.follow import follow
from events.models import Journal
from runs.access import context
from runs.lifecycle import descendants, lifecycle
from runs.lifecycle.lifecycle import Claimed
from runs.lifecycle.recovery import continuing, families
from runs.models import Run
from runs.worker.agent import late

log = structlog.get_logger(__name__)

MOST, DEEPEST = 16, 4
"""Children of one run at once, and how many runs may be above a child."""
LOOK_EVERY = 1.0  # seconds between looks for children that were asked to stop

Claiming = Callable[[], Coroutine[Any, Any, Claimed | None]]
Execute = Callable[[Claiming], Coroutine[Any, Any, None]]


class SpawnedRun:
    """A child as its parent's agent uses it (``agui_host.runtimes.context.spawn.ChildRun``)."""

    def __init__(self, run: Run) -> None:
        self.agent = run.agent.slug
        self.id = str(run.pk)
        self.thread_id = run.thread.thread_id
        self.run_id = run.run_id
        self._events = _events(run)
        self._last: dict[str, Any] = {}

    def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        return self

    async def __anext__(self) -> dict[str, Any]:
        self._last = await anext(self._events)
        return self._last

    async def end(self) -> dict[str, Any]:
        """Wait for the child's end; its terminal event."""
        async for _ in self:
            pass
        return self._last

    async def close(self) -> None:
        """Stop reading; the child continues."""
        await self._events.aclose()


class Children:
    """The children of one run that have not ended."""

    def __init__(self, parent: Claimed, execute: Execute) -> None:
        """``execute`` makes the claim and runs the child; it can be cancelled."""
        self._parent = parent.run
        self._generation = parent.claim.generation
        self._recovered = isinstance(parent, continuing.Continued)
        self._execute = execute
        self._taken: set[UUID] = set()
        self._turn = asyncio.Lock()
        self._tasks: dict[asyncio.Task[None], UUID | None] = {}
        self._closed = False
        self._watching: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def spawn(self, agent: str, input: Mapping[str, Any]) -> AsyncGenerator[SpawnedRun, None]:
        """Start the child; leaving the block before its end cancels it. Raises RunFailed."""
        if self._closed:
            raise asyncio.CancelledError  # The parent is being stopped.
        if len(self._tasks) >= MOST:
            raise RunFailed(
                RunErrorCode.LIMIT,
                f"A run can have at most {MOST} other runs at work for it at once.",
            )
        begun: asyncio.Future[Run] = asyncio.get_running_loop().create_future()
        claiming = functools.partial(self._begin, agent, input, begun)
        name = f"child {agent} of run {self._parent.pk}"
        task = asyncio.create_task(self._execute(claiming), name=name)
        self._tasks[task] = None
        task.add_done_callback(self._forget)
        try:
            either: set[asyncio.Future[Any]] = {task, begun}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not begun.done():
                raise asyncio.CancelledError  # Stopped before it began.
            run = begun.result()
            if not task.done():
                self._tasks[task] = run.pk
                self._watch()
            child = SpawnedRun(run)
            try:
                yield child
            finally:
                await child.close()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
            if begun.done():
                begun.exception()  # A parent that was stopped did not ask for this.

    async def _begin(
        self, agent: str, input: Mapping[str, Any], begun: asyncio.Future[Run]
    ) -> Claimed | None:
        """None for a child that has ended in an earlier attempt: its log is there."""
        try:
            async with self._turn:
                run, claimed = await db(self._start, agent, input)
                self._taken.add(run.pk)
        except Exception as error:
            begun.set_exception(_safe(agent, error))
            raise
        begun.set_result(run)
        return claimed

    def _start(self, agent: str, input: Mapping[str, Any]) -> tuple[Run, Claimed | None]:
        # A worker that has lost the parent, and does not know it yet, starts no other runs.
        if not Journal.objects.filter(pk=self._parent.pk, writer=self._generation).exists():
            raise RunFailed(RunErrorCode.WORKER_LOST, "Another worker has this run.")
        return start(self._parent, agent, input, self._taken if self._recovered else None)

    def stop(self) -> None:
        """Cancel the children, and take no more."""
        self._closed = True
        for task in self._tasks:
            task.cancel()

    async def close(self, *, ends: bool) -> None:
        """Return when all of them have ended; new ones are refused.

        ``ends``: so does the parent, and with it children that wait for another attempt of it.
        """
        self.stop()
        if self._watching is not None:
            self._watching.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks))
        if ends and self._parent.agent.continues and (self._recovered or self._taken):
            try:
                await db(families.end_waiting, self._parent, self._generation)
            except (DatabaseError, HostError) as error:
                # The reaper ends them after the parent.
                log.info("child.not_ended", parent=str(self._parent.pk), error=repr(error))

    def _forget(self, task: "asyncio.Task[None]") -> None:
        del self._tasks[task]
        late.forget(task)  # The agent learns of it by ``begun``, or the child's own log has it.

    def _watch(self) -> None:
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._look(), name="children-asked-to-stop")

    async def _look(self) -> None:
        """A cancel of a child tells no worker: look for it."""
        while self._tasks:
            await asyncio.sleep(LOOK_EVERY)
            stopping = await db_read(_asked_to_stop, [key for key in self._tasks.values() if key])
            for task, key in self._tasks.items():
                if key in stopping:
                    task.cancel()


def start(
    parent: Run, slug: str, input: Mapping[str, Any], taken: Collection[UUID] | None = None
) -> tuple[Run, Claimed | None]:
    """Start and claim a run of the parent's team. Raises NotFound, RunFailed, as ``spawn``.

    It gets a new thread, unless ``threadId`` names a thread that the parent's thread began. In a
    further attempt of the parent, whose children are ``taken``, a child of an earlier one with this
    agent and input is claimed in its place; there is no claim if it has ended.
    """
    agent = Agent.objects.for_team(parent.team).filter(enabled=True, slug=slug).first()
    if agent is None:
        raise RunFailed(RunErrorCode.AGENT_ERROR, f"This team has no agent {slug!r}.")
    if descendants.depth(parent) >= DEEPEST:
        raise RunFailed(RunErrorCode.LIMIT, f"Runs can start others at most {DEEPEST} levels deep.")
    thread_id = input.get("threadId")
    if thread_id is not None and not descendants.began(parent, str(thread_id)):
        raise RunFailed(RunErrorCode.AGENT_ERROR, "This thread did not start that one.")
    own, handed = context.apart(parent, input.get("context"))
    body = {**input, "context": own, "parentRunId": parent.run_id}
    request = run_agent_input.parse(body, on_busy=OnBusy.REJECT)
    if taken is not None:
        earlier = families.of_earlier_attempt(parent, agent, request.digest, taken)
        if earlier is not None:
            # Before the claim: until then the reaper leaves a child that waits alone.
            Run.objects.already_found().filter(pk=earlier.pk).update(worker=parent.worker)
            return earlier, continuing.claim(earlier.pk, clock.now(), code_of(agent))
    claimed = lifecycle.spawn(parent, agent, request)
    context.hand_on(claimed.run, handed)
    return claimed.run, claimed


def _safe(agent: str, error: Exception) -> RunFailed:
    """The message for the parent's agent; messages of HostErrors are safe to show."""
    if isinstance(error, RunFailed):
        return error
    if not isinstance(error, HostError):
        log.error("child.not_started", agent=agent, exc_info=error)
    reason = RunErrorCode.LIMIT if isinstance(error, LimitReached) else RunErrorCode.AGENT_ERROR
    message = str(error) if isinstance(error, HostError) else "the host could not start it."
    return RunFailed(reason, f"Agent {agent!r}: {message}")


def _asked_to_stop(keys: list[UUID]) -> set[UUID]:
    rows = Run.objects.of_any_team().filter(pk__in=keys, cancel_requested_at__isnull=False)
    return set(rows.values_list("pk", flat=True))


async def _events(run: Run) -> AsyncGenerator[dict[str, Any], None]:
    memory = apart.memory()
    try:
        async with aclosing(follow(run.pk)) as pages:
            async for frames in pages:
                for payload in (frames and frames.payloads) or ():
                    if len(payload) > apart.SMALL:  # counted for the parent, until the next event
                        values = await apart.values_of(run.team_id, payload)
                        size = len(payload) + apart.VALUE_BYTES * values
                        await memory.room(size)
                        memory.note(run.pk, size)
                    else:
                        memory.note(run.pk, 0)
                    yield await _parsed(run.team_id, payload)
    except Reset as error:
        raise _safe(run.agent.slug, error) from error
    finally:
        memory.note(run.pk, 0)


async def _parsed(team: UUID, payload: bytes) -> dict[str, Any]:
    if len(payload) <= apart.SMALL:
        event: dict[str, Any] = patient_json.loads(payload)
        return event
    return LongEvent(await apart.in_turn(team, functools.partial(patient_json.loads, payload)))
