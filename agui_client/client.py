"""AGUIClient: a conversation with an agent, from another program.

With the run host a run does not depend on this process: a broken stream is resumed by cursor, a
start that was possibly lost is repeated under its Idempotency-Key, and no event comes twice.
"""

import ssl
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any
from urllib.parse import urljoin

import httpx

from agui_client.backoff import Backoff
from agui_client.caller import Caller
from agui_client.conversation import Conversation
from agui_client.cursors import Cursor, seq_of
from agui_client.errors import Broken, ConnectionLost, OnReset, Reset, RunFailed
from agui_client.reading import TERMINAL, Event, Transport, check, follow, frames, request

PROTOCOL_VERSION = "1.0"
DEFAULT_AGENT = "default"


class AGUIClient(Caller):
    """A thread with an agent behind ``endpoint``, such as ``https://host/agui/agent/docs/run``.

    ``timeout``: seconds for which the server can be unreachable before ConnectionLost. ``api_key``
    is sent as a Bearer token. ``thread_id`` continues an earlier conversation. ``verify``: an
    ``ssl.SSLContext`` with the certificates to trust, or False to trust any. ``http_client`` is
    used instead of our own, with its proxies, timeouts and TLS, and left open by ``close``; a
    WebSocket takes its headers, and its TLS from ``verify``. ``on_reset`` is called when the host's
    history went back: events read before are void, and the run's events come again from the first;
    without it, Reset is raised. One run at a time: ``cancel`` can be called during it, everything
    else after it.
    """

    def __init__(
        self,
        endpoint: str,
        timeout: float = 60.0,
        *,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        thread_id: str | None = None,
        transport: Transport = "sse",
        verify: ssl.SSLContext | bool = True,
        http_client: httpx.AsyncClient | None = None,
        on_reset: OnReset | None = None,
    ) -> None:
        limits = httpx.Timeout(timeout, connect=min(timeout, 10.0))
        super().__init__(limits, api_key, headers, verify, http_client)
        self.endpoint = endpoint
        self.transport: Transport = transport
        self._timeout = timeout
        self._verify = verify
        self._on_reset = on_reset
        self._talk = Conversation(thread_id)
        self._log: str | None = None  # where the newest run's events are, if the server keeps them
        self._live: httpx.Response | None = None
        self._hung_up: list[httpx.Response] = []

    @property
    def thread_id(self) -> str:
        """The conversation's id; give it to another client to continue there."""
        return self._talk.thread_id

    @property
    def interrupts(self) -> list[Event]:
        """The questions that the newest run ended with, for ``resume``."""
        return self._talk.interrupts

    async def send(self, message: str) -> str:
        """The agent's whole answer. Raises RunFailed, Refused, Reset, ConnectionLost."""
        return await self._to_the_end(self.run(message))

    async def stream(self, message: str) -> AsyncGenerator[str, None]:
        """The agent's answer, piece by piece. Raises as ``send``."""
        async with aclosing(self.run(message)) as events:
            async for event in events:
                if event["type"] == "TEXT_MESSAGE_CONTENT":
                    yield event["delta"]
                _raise_error(event)

    async def resume(self, answers: Mapping[str, Any]) -> str:
        """Answer the open questions, payload by interrupt id; the agent's answer."""
        entries = [
            {"interruptId": name, "status": "resolved", "payload": payload}
            for name, payload in answers.items()
        ]
        return await self._to_the_end(self.run(resume=entries))

    async def run(self, message: str | None = None, **input: Any) -> AsyncGenerator[Event, None]:
        """All events of a run. ``input``: more of RunAgentInput, such as ``tools`` or ``state``."""
        talk, log = self._talk, self._log
        new = [talk.say(message)] if message is not None else []
        body = {
            "threadId": talk.thread_id,
            "runId": str(uuid.uuid4()),
            "protocolVersion": PROTOCOL_VERSION,
            # The run host keeps the thread; other servers need all of it.
            "messages": new if log else talk.messages,
            "tools": [],
            "context": [],
            "state": {},
            "forwardedProps": {},
            **input,
        }
        talk.begin()
        reading = self._through_resets(self._started(body), lambda: self._follow(0))
        async with aclosing(reading) as events:
            async for event in events:
                yield event

    async def connect(self, agent: str = DEFAULT_AGENT) -> AsyncGenerator[Event, None]:
        """The thread so far, as snapshots, then its live run until that ends. The run host only."""
        self._talk.begin()
        reading = self._through_resets(self._joined(agent), lambda: self._joined(agent))
        async with aclosing(reading) as events:
            async for event in events:
                yield event

    async def cancel(self) -> bool:
        """Stop the newest run; whether the server was told. Without the run host: hang up."""
        if self._log:
            url = self._log.removesuffix("/events") + "/cancel"
            await request(self._http, "POST", url, self._timeout, headers=self._headers)
            return True
        if self._live is not None:
            self._hung_up = [self._live]
            await self._live.aclose()
            return True
        return False

    async def _to_the_end(self, run: AsyncGenerator[Event, None]) -> str:
        async with aclosing(run) as events:
            async for event in events:
                _raise_error(event)
        return self._talk.answer

    async def _through_resets(
        self, events: AsyncGenerator[Event, None], again: Callable[[], AsyncGenerator[Event, None]]
    ) -> AsyncGenerator[Event, None]:
        """The events; after a reset, if the program is told of it, those of ``again``."""
        while True:
            try:
                async with aclosing(events):
                    async for event in events:
                        self._talk.take(event)
                        yield event
                return
            except Reset as reset:
                self._talk.begin_again()
                if self._on_reset is None:
                    raise
                self._on_reset(reset)
            events = again()

    async def _joined(self, agent: str) -> AsyncGenerator[Event, None]:
        url = f"{self._base()}/agent/{agent}/connect"
        body = {"threadId": self.thread_id, "protocolVersion": PROTOCOL_VERSION, "messages": []}
        backoff = Backoff(self._timeout)
        while True:
            buffered: list[Event] = []
            try:
                async with self._http.stream(
                    "POST", url, json=body, headers=self._headers
                ) as answer:
                    await check(answer)
                    self._remember(answer)
                    async for cursor, event in frames(answer):
                        buffered += [event] if event else []
                        if cursor is not None:
                            # Until the first numbered event a break repeats everything: nothing was
                            # shown.
                            async with aclosing(self._rest(answer, buffered, cursor)) as events:
                                async for each in events:
                                    yield each
                            return
                    for each in buffered:
                        yield each
                    return
            except (Broken, httpx.TransportError) as error:
                await backoff.again(error)

    async def _started(self, body: Event) -> AsyncGenerator[Event, None]:
        """POST until the server has the run, then its events."""
        backoff, again = Backoff(self._timeout), False
        start = {"Accept": "text/event-stream", "Idempotency-Key": str(uuid.uuid4())}
        headers = {**self._headers, **start}
        while True:
            try:
                async with self._http.stream(
                    "POST", self.endpoint, json=body, headers=headers
                ) as answer:
                    await check(answer)
                    self._remember(answer)
                    if not (self._log and (again or self.transport == "websocket")):
                        async with aclosing(self._rest(answer, [], 0)) as events:
                            async for event in events:
                                yield event
                        return
                break
            except httpx.ConnectError as error:
                await backoff.again(error)  # Nothing was sent.
            except (Broken, httpx.TransportError) as error:
                if self._log is None and not isinstance(error, Broken):
                    raise ConnectionLost(
                        "The server went away before it answered; whether the run began is unknown."
                    ) from error
                again = True
                await backoff.again(error)
        async with aclosing(self._follow(0)) as events:
            async for event in events:
                yield event

    async def _rest(
        self, answer: httpx.Response, buffered: list[Event], after: Cursor
    ) -> AsyncGenerator[Event, None]:
        """Yield the buffered events, then its answer, then the events that a break left out."""
        self._live = answer
        for replayed in buffered:
            yield replayed
            if replayed["type"] in TERMINAL:
                return
        try:
            async for cursor, event in frames(answer):
                if cursor is not None:
                    if seq_of(cursor) > seq_of(after) + 1 and self._log:
                        break  # the log has the missing events
                    after = cursor
                if event is not None:
                    yield event
                    if event["type"] in TERMINAL:
                        return
        except (Broken, httpx.TransportError, httpx.StreamError) as error:
            if self._log is None and answer in self._hung_up:
                return
            if self._log is None:
                raise ConnectionLost(
                    f"The server keeps no log to continue from: {error!r}"
                ) from error
        finally:
            self._live = None
        if self._log:
            async with aclosing(self._follow(after)) as events:
                async for event in events:
                    yield event

    async def _follow(self, after: Cursor) -> AsyncGenerator[Event, None]:
        url = self._log or ""
        reading = follow(
            self._http, url, after, transport=self.transport, timeout=self._timeout,
            headers=self._headers, verify=self._verify,
        )  # fmt: skip
        async with aclosing(reading):
            async for _, event in reading:
                yield event

    def _remember(self, answer: httpx.Response) -> None:
        # A server that keeps the log sends its address.
        if location := answer.headers.get("content-location"):
            self._log = urljoin(str(answer.url), location)

    def _base(self) -> str:
        head, separator, _ = self.endpoint.rstrip("/").partition("/agui")
        return head + (separator or "/agui")


def _raise_error(event: Event) -> None:
    if event["type"] == "RUN_ERROR":
        raise RunFailed(event.get("code") or "", event["message"])
