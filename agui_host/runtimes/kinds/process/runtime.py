"""The ``process`` kind: a command line whose output is the stream. docs/howto-process.md."""

import asyncio
import json
import os
import re
import shutil
import signal
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agui_host.backends import apart
from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.runtimes.context.files import inlined
from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.kinds.again import Again
from agui_host.runtimes.kinds.kind import BadSettings
from agui_host.runtimes.kinds.process import confine, worktree
from agui_host.runtimes.kinds.process.command import Command, is_there
from agui_host.runtimes.kinds.process.confine import Means
from agui_host.runtimes.kinds.process.guarded_command import GuardedCommand
from agui_host.runtimes.kinds.process.lines import Lines
from agui_host.runtimes.kinds.process.place import Place
from agui_host.runtimes.kinds.process.steering import steering_of
from agui_host.runtimes.kinds.steering import Said, Steering

if TYPE_CHECKING:
    from agui_host.runtimes.models import Agent

MAX_REASON = 200
LINES = "lines"
"""The part of a live run that is lines of its command without their end."""
MAX_NOTE = 8 * 1024  # bytes of stderr that wait for their newline
Read = Callable[[], Awaitable[tuple[str, bytes] | Said | None]]
CONTROL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[\x00-\x1f\x7f-\x9f]+")


class ProcessRuntime:
    """Runs one command line per run, and leaves nothing of it behind."""

    kind = "process"

    def __init__(self, command: Command) -> None:
        self._command = command

    @classmethod
    def of(cls, row: "Agent") -> "ProcessRuntime":
        """The runtime of an Agent row; raises RunFailed if its settings are wrong."""
        try:
            return cls(Command.of(row.settings))
        except BadSettings as bad:
            raise RunFailed(
                RunErrorCode.AGENT_ERROR, f"This agent is not configured correctly: {bad}."
            ) from None

    async def run(self, ctx: RunContext) -> AsyncGenerator[Any, None]:
        """The command's output as events, and how it ended."""
        from django.conf import settings

        command, data = self._command, settings.AGUI_DATA_DIR
        below = _worktree(ctx)
        if command.directory == "thread":
            place = Place.of_thread(data, ctx.team, ctx.agent, ctx.thread_id)
        else:
            place = Place.of_run(data)
        keep = settings.AGUI_PROCESS_KEEP or not place.passing
        child: GuardedCommand | None = None
        steering: Steering | None = None
        try:
            cwd, words, bounds = await asyncio.to_thread(_confinement, command, place, data, below)
            session, again = Session(command, place, ctx), Again(ctx)
            env = command.environment(str(place.home), str(place.tmp))
            argv = session.arguments()
            if not is_there(argv[0], env, str(cwd)):
                yield _not_there(os.path.basename(argv[0]))
                return
            child = await _start(
                [*words, *argv],
                env=env,
                cwd=cwd,
                stdin=await session.stdin() if command.steering == "none" else None,
                limits=command.limits.for_guard()
                | bounds
                | ({} if keep else {"remove": str(place.root)}),
            )
            read: Read = child.read
            if child.input is not None:
                steering = steering_of(ctx, command, child.input, await session.stdin())
                read = partial(steering.beside, child.read)
            while session.lines.terminal is None and (piece := await read()) is not None:
                if isinstance(piece, Said):
                    for event in piece:
                        for each in again.events(event) if session.begins_again else (event,):
                            yield each
                    continue
                async for event in session.events(*piece):
                    for each in again.events(event) if session.begins_again else (event,):
                        yield each
                session.end_input(child)
            if session.lines.terminal is not None:
                session.end_input(child)
                await child.finish(command.limits.grace_seconds)
            if steering is not None:
                for event in await steering.finish():
                    for each in again.events(event) if session.begins_again else (event,):
                        yield each
        finally:
            if steering is not None:
                await steering.close()
            if child is not None:
                await child.stop()
            if not keep:  # The guard has done it, unless it was killed.
                await asyncio.to_thread(shutil.rmtree, place.root, ignore_errors=True)
        for event in session.end(child.report):
            for each in again.events(event) if session.begins_again else (event,):
                yield each


class Session:
    """One run of a command: its input, its output so far, its end."""

    def __init__(self, command: Command, place: Place, ctx: RunContext) -> None:
        self.command = command
        self.place = place
        self.ctx = ctx
        self.resumed, before = place.session() if command.resume_argv else (None, {})
        self._proceeds, self._noted = False, not command.resume_argv
        lost = place.session_of(ctx.run_id) if ctx.recovered and command.resume_argv else None
        if lost is not None:
            before = before if lost == self.resumed else {}
            self.resumed, self._proceeds = lost, True
        prefix = uuid.uuid4().hex[:12]
        self.lines = Lines(command.output, prefix, before, command.step_marker)
        self._secrets = [(s.encode(), s) for s in command.secrets()]
        self._rest = {"out": bytearray(), "err": bytearray()}
        self._size = 0
        self._memory = apart.memory()
        self._note = ""

    @property
    def begins_again(self) -> bool:
        """Whether an earlier attempt has sent what this one sends again."""
        return self.ctx.recovered and not self._proceeds

    def arguments(self) -> list[str]:
        """The argument list; raises RunFailed if the client's text does not fit."""
        text = self.command.continue_text if self._proceeds else None
        try:
            return self.command.arguments(self.ctx, self.resumed, text)
        except BadSettings as bad:
            raise RunFailed(RunErrorCode.LIMIT, str(bad)) from None

    async def stdin(self) -> bytes:
        """The command's standard input."""
        match self.command.stdin:
            case "input":
                messages = await inlined(self.ctx.messages, self.ctx.files)
                body = {**self.ctx.body, "messages": messages} if messages else self.ctx.body
                return json.dumps(body).encode() + b"\n"
            case "text":
                text = self.command.continue_text if self._proceeds else self.ctx.text
                return text.encode(errors="replace")
        return b""

    def end_input(self, child: GuardedCommand) -> None:
        """Let a command end whose session is over, or which has ended its run."""
        dialect = self.lines.dialect
        is_over = self.lines.terminal is not None or (dialect is not None and dialect.over)
        if is_over and child.input is not None:
            child.input.end()

    # --- the output

    async def events(self, name: str, data: bytes) -> AsyncGenerator[Any, None]:
        """``take``, in a thread if much has to be read."""
        taking, whole = self.take(name, data), b"\n" in data
        if whole and len(self._rest[name]) + len(data) > apart.SMALL:
            async with apart.room(self.ctx.team, bytes(self._rest[name] + data)):
                ready, failed = await apart.to_its_end(self.ctx.team, lambda: _all(taking))
                for event in ready:
                    yield event
                if failed is not None:
                    raise failed
        for event in taking:
            yield event
        size = sum(map(len, self._rest.values()))
        self._memory.note(LINES, size if size > apart.SMALL else 0)
        if size > apart.SMALL:
            await self._memory.room()

    def take(self, name: str, data: bytes) -> Iterator[Any]:
        """The events of a piece of output; raises RunFailed over a limit."""
        limits = self.command.limits
        self._size += len(data)
        rest = self._rest[name]
        head, newline, tail = data.rpartition(b"\n")
        if newline:
            lines = bytes(rest + head).split(b"\n")
            rest.clear()
            yield from self._say(name, lines)
        rest += tail
        if name == "err" and len(rest) > MAX_NOTE:
            yield from self._say(name, [bytes(rest)])
            rest.clear()
        if self._size > limits.output_bytes:
            raise _limit("printed more than", limits.output_bytes, "bytes")
        if len(rest) > limits.line_bytes:
            raise _limit("printed a line of more than", limits.line_bytes, "bytes")

    def _say(self, name: str, lines: list[bytes]) -> Iterator[Any]:
        for index, line in enumerate(lines):
            for secret, _ in self._secrets:
                line = line.replace(secret, b"[redacted]")
            lines[index] = line
        if name == "out":
            for event in self.lines.feed(lines):
                self._note_session()
                yield event
            return
        note = b"\n".join(lines).decode(errors="replace")
        if note.strip():
            self._note = next(line for line in reversed(note.splitlines()) if line.strip())
            yield {"type": "RAW", "event": note, "source": "stderr"}

    def _note_session(self) -> None:
        """Store the session as soon as its command has named it, and before its first words."""
        dialect = self.lines.dialect
        if not self._noted and dialect is not None and dialect.session_id:
            self._noted = True
            self.place.note(self.ctx.run_id, dialect.session_id)

    # --- the end

    def end(self, report: dict[str, Any]) -> Iterator[Any]:
        """Close the open parts, then report how the command ended."""
        for name in ("out", "err"):
            if self._rest[name]:
                yield from self._say(name, [bytes(self._rest[name])])
        yield from self.lines.close()
        if (terminal := self.lines.terminal) is not None:
            if terminal["type"] == "RUN_FINISHED":
                yield from self.lines.steps.end()
            yield terminal
            return
        dialect = self.lines.dialect
        usage = {"usage": dialect.usage} if dialect and dialect.usage else {}
        failure = self._failure(report)
        if self.command.directory == "thread":
            self._remember(failure is not None)
        if failure is not None:
            code, message = failure
            self.ctx.log.warning("process.failed", report=report, message=message)
            yield {"type": "RUN_ERROR", "code": code.value, "message": message, **usage}
            return  # an open step has failed, as intake reports
        yield from self.lines.steps.end()
        if dialect is not None:
            ids = {"threadId": self.ctx.thread_id, "runId": self.ctx.run_id}
            result = {"result": dialect.result} if dialect.result else {}
            yield {"type": "RUN_FINISHED", **ids, **result, **usage}

    def _failure(self, report: dict[str, Any]) -> tuple[RunErrorCode, str] | None:
        dialect, code = self.lines.dialect, RunErrorCode.PROCESS_EXIT
        if (limit := report.get("limit")) is not None:
            return RunErrorCode.LIMIT, _passed(limit, self.command)
        if (error := report.get("error")) is not None:
            return code, self._because(f"The command {error}", "")
        reason = (dialect.failure if dialect else None) or self._note
        if (number := report.get("signal")) is not None:
            return code, self._because(f"The command was ended by {_signal(number)}", reason)
        if status := report.get("status", 0):
            return code, self._because(f"The command ended with status {status}", reason)
        if dialect is not None and dialect.failure:
            return RunErrorCode.AGENT_ERROR, self._because("The command failed", dialect.failure)
        if dialect is not None and not dialect.over:
            return code, self._because("The command ended before its session did", self._note)
        if self.lines.count == 0:
            return code, self._because("The command ended with status 0 and printed nothing", "")
        return None

    def _because(self, summary: str, reason: str) -> str:
        """A message for everybody: no control characters, no paths of ours, no secrets, short."""
        reason = CONTROL.sub(" ", reason.replace(str(self.place.root), "")).strip()
        for _, secret in self._secrets:
            reason = reason.replace(secret, "[redacted]")
        if len(reason) > MAX_REASON:
            reason = reason[: MAX_REASON - 1] + "…"
        return f"{summary}: {reason}" if reason else f"{summary}."

    def _remember(self, failed: bool) -> None:
        """Store the session for the thread's next run; forget one that was not resumed."""
        dialect = self.lines.dialect
        if dialect is not None and dialect.session_id and (dialect.over or not self.resumed):
            self.place.remember(dialect.session_id, dialect.totals)
        elif failed and self.resumed:
            self.place.remember(None)


def _worktree(ctx: RunContext) -> tuple[str, ...]:
    # The start has checked it, but an agent that spawns this one may have made it up.
    try:
        return worktree.requested(ctx.forwarded_props)
    except worktree.WorktreeRefused as refused:
        raise RunFailed(RunErrorCode.AGENT_ERROR, refused.message) from None


def _confinement(
    command: Command, place: Place, data: Path, below: tuple[str, ...]
) -> tuple[Path, list[str], dict[str, Any]]:
    """Where the command works, the words in front of it and its guard's settings.

    Raises RunFailed.
    """
    means = Means.NONE if command.unconfined else confine.means(data)
    if means is Means.NONE and not command.unconfined:
        raise RunFailed(
            RunErrorCode.AGENT_ERROR,
            "This host cannot confine the agent's command, and no operator allowed it to run "
            "unconfined.",
        )
    uid = confine.uid_of(place) if means is Means.UID else os.geteuid()
    if os.geteuid() == 0:
        place.give(uid)
    try:
        cwd = place.below(below, uid)
    except OSError as error:
        message = f"The command cannot work in {'/'.join(below)}: {error.strerror}."
        raise RunFailed(RunErrorCode.PROCESS_EXIT, message) from None
    match means:
        case Means.BUBBLEWRAP:
            return cwd, confine.bubblewrap(place, data, cwd), {"bubblewrap": True}
        case Means.UID:
            return cwd, [], {"uid": uid}
    return cwd, [], {}


async def _start(*args: Any, **options: Any) -> GuardedCommand:
    try:
        return await GuardedCommand.start(*args, **options)
    except OSError as error:  # too many processes or files, or arguments too long together
        raise RunFailed(
            RunErrorCode.PROCESS_EXIT, f"The command could not be started: {error.strerror}."
        ) from error


def _not_there(program: str) -> dict[str, Any]:
    return {
        "type": "RUN_ERROR",
        "code": RunErrorCode.PROCESS_EXIT.value,
        "message": f"The program {program!r} is not on the worker's PATH, or is not executable.",
    }


def _limit(problem: str, value: float, unit: str) -> RunFailed:
    return RunFailed(RunErrorCode.LIMIT, f"The command {problem} {value:,} {unit}.")


def _passed(limit: str, command: Command) -> str:
    limits = command.limits
    what = {
        "cpu": f"{limits.cpu_seconds:,} seconds of CPU time",
        "memory": f"{limits.memory_bytes:,} bytes of memory",
        "processes": f"{limits.processes:,} processes",
        "file": f"{limits.file_bytes:,} bytes in one file",
    }
    return f"The command used more than {what.get(limit, limit)}."


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _all(events: Iterator[Any]) -> tuple[list[Any], RunFailed | None]:
    """The events, and the error that came after them."""
    ready: list[Any] = []
    try:
        ready.extend(events)  # events before an error stay
    except RunFailed as failed:
        return ready, failed
    return ready, None
