"""Threads as OpenAI's conversations: a name, metadata, and the messages as items.

A conversation can be made before its first response, with items. Its items are the messages of the
thread's history, so that a run that follows is given them.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction

from agui_host.backends.postgres import clock, turns
from agui_host.dialects import chats
from agui_host.dialects.openai import items
from agui_host.errors import BadCursor, NotFound, TooLarge
from agui_host.protocol.errors import Invalid
from agui_host.protocol.input import run_agent_input
from agui_host.protocol.input.numbers import whole
from agui_host.protocol.strict_json import dumps
from agui_host.protocol.wire.room import MOST_CHARACTERS, Room, characters, shortened
from agui_host.teams.authentication import Principal
from agui_host.teams.limits import limits_of
from runs.access import access, threads
from runs.lifecycle import admission, history, lifecycle, thread_lock
from runs.lifecycle.deletion import erasure
from runs.models import ACTIVE, Run, Thread

Json = dict[str, Any]
PREFIX = "conv_"
PAGE, LARGEST_PAGE = 20, 100
MOST = 4 * MOST_CHARACTERS
"""Characters of a conversation that takes more items: each request for one reads all of them."""


def create(principal: Principal, messages: list[Json], metadata: Json) -> Json:
    """A conversation: a new thread."""
    access.require(principal, "run")
    name = PREFIX + clock.new_id().hex
    _change(
        principal, name, (lambda stored: _longer(stored, messages)) if messages else None, metadata
    )
    return find(principal, name)


def find(principal: Principal, name: str) -> Json:
    """A conversation. Raises NotFound."""
    thread = _thread(principal, name)
    created, metadata = int(thread.created_at.timestamp()), json.loads(thread.metadata or "{}")
    return {"id": name, "object": "conversation", "created_at": created, "metadata": metadata}


def update(principal: Principal, name: str, metadata: Json) -> Json:
    """Keep other metadata. Raises NotFound, Forbidden."""
    access.require(principal, "run")
    _thread(principal, name)
    _change(principal, name, None, metadata)
    return find(principal, name)


def delete(principal: Principal, name: str) -> Json:
    """Erase a conversation with all of its runs. Raises NotFound, Forbidden, and as ``erasure``."""
    access.require(principal, "delete")
    erasure.erase_thread(principal, _thread(principal, name))
    return {"id": name, "object": "conversation.deleted", "deleted": True}


def listed(principal: Principal, name: str, query: Mapping[str, str]) -> tuple[list[Json], bool]:
    """A page of the items, newest first unless ``order`` is ``asc``, and whether more follow."""
    thread = _thread(principal, name)
    size = whole(query.get("limit") or str(PAGE), 1, LARGEST_PAGE)
    if size is None:
        raise Invalid(f"limit must be 1 to {LARGEST_PAGE}.", details={"path": "limit"})
    every = _items(principal, thread)
    if query.get("order") != "asc":
        every.reverse()
    if after := query.get("after"):
        places = [place for place, item in enumerate(every) if item["id"] == after]
        if not places:
            raise BadCursor("after must be the id of an item of this conversation.")
        every = every[places[0] + 1 :]
    room, page = Room(f"/v1/conversations/{name}/items"), every[:1]
    for item in every[1:size]:
        if not room.take(len(dumps(item))):
            break
        page.append(item)
    return page, len(page) < len(every)


def item(principal: Principal, name: str, item_id: str) -> Json:
    """One item. Raises NotFound."""
    for each in _items(principal, _thread(principal, name)):
        if each["id"] == item_id:
            return each
    raise NotFound("There is no such item.")


def add(principal: Principal, name: str, messages: list[Json]) -> list[Json]:
    """Add items to the end of a conversation; existing ids stay as they are.

    While a run has not ended, a user's texts are messages to it, and anything else is refused.
    Raises NotFound, Forbidden, TooLarge, ThreadBusy, and as ``chats.steer``.
    """
    access.require(principal, "run")
    _thread(principal, name)
    left = messages
    if (active := threads.active(principal, name)) and all(map(_is_said, messages)):
        left = [each for each in messages if not chats.steer(principal, active[0], each)]
    if left or not messages:
        _change(principal, name, lambda stored: _longer(stored, left))
    return [item for message in messages for item in items.of(message)]


def _is_said(message: Json) -> bool:
    return message["role"] == "user" and isinstance(message.get("content"), str)


def remove(principal: Principal, name: str, item_id: str) -> Json:
    """Remove one item from the history; the logs of the runs stay. Raises as ``add``, LegalHold."""
    access.require(principal, "run")
    _thread(principal, name)

    def shorter(stored: list[Json]) -> list[Json]:
        left = [message for each in stored for message in _without(each, item_id)]
        if left == stored:
            raise NotFound("There is no such item.")
        return left

    _change(principal, name, shorter, erases=True)
    return find(principal, name)


def _longer(stored: list[Json], messages: list[Json]) -> list[Json]:
    """The stored messages and those of the others whose ids are new. Raises TooLarge."""
    ids = {name for message in stored for name in _names(message)}
    longer = list(stored)
    for message in messages:
        if not (names := _names(message)) & ids:
            longer.append(message)
            ids |= names
    if sum(map(characters, longer)) > MOST:
        text = f"A conversation has room for {MOST:,} characters of items."
        raise TooLarge(text, details={"limit": MOST})
    return longer


def _names(message: Json) -> set[str]:
    return {message["id"], *_calls(message)}


def _calls(message: Json) -> set[str]:
    return {call["id"] for call in message.get("toolCalls") or ()}


def _without(message: Json, item_id: str) -> list[Json]:
    """A message without one of its items; none, if nothing is left."""
    calls = message.get("toolCalls") or []
    left = [call for call in calls if items.client_call(call["id"], "")["id"] != item_id]
    if len(left) < len(calls):
        rest = {name: value for name, value in message.items() if name != "toolCalls"}
        if left:
            return [{**rest, "toolCalls": left}]
        return [rest] if rest.get("content") else []
    if message["id"] != item_id:
        return [message]
    return [{**message, "content": ""}] if calls else []


def _items(principal: Principal, thread: Thread) -> list[Json]:
    whole = f"/api/v1/threads/{thread.pk}"
    stored = chats.history_of(principal, thread).messages
    return [item for each in stored for item in items.of(shortened(each, whole))]


def _thread(principal: Principal, name: str) -> Thread:
    thread = access.find_thread(principal, name)
    if thread is None:
        raise NotFound("There is no such conversation.")
    return thread


def with_ids(messages: list[Json]) -> list[Json]:
    """Messages in AG-UI's form, each with an id. Raises Invalid."""
    named = [{**each, "id": each.get("id") or f"msg_{clock.new_id().hex}"} for each in messages]
    read: list[Json] = run_agent_input.parse({"messages": named}).body["messages"]
    return read


def _change(
    principal: Principal,
    name: str,
    change: Callable[[list[Json]], list[Json]] | None,
    metadata: Json | None = None,
    *,
    erases: bool = False,
) -> None:
    """Store other messages or metadata, under the lock of the thread, which may be made here.

    A team at its limits for starts adds nothing: a conversation can grow without any run.

    ``erases``: not under legal hold, since no log has the items that no run has brought.
    """
    access.require_thread(principal, name)
    if not erases:
        admission.check(principal.team.pk, limits_of(principal.team))

    def attempt() -> None:
        with transaction.atomic():
            thread, _ = thread_lock.made(
                principal.team, name, created_by=principal.label, creator=principal.actor_id
            )
            if erases:
                erasure.check_hold(thread.team, thread)
            if metadata is not None:
                thread.metadata = dumps(metadata) if metadata else ""
                thread.save(update_fields=["metadata"])
            if change is None:
                return
            busy = Run.objects.filter(thread=thread, status__in=ACTIVE).first()
            if busy is not None:
                raise lifecycle.ThreadBusy(details=lifecycle.address(busy))
            fold = chats.history_of(principal, thread)
            history.rewrite(thread.pk, fold, change(fold.messages))

    turns.wait(attempt)
