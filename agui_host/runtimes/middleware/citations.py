"""``citations``: finds the quotes in an answer, checks them, and keeps the results in the state.

Text passes unchanged and at once. Verification begins with the first complete citation and runs
parallel to the stream; only the terminal event waits for it.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from typing import Annotated, Any

from pydantic import Field, field_validator

from agui_host.protocol.schema import TERMINAL
from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.middleware.base import Middleware, Options, Wire
from agui_host.runtimes.middleware.citing.extract import Citation, Reader
from agui_host.runtimes.middleware.citing.ledger import ENDED, Ledger, is_safe
from agui_host.runtimes.middleware.citing.local import LocalVerifier
from agui_host.runtimes.middleware.citing.remote import HttpOptions, HttpVerifier
from agui_host.runtimes.middleware.citing.verifiers import LocalOptions, Verifier
from agui_host.runtimes.middleware.inlet import Inlet

AT_ONCE = 8
MOST_CITATIONS = 500
REVIEWS = frozenset({"open", "close"})
VERIFIERS: dict[str, Callable[[Any, RunContext], Verifier]] = {
    "local": LocalVerifier,
    "http": HttpVerifier,
}


class CitationsOptions(Options):
    """``key`` of the state, ``keep``: how many messages, ``max_buffer``: bytes of each.

    ``timeout``: seconds the terminal event waits. ``lifecycle``: also CUSTOM events.
    """

    key: str = Field("deepcitation", max_length=100)
    keep: int = Field(50, ge=1, le=1000)
    max_buffer: int = Field(1024 * 1024, ge=1, le=16 * 1024 * 1024)
    timeout: float = Field(30, gt=0, le=600)
    lifecycle: bool = True
    verifier: Annotated[LocalOptions | HttpOptions, Field(discriminator="kind")] = LocalOptions()

    @field_validator("key")
    @classmethod
    def _check(cls, key: str) -> str:
        if not is_safe(key):
            raise ValueError("not an allowed name in a state")
        return key


class Citations(Middleware):
    """Works with any agent; changes of the agent to other state pass unchanged."""

    Options = CitationsOptions
    of_team = True
    options: CitationsOptions

    def __init__(self, options: Any, ctx: RunContext) -> None:
        super().__init__(options, ctx)
        self._ledger = Ledger(self.options.key, ctx.body.get("state", {}), self.options.keep)
        self._readers: dict[str, Reader] = {}
        self._failed: dict[str, int] = {}
        self._results: deque[tuple[str, str, Wire | None]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._verifier: Verifier | None = None
        self._inlet: Inlet | None = None

    # --- the stream

    async def stream(self, events: AsyncIterator[Wire]) -> AsyncGenerator[Wire, None]:
        """Pass the events on, with verified citations; the terminal event waits for the rest."""
        terminal: Wire | None = None
        try:
            for out in self._reviews():
                yield out
            async with Inlet(events) as inlet:
                self._inlet = inlet
                while terminal is None and not inlet.over:
                    while self._results:
                        for out in self._result(*self._results.popleft()):
                            yield out
                    if (event := inlet.take()) is None:
                        await inlet.wait()
                    elif event["type"] in TERMINAL:
                        terminal = event
                        inlet.close()
                    else:
                        for out in self.feed(event):
                            yield out
                if not _is_cut(terminal):
                    for out in self._close_all():
                        yield out
                    async for out in self._awaited(inlet):
                        yield out
                for out in self.rest():
                    yield out
                if terminal is not None:
                    yield terminal
        finally:
            await self._stop()

    async def _awaited(self, inlet: Inlet) -> AsyncGenerator[Wire, None]:
        """What verification still finds, until all is done or the time is up."""
        clock = asyncio.get_running_loop().time
        until = clock() + self.options.timeout
        while self._tasks or self._results:
            while self._results:
                for out in self._result(*self._results.popleft()):
                    yield out
            if self._tasks:
                if (left := until - clock()) <= 0:
                    self.ctx.log.warning("citations.timeout", waiting=len(self._tasks))
                    return
                await inlet.wait(left)

    async def _stop(self) -> None:
        self._inlet = None
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        if self._verifier is not None:
            await self._verifier.aclose()

    def rest(self) -> Iterable[Wire]:
        """A result that is not there now will not come: the run was cut short, or time is up."""
        out: list[Wire] = []
        while self._results:
            out.extend(self._result(*self._results.popleft()))
        for message_id, message in self._ledger.messages.items():
            if message["status"] not in ENDED:
                out.extend(self._ended(message_id, "The run ended before this quote was verified."))
        return out

    # --- one event

    def feed(self, event: Wire) -> Iterable[Wire]:
        """The events to send for an incoming one."""
        match event["type"]:
            case "TEXT_MESSAGE_START" if event.get("role", "assistant") == "assistant":
                return (event, *self._start(event["messageId"]))
            case "TEXT_MESSAGE_CONTENT":
                return (event, *self._text(event["messageId"], event["delta"]))
            case "TEXT_MESSAGE_END":
                return (event, *self._end(event["messageId"]))
            case "STATE_SNAPSHOT":
                return ({**event, "snapshot": self._ledger.merged(event["snapshot"])},)
            case "STATE_DELTA":
                return self._agents_delta(event)
        return (event,)

    def _start(self, message_id: str) -> list[Wire]:
        if not is_safe(message_id):
            self.ctx.log.warning("citations.unsafe_id")
            return []
        self._readers[message_id] = Reader(self.options.max_buffer)
        self._failed[message_id] = 0
        return self._delta(self._ledger.start(message_id))

    def _text(self, message_id: str, delta: str) -> list[Wire]:
        reader = self._readers.get(message_id)
        return self._cite(message_id, reader.feed(delta)) if reader else []

    def _end(self, message_id: str) -> list[Wire]:
        reader = self._readers.pop(message_id, None)
        if reader is None or message_id not in self._ledger.messages:
            return []
        out = self._delta(self._ledger.status(message_id, "extracting"))
        out += self._cite(message_id, reader.end())
        if reader.overflown:
            size = self.options.max_buffer
            out += self._ended(message_id, f"The message is larger than {size:,} bytes.")
        else:
            out += self._delta(self._ledger.status(message_id, "verifying"))
            out += self._settled(message_id)
        return out

    def _close_all(self) -> list[Wire]:
        # Messages that the agent left open end with it.
        return [out for message_id in list(self._readers) for out in self._end(message_id)]

    def _agents_delta(self, event: Wire) -> list[Wire]:
        allowed = [self._ledger.allowed(operation) for operation in event["delta"]]
        if None in allowed:
            self.ctx.log.warning("citations.foreign_write", operations=allowed.count(None))
        operations = [operation for operation in allowed if operation is not None]
        return [{**event, "delta": operations}] if operations or not allowed else []

    # --- citations and their results

    def _cite(self, message_id: str, citations: list[Citation]) -> list[Wire]:
        message = self._ledger.messages.get(message_id)
        if message is None:
            return []
        room = MOST_CITATIONS - len(message["citations"])
        new = {c.key: c for c in citations if c.key not in message["citations"]}
        fresh = list(new.values())[: max(room, 0)]
        out = self._delta(self._ledger.cite(message_id, fresh))
        for citation in fresh:
            out += self._custom("citation_seen", messageId=message_id, citation=citation.key)
            self._verify(message_id, citation)
        return out

    def _verify(self, message_id: str, citation: Citation) -> None:
        if self._inlet is None:
            return  # The stream is over: nothing may be started.
        if self._verifier is None:
            options = self.options.verifier
            self._verifier = VERIFIERS[options.kind](options, self.ctx)
        task = asyncio.create_task(self._check(self._verifier, message_id, citation))
        self._tasks.add(task)
        task.add_done_callback(self._checked)

    async def _check(self, verifier: Verifier, message_id: str, citation: Citation) -> None:
        result: Wire | None = None
        try:
            async with self._slots:
                result = await verifier.verify(citation)
        except Exception as error:
            # Its text can contain the question or the answer, so only the type of the error is
            # logged.
            kind = type(error).__name__
            self.ctx.log.warning("citations.not_verified", citation=citation.key, error=kind)
        self._results.append((message_id, citation.key, result))

    def _checked(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if self._inlet is not None:
            self._inlet.notify()

    def _result(self, message_id: str, key: str, result: Wire | None) -> list[Wire]:
        if message_id not in self._ledger.messages:
            return []  # Removed to make room for newer ones.
        self._failed[message_id] += result is None
        result = result or {"status": "pending", "error": "The quote could not be verified."}
        out = self._delta(self._ledger.verified(message_id, key, result))
        about = {"messageId": message_id, "citation": key, "status": result["status"]}
        return [*out, *self._custom("evidence_ready", **about), *self._settled(message_id)]

    def _settled(self, message_id: str) -> list[Wire]:
        """The message is complete once its last result is there."""
        message = self._ledger.messages[message_id]
        done = len(message["verifications"]) == len(message["citations"])
        if message["status"] != "verifying" or not done:
            return []
        failed = self._failed[message_id]
        return self._ended(message_id, f"{failed} could not be verified." if failed else None)

    def _ended(self, message_id: str, error: str | None) -> list[Wire]:
        status = "error" if error else "complete"
        out = self._delta(self._ledger.status(message_id, status, error))
        summary = self._ledger.messages[message_id]["summary"]
        self.ctx.log.info("citations.message", status=status, **summary)
        return out + self._custom("message_complete", messageId=message_id, status=status)

    # --- outgoing events

    def _delta(self, operations: list[Wire]) -> list[Wire]:
        if not operations or not self._ledger.rooted:
            # A state that is not an object has no place for it; the next snapshot may have.
            return []
        return [{"type": "STATE_DELTA", "delta": operations}]

    def _custom(self, name: str, **value: Any) -> list[Wire]:
        if not self.options.lifecycle:
            return []
        return [{"type": "CUSTOM", "name": f"{self.options.key}.{name}", "value": value}]

    def _reviews(self) -> list[Wire]:
        """Copy people's reviews of earlier citations into this run's log."""
        reviews = self._ledger.reviews
        if not isinstance(reviews, list) or not reviews:
            return []
        out = self._delta(self._ledger.whole())
        for review in reviews[:MOST_CITATIONS]:
            members = review if isinstance(review, dict) else {}
            about = {name: members.get(name) for name in ("messageId", "citation", "action")}
            if all(isinstance(value, str) for value in about.values()):
                message = self._ledger.messages.get(str(about["messageId"]), {"citations": ()})
                if about["citation"] in message["citations"] and about["action"] in REVIEWS:
                    out += self._custom("review", **about)
        return out


def _is_cut(terminal: Wire | None) -> bool:
    """Whether a terminal event must not wait: an error, or a cancellation."""
    if terminal is None:
        return False
    outcome = terminal.get("outcome")
    cancelled = isinstance(outcome, dict) and outcome.get("type") == "cancelled"
    return cancelled or terminal["type"] == "RUN_ERROR"
