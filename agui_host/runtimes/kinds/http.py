"""The ``http`` kind: a remote AG-UI agent. POSTs the RunAgentInput, reads server-sent events.

Its events pass intake like any agent's, which understands 0.x and puts our ids on its RUN_STARTED
and RUN_FINISHED. Closing the stream closes the connection, by which a peer can notice the cancel.
One client for each worker process; every hop passes the outbound guard.
"""

import asyncio
import json
import ssl
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urljoin, urlsplit
from weakref import WeakKeyDictionary

import httpx
from django.conf import settings

from agui_host.backends import apart
from agui_host.protocol import patient_json
from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.protocol.schema import TERMINAL
from agui_host.protocol.sizes import LongEvent
from agui_host.protocol.strict_json import MAX_VALUES, dumps, has_too_many_values
from agui_host.runtimes.context.files import inlined
from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.kinds import declared, on_behalf
from agui_host.runtimes.kinds.again import Again
from agui_host.runtimes.kinds.legacy_input import legacy
from agui_host.runtimes.kinds.sse import SseParser
from agui_host.runtimes.kinds.steering import Said, Steering
from agui_host.runtimes.kinds.steering_http import address_of, origin, say
from agui_host.security import outbound
from agui_host.security.addresses import AddressRefused

if TYPE_CHECKING:
    from agui_host.runtimes.models import Agent

RETRIED = frozenset({502, 503, 504})
FOLLOWED = frozenset({307, 308})
PAUSES = (0.5, 1.0)  # Pauses between attempts to begin: three attempts in all.
MAX_REDIRECTS = 3
UNPROCESSABLE = 422
DRAIN_SECONDS = 0.1
DRAIN_BYTES = 65_536
HEADERS = {
    "content-type": "application/json",
    "accept": "text/event-stream",
    "accept-encoding": "identity",
    "user-agent": "agui-run-host",
}
ATTEMPT = "agui-attempt"
"""The header of a request that another worker of this host has made before, for the same run."""
TEXTS = "texts"
"""The part of a live run that is frames: whole ones that wait here, and half a frame."""
NO_ROOM: AbstractAsyncContextManager[None] = nullcontext()
"""For short events, whose memory is not counted."""
More = Callable[[], Awaitable[list[str] | Said | None]]
RESERVED = frozenset({*HEADERS, ATTEMPT, on_behalf.HEADER}) | {
    "host", "content-length", "transfer-encoding", "connection",
}  # fmt: skip
_clients: "WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient]" = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long a peer may take, in seconds; members of an agent's settings.

    ``connect_seconds`` to be reached, ``idle_seconds`` without a byte, ``event_seconds`` without an
    event while comments come. The whole run's limit is the agent's ``timeout_seconds``.
    """

    connect_seconds: float = 10.0
    idle_seconds: float = 300.0
    event_seconds: float = 900.0

    @classmethod
    def of(cls, members: Mapping[str, Any]) -> "Timeouts":
        """From an agent's settings; a value that is not a positive number is ignored."""
        return cls(
            **{
                name: float(members[name])
                for name in cls.__slots__
                if type(members.get(name)) in (int, float) and members[name] > 0
            }
        )


class HttpRuntime:
    """Runs one remote agent."""

    kind = "http"

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts | None = None,
        protocol: str = "auto",
        steering: str = "",
        row: "Agent | None" = None,
        on_behalf_of: str = "",
    ) -> None:
        """``protocol``: "1.0", "0.x", or "auto": 1.0 first, 0.x for a peer that refuses it.

        ``steering``: where it takes messages to a run; the peer's own answer can name it as well.
        ``row`` keeps the peer's declaration on recovery. ``on_behalf_of``: the secret that signs
        the token of a run's end user.
        """
        self._url = url
        self._headers = dict(headers or {})
        self._timeouts = timeouts or Timeouts()
        self._protocol = protocol
        self._steering = steering
        self._row = row
        self._on_behalf_of = on_behalf_of

    @classmethod
    def of(cls, row: "Agent") -> "HttpRuntime":
        """The runtime of an Agent row: its target is the URL, its headers are sealed."""
        members = row.settings if isinstance(row.settings, dict) else {}
        secrets, timeouts = row.unsealed(), Timeouts.of(members)
        protocol, steering = members.get("protocol", "auto"), members.get("steering", "")
        headers, secret = secrets.get("headers", {}), secrets.get(on_behalf.SECTION, "")
        return cls(row.target, headers, timeouts, protocol, steering, row, secret)

    async def run(self, ctx: RunContext) -> AsyncGenerator[Any, None]:
        """The peer's events up to its terminal one. Raises RunFailed if the peer fails."""
        stream: Stream | None = None
        steering: Steering | None = None
        ended = False
        try:
            response = await self._begin(ctx)
            stream, again = Stream(response, self._timeouts), Again(ctx)
            if self._row is not None:
                await declared.note(self._row, response)
            if address := address_of(self._steering, response, ctx, self._url):
                steering = Steering(ctx, partial(say, partial(self._say, address)))
            more: More = stream.more
            if steering is not None:
                more = partial(steering.beside, stream.more)
            while not ended and (frames := await more()) is not None:
                if isinstance(frames, Said):
                    for note in frames:
                        for each in again.events(note):
                            yield each
                    continue
                for data in frames:
                    room: AbstractAsyncContextManager[None] = NO_ROOM
                    if is_long := len(data) > apart.SMALL:
                        room = apart.room(ctx.team, data)
                    async with room:
                        if (event := await _event(data, ctx.team)) is None:
                            continue
                        ended = event.get("type") in TERMINAL
                        for each in again.events(event):
                            yield each
                        if ended:
                            return
                        if is_long:  # The gate has copied it; loops that pass it on still have it.
                            event.clear()
            raise RunFailed(
                RunErrorCode.UPSTREAM_CLOSED, "The remote agent stopped without ending its run."
            )
        except AddressRefused as refused:
            raise RunFailed(RunErrorCode.UPSTREAM_HTTP, refused.message) from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            ctx.log.info(
                "remote agent failed", error=type(error).__name__, host=urlsplit(self._url).netloc
            )
            raise _failed(error, begun=stream is not None) from None
        finally:
            if steering is not None:
                await steering.close()
            if stream is not None:
                await stream.leave(whole=ended)

    # --- the requests

    async def _begin(self, ctx: RunContext) -> httpx.Response:
        """An open event stream. Repeats only requests that cannot have started an agent's work."""
        run_input = {**ctx.body, "protocolVersion": "1.0"}
        if ctx.recovered:  # The same request once more: a remote host takes it for that run.
            run_input["state"] = ctx.so_far.state_before
        run_input["messages"] = [
            message
            for message in await inlined(ctx.messages, ctx.files)
            if message["role"] != "activity"
        ]
        is_older = self._protocol == "0.x"
        pauses = list(PAUSES)
        while True:
            content = dumps(legacy(run_input) if is_older else run_input).encode()
            try:
                response = await self._post(content, ctx)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                if not pauses or _is_distrusted(error):
                    raise
                await asyncio.sleep(pauses.pop(0))
                continue
            if response.status_code == UNPROCESSABLE and self._protocol == "auto" and not is_older:
                is_older = True  # A 422 comes from the check of the input, so nothing has begun.
            elif response.status_code not in RETRIED or not pauses:
                return await _checked(response)
            await response.aclose()
            if response.status_code in RETRIED:
                await asyncio.sleep(pauses.pop(0))

    async def _post(self, content: bytes, ctx: RunContext) -> httpx.Response:
        """The head of the answer, after at most MAX_REDIRECTS that keep method and body.

        The agent's own headers go to the origin they were set for, and nowhere else.
        """
        url, timeouts = self._url, self._timeouts
        headers = HEADERS | ({ATTEMPT: str(ctx.attempt)} if ctx.attempt > 1 else {})
        own = self._headers | on_behalf.headers(ctx, self._on_behalf_of, self._url)
        for _ in range(MAX_REDIRECTS + 1):
            at_home = origin(url) == origin(self._url)
            request = _client().build_request(
                "POST",
                url,
                content=content,
                headers=(own if at_home else {}) | headers,
                timeout=httpx.Timeout(timeouts.idle_seconds, connect=timeouts.connect_seconds),
            )
            try:
                async with asyncio.timeout(timeouts.connect_seconds + timeouts.idle_seconds):
                    response = await _client().send(request, stream=True)
            except TimeoutError:
                raise httpx.ReadTimeout("no answer in time", request=request) from None
            if response.status_code not in FOLLOWED:
                return response
            await response.aclose()
            target = urljoin(url, response.headers.get("location", ""))
            if urlsplit(url).scheme == "https" and urlsplit(target).scheme != "https":
                raise AddressRefused("The remote agent redirects from https to http.")
            url = target
        raise RunFailed(
            RunErrorCode.UPSTREAM_HTTP,
            f"The remote agent redirects more than {MAX_REDIRECTS} times.",
        )

    async def _say(self, address: str, content: bytes) -> int:
        """POST a message to the agent, at an address of its own origin. Raises httpx's errors.

        Of the answer only the status counts: its body could be endless.
        """
        seconds = self._timeouts.connect_seconds
        headers = self._headers | HEADERS | {"accept": "application/json"}
        request = _client().build_request(
            "POST", address, content=content, headers=headers, timeout=seconds
        )
        try:
            async with asyncio.timeout(2 * seconds):
                response = await _client().send(request, stream=True)
        except TimeoutError:
            raise httpx.ReadTimeout("no answer in time", request=request) from None
        await Stream(response, self._timeouts).leave(whole=True)
        return response.status_code


class Stream:
    """The frames of one answer."""

    def __init__(self, response: httpx.Response, timeouts: Timeouts) -> None:
        self._response = response
        self._chunks = cast("AsyncGenerator[bytes, None]", response.aiter_raw())
        self._parser = SseParser(settings.AGUI_MAX_EVENT_BYTES)
        self._event_seconds = timeouts.event_seconds
        self._now = asyncio.get_running_loop().time
        self._last = self._now()
        self._memory = apart.memory()

    async def more(self) -> list[str] | None:
        """The next frames, maybe none yet; None at the end. Raises httpx's errors and RunFailed."""
        if self._memory.of(TEXTS):
            self._memory.note(TEXTS, self._parser.size)
            await self._memory.room()
        async for chunk in self._chunks:
            frames, now = self._parser.feed(chunk), self._now()
            size = self._parser.size + sum(map(sys.getsizeof, frames))
            self._memory.note(TEXTS, size if size > apart.SMALL else 0)
            # A peer that only sends comments is checked when one comes: no timer for each run.
            if not frames and now - self._last > self._event_seconds:
                raise httpx.ReadTimeout("no event in time", request=self._response.request)
            if frames:
                self._last = now
            return frames
        # A frame that was cut needs no separate error: the missing end is the error.
        return [data for data in self._parser.close() if _is_json(data)] or None

    async def leave(self, *, whole: bool) -> None:
        """Close. After the terminal event the body is about to end, so the connection is kept."""
        try:
            if whole:
                with suppress(TimeoutError, httpx.HTTPError, httpx.StreamError):
                    async with asyncio.timeout(DRAIN_SECONDS):
                        left = DRAIN_BYTES
                        async for chunk in self._chunks:
                            if (left := left - len(chunk)) < 0:
                                break
        finally:
            with suppress(httpx.HTTPError):
                await self._response.aclose()
            await self._chunks.aclose()


async def close() -> None:
    """Close this loop's client and the connections it keeps open."""
    client = _clients.pop(asyncio.get_running_loop(), None)
    if client is not None:
        await client.aclose()


def _client() -> httpx.AsyncClient:
    # The one client of this loop: connections are bounded by the worker's concurrency.
    loop = asyncio.get_running_loop()
    if loop not in _clients:
        _clients[loop] = outbound.client(max_connections=None)
    return _clients[loop]


async def _checked(response: httpx.Response) -> httpx.Response:
    """The response, if it is an event stream; otherwise close it and raise RunFailed."""
    status, media = response.status_code, response.headers.get("content-type", "")
    problem = None
    if status in (301, 302, 303):
        problem = f"redirects with {status}, which would drop the input; use its final URL"
    elif status != httpx.codes.OK:
        problem = f"answered with status {status}"
    elif media.partition(";")[0].strip().lower() not in ("text/event-stream", ""):
        problem = "did not answer with an event stream"
    elif response.headers.get("content-encoding", "identity").lower() != "identity":
        problem = "compresses its events, although the request forbids it"
    if problem is None:
        return response
    await response.aclose()
    raise RunFailed(RunErrorCode.UPSTREAM_HTTP, f"The remote agent {problem}.")


async def _event(data: str, team: str) -> dict[str, Any] | None:
    if len(data) <= apart.SMALL:
        return _parsed(data)
    event = await apart.in_turn(team, partial(_parsed, data))
    return None if event is None else LongEvent(event)


def _parsed(data: str) -> dict[str, Any] | None:
    """The event in one frame; None for the empty frames and end marks that some servers send."""
    if data.strip() in ("", "[DONE]"):
        return None
    if has_too_many_values(data):
        raise RunFailed(
            RunErrorCode.EVENT_TOO_LARGE,
            f"The remote agent sent an event with more than {MAX_VALUES:,} values.",
        )
    try:
        event = patient_json.loads(data)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict):
        raise RunFailed(
            RunErrorCode.INVALID_EVENT, "The remote agent sent a frame that is not a JSON object."
        )
    return event


def _is_json(data: str) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def _is_distrusted(error: BaseException | None) -> bool:
    # Whether TLS rejected the peer; httpx and httpcore wrap the original error.
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error is not None


def _failed(error: Exception, *, begun: bool) -> RunFailed:
    if isinstance(error, httpx.TimeoutException):
        what = "is silent for too long" if begun else "does not answer in time"
        return RunFailed(RunErrorCode.UPSTREAM_TIMEOUT, f"The remote agent {what}.")
    if isinstance(error, httpx.ConnectError):
        why = "'s certificate is not trusted" if _is_distrusted(error) else " cannot be reached"
        return RunFailed(RunErrorCode.UPSTREAM_HTTP, f"The remote agent{why}.")
    cut = begun or isinstance(error, httpx.ReadError | httpx.WriteError)
    if cut or "disconnect" in str(error):
        return RunFailed(
            RunErrorCode.UPSTREAM_CLOSED, "The remote agent closed the connection early."
        )
    return RunFailed(RunErrorCode.UPSTREAM_HTTP, "The remote agent does not speak HTTP.")
