"""Takes the frames of a socket: acknowledgements at once, requests in turn through the gate."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from agui_host.backends.held import Hold
from agui_host.errors import UnknownMethod
from agui_host.protocol.errors import BadRequest, HostError
from agui_host.protocol.input.members import known_members
from agui_host.web.answers import as_host_error, log_failure
from agui_host.web.asgi_http import Request
from agui_host.web.callers import of_team
from agui_host.web.host_socket import frames
from agui_host.web.host_socket import params as read
from agui_host.web.host_socket.frames import Call, Refused
from agui_host.web.host_socket.methods import METHODS, Method, Params
from agui_host.web.host_socket.room import Room
from agui_host.web.shares import parsing
from agui_host.web.shares.pace import pace_of

AT_ONCE = 8
MOST_WAITING = 256
MOST_BYTES = 8_000_000
"""Requests that a socket works on, and the number and bytes of waiting ones. With more of them
nothing is read until some are answered."""


async def acknowledge(room: Room, params: Params) -> None:
    """``ack {subscription, seq, run?}``: the client has everything up to this event.

    For the feed, ``cursor`` in place of ``seq``.
    """
    name = read.text(params, "subscription")
    seq = read.cursor(params.get("seq", params.get("cursor")))
    room.acknowledge(name, read.optional_uuid(params, "run"), seq)


async def unsubscribe(room: Room, params: Params) -> None:
    """``unsubscribe {subscription}``; ends no run."""
    await room.end(read.text(params, "subscription"))


async def ping(room: Room, params: Params) -> None:
    """``ping``: the answer is an empty object."""


class AtOnce(NamedTuple):
    """A request that needs no database; ``members`` are those of its parameters."""

    handle: Callable[[Room, Params], Awaitable[None]]
    members: frozenset[str]


AT_ONCE_METHODS = {
    "ack": AtOnce(acknowledge, frozenset({"subscription", "seq", "cursor", "run"})),
    "ping": AtOnce(ping, frozenset()),
    "unsubscribe": AtOnce(unsubscribe, frozenset({"subscription"})),
}
"""What needs no database, and so waits for nothing."""


class Requests:
    """The requests of one socket."""

    def __init__(self, room: Room, request: Request) -> None:
        self._room = room
        self._request = request
        self._team = room.principal.team.pk
        self._holds: set[Hold] = set()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._bytes = 0
        self._fewer = asyncio.Event()

    async def read(self) -> None:
        """Read until the peer leaves."""
        pace = pace_of(self._team)
        while (message := await self._request.receive())["type"] == "websocket.receive":
            size = len(message.get("text") or message.get("bytes") or "")
            try:
                hold = parsing.admit(self._team, size)
            except HostError as error:
                del message  # It costs no memory while the pace lets it wait.
                await pace.frame(size)
                await self._fail(None, error)
                continue
            try:
                await pace.frame(size)
                await self._take(message, hold)
            finally:
                if hold not in self._holds:
                    hold.close()
                del message  # An idle socket does not hold its last frame.

    async def settle(self) -> None:
        """Let begun requests end: their writes are done whether or not anyone waits."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _take(self, message: Mapping[str, Any], hold: Hold) -> None:
        text = message.get("text") or ""
        try:
            parse = partial(frames.parse, message)
            call = await parsing.in_turn(self._team, text, parse, hold)
        except Refused as refusal:
            return await self._fail(refusal.id, refusal.error)
        try:
            if (method := METHODS.get(call.method)) is not None:
                if not call.wants_answer:
                    raise BadRequest(f"{call.method} is a request: send an id.")
                call = _checked(call, method.members)
                return await self._begin(call, method, len(text), hold)
            result = await self._at_once(call)
        except HostError as error:
            return await self._fail(call.id, error)
        if call.wants_answer:
            await self._room.outgoing.answer(frames.answer(call.id, result))

    async def _at_once(self, call: Call) -> dict[str, Any]:
        if (method := AT_ONCE_METHODS.get(call.method)) is None:
            raise UnknownMethod(details={"method": call.method})
        await method.handle(self._room, _checked(call, method.members).params)
        return {}

    async def _begin(self, call: Call, method: Method, size: int, hold: Hold) -> None:
        while len(self._tasks) >= MOST_WAITING or self._bytes > MOST_BYTES:
            self._fewer.clear()
            await self._fewer.wait()
        self._bytes += size
        task = asyncio.create_task(self._work(call, method))
        self._tasks.add(task)
        self._holds.add(hold)
        task.add_done_callback(lambda task: self._ended(task, size, hold))

    def _ended(self, task: asyncio.Task[None], size: int, hold: Hold) -> None:
        self._tasks.discard(task)
        self._holds.discard(hold)
        hold.close()
        self._bytes -= size
        self._fewer.set()

    async def _work(self, call: Call, method: Method) -> None:
        room = self._room
        async with self._slots:
            if room.over.done():
                return
            try:
                caller = of_team(room.principal.team.pk)
                async with self._request.admitted(caller, method.kind):
                    reply = await method.handle(room, call.params)
            except Exception as error:
                ours = as_host_error(error)
                log_failure(error, ours, method=call.method)
                return await self._fail(call.id, ours)
            if room.over.done():
                return
            await room.outgoing.answer(frames.answer(call.id, reply.result))
            if reply.opening is not None:
                room.begin(*reply.opening)
            if reply.message is not None:
                room.wait_for(*reply.message)

    async def _fail(self, id_: frames.Id, error: HostError) -> None:
        await self._room.outgoing.answer(frames.failure(id_, error))


def _checked(call: Call, members: frozenset[str]) -> Call:
    return replace(call, params=known_members(call.params, members))
