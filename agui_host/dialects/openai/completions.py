"""Which thread a chat completion belongs to: the thread that the request names, or continues.

Clients of this API send whole histories without ids. A name decides. Without one a request is
taken for the next turn of a thread only if that thread holds exactly the messages before the new
ones, and the same principal's completion has begun its last turn: so an agent is never given a
message that the request did not bring.
"""

from typing import Any
from uuid import UUID

import uuid6
from django.conf import settings
from django.db import transaction

from agui_host.backends.postgres import turns as lines
from agui_host.dialects import chats
from agui_host.dialects.openai import turns
from agui_host.dialects.openai.request import ChatCompletionRequest
from agui_host.protocol.errors import Invalid
from agui_host.protocol.input import run_agent_input
from agui_host.teams.authentication import Principal
from runs.access import access, start
from runs.lifecycle import history, thread_lock
from runs.models import ACTIVE, Run, Thread

Json = dict[str, Any]
PREFIX = "chatcmpl-"
REFUSE = "refuse"
INSTRUCTIONS = ("system", "developer")
MOST = 20
"""Threads with one beginning that are compared with a request."""


def begin(principal: Principal, request: ChatCompletionRequest, key: str | None) -> Run:
    """Start the run of a completion. Raises what ``chats.begin`` raises."""
    access.require(principal, "run")
    if earlier := start.earlier(principal, key, request.digest):
        return earlier
    model, name = request.model, request.thread
    messages: list[Json] = run_agent_input.parse(request.input).body["messages"]
    if request.is_task:
        model, name = _helper(principal, model), None
    thread = None
    if name is not None:
        thread = access.find_thread(principal, name)
    elif not request.is_task:
        thread = _continued(principal, request, messages)
        name = thread.thread_id if thread is not None else None
    data = {**request.input, "threadId": name or str(uuid6.uuid7())}
    if thread is not None:
        start.find_agent(principal, model)  # Without it nothing starts, and nothing may change.
        data["messages"] = _new(principal, thread, messages)
    digest = request.digest
    run = chats.begin(principal, data, agent=model, key=key, digest=digest, chat=True).run
    if not request.is_task:
        own = {"chat_digest": turns.digests(messages).own, "chat_by": principal.actor_id}
        Thread.objects.for_team(principal.team).filter(pk=run.thread_id).update(**own)
    return run


def _helper(principal: Principal, model: str) -> str:
    """The agent for a user interface's own requests. Raises Invalid if none does."""
    setting = settings.AGUI_CHAT_TASKS
    if setting == REFUSE:
        raise Invalid("This host makes no titles, tags and follow-ups for user interfaces.")
    return start.find_agent(principal, setting).slug if setting else model


def _continued(
    principal: Principal, request: ChatCompletionRequest, messages: list[Json]
) -> Thread | None:
    """The thread that holds exactly the messages before the new ones; None if there is none.

    It is that of the completion that the request's last answer is, by its id, or the newest of this
    principal's that began as the request does.
    """
    before = turns.Request.of(messages).before
    if not before:
        return None
    run_id = _run_of(request.answer_id)
    mine = access.visible_threads(principal).filter(chat_by=principal.actor_id)
    if (
        run_id is not None
        and (row := mine.filter(runs=run_id).first())
        and _holds(principal, row, before)
    ):
        return row
    rows = mine.filter(chat_digest=turns.digests(messages).earlier).order_by("-pk")
    return next((row for row in rows[:MOST] if _holds(principal, row, before)), None)


def _run_of(answer_id: str | None) -> UUID | None:
    try:
        return UUID((answer_id or "").removeprefix(PREFIX))
    except ValueError:
        return None


def _holds(principal: Principal, thread: Thread, before: list[Json]) -> bool:
    if _is_busy(thread):
        return False
    return turns.is_same(chats.history_of(principal, thread).messages, before)


def _is_busy(thread: Thread) -> bool:
    return Run.objects.filter(thread=thread, status__in=ACTIVE).exists()


def _new(principal: Principal, thread: Thread, messages: list[Json]) -> list[Json]:
    """The messages that a thread lacks; first removes those missing or changed in it."""
    split = turns.Request.of(messages)
    access.require_thread(principal, thread.thread_id, is_known=True)

    def attempt() -> list[Json]:
        with transaction.atomic():
            thread_lock.take(thread)
            fold = chats.history_of(principal, thread)
            changed = None if _is_busy(thread) else turns.continued(fold.messages, split)
            if changed is None:
                return fold.messages
            history.rewrite(thread.pk, fold, changed)
            return changed

    return _unstored(lines.wait(attempt), split.new)


def _unstored(messages: list[Json], new: list[Json]) -> list[Json]:
    """The new messages without the instructions that the thread begins with already."""
    stored = {(each["role"], each["content"]) for each in messages if each["role"] in INSTRUCTIONS}
    return [
        each
        for each in new
        if each["role"] not in INSTRUCTIONS or (each["role"], each["content"]) not in stored
    ]
