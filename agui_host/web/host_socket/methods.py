"""The requests of the socket. Each calls the verbs of the HTTP API, and contains no rules."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple
from uuid import UUID

from agui_host.backends.postgres.bridge import db
from agui_host.errors import BadCursor
from agui_host.kinds import JOIN, START, WRITE, Kind
from agui_host.protocol.input.fields import wrong
from agui_host.protocol.input.members import known_members
from agui_host.web.consumers.saying import send_message
from agui_host.web.host_socket import params as read
from agui_host.web.host_socket.feed import FeedSubscription
from agui_host.web.host_socket.room import Room
from agui_host.web.host_socket.subscriptions import (
    RunSubscription,
    Subscription,
    ThreadSubscription,
)
from runs.access import access, cursors, feed, following, sight, start
from runs.access.following import Place
from runs.api.interrupts import answered
from runs.api.serializers import RunSerializer
from runs.lifecycle import lifecycle
from runs.models import Run

Params = dict[str, Any]


class Opening(NamedTuple):
    """A subscription that begins after the answer, and the team that owns its runs."""

    subscription: Subscription
    owner: UUID


class Reply(NamedTuple):
    """The result of a request, and the subscription that begins after it, if any.

    ``message`` is the run and the number of a message that was sent.
    """

    result: dict[str, Any]
    opening: Opening | None = None
    message: tuple[UUID, int] | None = None


class Method(NamedTuple):
    """A request that needs the database, and its kind at the gate."""

    handle: Callable[[Room, Params], Awaitable[Reply]]
    kind: Kind
    members: frozenset[str]
    """Of its parameters; any other is refused."""


async def start_run(room: Room, params: Params) -> Reply:
    """``run.start {agent, input, on_busy?, idempotency_key?, subscribe?}``."""
    if params.get("subscribe") is None:
        started, _ = await db(_start, room, params, None)
        room.threads.nudge()
        return Reply({"run": started})
    after, window = read.cursor(params["subscribe"]), read.window(params)
    if after and params.get("idempotency_key") is None:
        raise BadCursor("A run that begins now has no events to come after: subscribe from 0.")
    name = room.take_place()
    try:
        started, place = await db(_start, room, params, after)
    except BaseException:
        room.give_back()
        raise
    room.threads.nudge()
    owner = room.principal.team.pk
    subscription = RunSubscription(
        name, room.outgoing, window, place,
        principal=room.principal, owner=owner, is_whole=True,
    )  # fmt: skip
    result = {"run": started, "subscription": name}
    return Reply(result, Opening(subscription, owner))


def _start(room: Room, params: Params, after: int | None) -> tuple[dict[str, Any], Place]:
    key = read.optional_text(params, "idempotency_key")
    body = {name: params.get(name) for name in ("agent", "input", "on_busy")}
    run = start.start_from_api(room.standing(), body, key=key).run
    # A run that this request made has no other position; a run of an earlier request can have one.
    return _rendered(run), Place(run.pk, cursors.place(run, after))


async def cancel_run(room: Room, params: Params) -> Reply:
    """``run.cancel {run}``."""
    return Reply({"run": await db(_cancel, room, read.uuid(params, "run"))})


def _cancel(room: Room, run_id: UUID) -> dict[str, Any]:
    principal = room.standing()
    lifecycle.cancel(access.find(principal, run_id, "cancel"), principal)
    return _rendered(access.find(principal, run_id))


async def say(room: Room, params: Params) -> Reply:
    """``run.say {run, id, role, content}``."""
    run_id = read.uuid(params, "run")
    message = {name: value for name, value in params.items() if name != "run"}
    seq = await db(_say, room, run_id, message)
    return Reply({"seq": seq}, message=(run_id, seq))


def _say(room: Room, run_id: UUID, message: dict[str, Any]) -> int:
    return send_message(room.standing(), run_id, message)


async def answer_interrupt(room: Room, params: Params) -> Reply:
    """``interrupt.answer {interrupt, status, payload?, metadata?}``."""
    key = read.uuid(params, "interrupt")
    answer = {name: value for name, value in params.items() if name != "interrupt"}
    result = await db(lambda: answered(room.standing(), key, answer))
    room.threads.nudge()
    return Reply(result)


async def subscribe_run(room: Room, params: Params) -> Reply:
    """``run.subscribe {run, after?, window?}``."""
    run_id, after = read.uuid(params, "run"), read.cursor(params.get("after"))
    window, name = read.window(params), room.take_place()
    try:
        place, owner, is_whole, in_full = await db(_place, room, run_id, after)
    except BaseException:
        room.give_back()
        raise
    subscription = RunSubscription(
        name, room.outgoing, window, place,
        principal=room.principal, owner=owner, is_whole=is_whole, in_full=in_full,
    )  # fmt: skip
    return Reply({"subscription": name}, Opening(subscription, owner))


def _place(room: Room, run_id: UUID, after: int | None) -> tuple[Place, UUID, bool, bool]:
    run = access.find(room.standing(), run_id)
    is_whole = sight.is_whole(room.principal, run)
    in_full = is_whole or access.sees_thread(room.principal, run)
    return Place(run.pk, cursors.place(run, after)), run.team_id, is_whole, in_full


async def subscribe_thread(room: Room, params: Params) -> Reply:
    """``thread.subscribe {thread_id, after?, window?}``; ``after`` is 0 or ``{run, seq}``."""
    thread_id, after = read.text(params, "thread_id"), _after(params.get("after"))
    window, name = read.window(params), room.take_place()
    try:
        thread, place, begins = await db(_thread, room, thread_id, after)
        is_whole = await db(_sees, room, thread_id)
    except BaseException:
        room.give_back()
        raise
    subscription = ThreadSubscription(
        name, room.outgoing, window, place,
        thread=thread, begins=begins, standing=room.standing,
        principal=room.principal, is_whole=is_whole,
    )  # fmt: skip
    return Reply({"subscription": name}, Opening(subscription, room.principal.team.pk))


def _sees(room: Room, thread_id: str) -> bool:
    return access.find_thread(room.standing(), thread_id) is not None


def _after(value: Any) -> Place | bool:
    """Where a reader of a thread begins; True: at its start, False: with the runs of now."""
    if isinstance(value, dict):
        value = known_members(value, ("run", "seq"))
        return Place(read.uuid(value, "run"), read.cursor(value.get("seq")))
    if value is not None and read.cursor(value):
        raise wrong("after", '0, or {"run", "seq"} of the last event')
    return value is not None


def _thread(room: Room, thread_id: str, after: Place | bool) -> tuple[UUID, Place, bool]:
    principal = room.standing()
    thread = following.thread_of(principal, thread_id)
    if isinstance(after, Place):
        return thread, following.place_in(principal, thread, after), True
    first = following.first(principal, thread, whole=after)
    if first is None:
        return thread, Place(following.newest(principal, thread), 0), False
    return thread, Place(first, 0), True


async def subscribe_team(room: Room, params: Params) -> Reply:
    """``team.subscribe {after?, window?}``; without ``after`` from now on."""
    value = params.get("after")
    after, window = None if value is None else read.cursor(value), read.window(params)
    name, team = room.take_place(), room.principal.team.pk
    try:
        position = await db(lambda: feed.place(room.standing(), after))
    except BaseException:
        room.give_back()
        raise
    subscription = FeedSubscription(
        name, room.outgoing, window, position, team=team, standing=room.standing
    )
    return Reply({"subscription": name, "cursor": position.name}, Opening(subscription, team))


def _rendered(run: Run) -> dict[str, Any]:
    return dict(RunSerializer(run).data)


WINDOWED = frozenset({"after", "window"})
METHODS = {
    "run.start": Method(
        start_run,
        START,
        frozenset({"agent", "input", "on_busy", "idempotency_key", "subscribe", "window"}),
    ),
    "run.cancel": Method(cancel_run, WRITE, frozenset({"run"})),
    "run.say": Method(say, WRITE, frozenset({"run", "id", "role", "content"})),
    "interrupt.answer": Method(
        answer_interrupt, START, frozenset({"interrupt", "status", "payload", "metadata"})
    ),
    "run.subscribe": Method(subscribe_run, JOIN, WINDOWED | {"run"}),
    "thread.subscribe": Method(subscribe_thread, JOIN, WINDOWED | {"thread_id"}),
    "team.subscribe": Method(subscribe_team, JOIN, WINDOWED),
}
