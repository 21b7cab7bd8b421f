"""What TanStack AI's client asks for: a run by its own name for it, and a thread for a page."""

import json
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from agui_host.backends.postgres import clock
from agui_host.dialects.tanstack import wire as tanstack
from agui_host.errors import BadCursor, Conflict, NotFound
from agui_host.protocol.errors import Invalid
from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.input.numbers import whole
from agui_host.protocol.strict_json import dumps
from agui_host.protocol.wire.room import MOST_CHARACTERS, shortened
from agui_host.teams.authentication import Principal
from runs.access import access, cursors, start, threads
from runs.lifecycle import history, interrupts
from runs.models import Run, Thread

Json = dict[str, Any]

MOST_MESSAGES = 5_000


def named(principal: Principal, slug: str, run_id: str) -> Run:
    """The run of that client's name; the client names no thread. Raises NotFound, Conflict.

    A name that two threads have is ambiguous; of several attempts it is the newest. The agent must
    be one of the team's, but a thread can have runs of others.
    """
    start.find_agent(principal, slug)
    newest = list(access.visible(principal).filter(run_id=run_id).order_by("-journal_id")[:2])
    if not newest:
        raise NotFound("There is no such run.")
    if len({run.thread_id for run in newest}) > 1:
        raise Conflict("Runs of several threads have this runId.", details={"runId": run_id})
    return access.find(principal, newest[0].pk)


def position(headers: Mapping[str, str], offset: str) -> int | None:
    """The cursor that a reader comes back with, else that of its address; -1 is the beginning."""
    return cursors.from_request(headers, {} if offset == "-1" else {"after": offset})


def hydration(principal: Principal, slug: str, query: Mapping[str, str]) -> Json:
    """``{messages, activeRun, interrupts, page}`` of the thread ``threadId``, oldest first.

    ``limit`` messages before the message ``before``. An unknown thread is empty: a page makes up
    the name of its thread before the first run. The messages are those from before the active run,
    which the client replays from its first event.
    """
    start.find_agent(principal, slug)
    limit = _limit(query.get("limit"))
    thread = access.find_thread(principal, query["threadId"])
    if thread is None:
        return _answer([], None, None, {"truncated": False})
    fold, active = _current(principal, thread)
    address = f"/api/v1/threads/{thread.pk}"
    messages = tanstack.ui_messages([shortened(each, address) for each in fold.messages])
    if active is not None:
        messages += _brought(active, messages)
    newest, page = _page(messages, limit, query.get("before"))
    running = {"runId": active.run_id} if active else None
    return _answer(newest, running, _questions(thread), page)


def _answer(messages: list[Json], active: Json | None, pending: Json | None, page: Json) -> Json:
    return {"messages": messages, "activeRun": active, "interrupts": pending, "page": page}


def _current(principal: Principal, thread: Thread) -> tuple[Fold, Run | None]:
    """The thread's fold before its active run, and that run."""
    while True:
        active = threads.active(principal, thread.thread_id)[:1]
        fold = history.current(thread.pk)
        # A run that ended or began meanwhile can be in the fold, and would be shown twice or not
        # at all.
        if threads.active(principal, thread.thread_id)[:1] == active:
            return fold, active[0] if active else None


def _brought(active: Run, before: list[Json]) -> list[Json]:
    """The messages that the active run's request added.

    On the run's first content the client drops a last message of the assistant, for it takes it for
    a part of that run; if nothing was added, it gets an empty one to drop.
    """
    brought = tanstack.ui_messages(history.echo(active)["messages"])
    if not brought and before and before[-1]["role"] == "assistant":
        brought = [{"id": str(active.pk), "role": "assistant", "parts": []}]
    return brought


def _questions(thread: Thread) -> Json | None:
    now = clock.now()
    rows = [row for row in interrupts.newest(thread.pk).select_related("run") if row.missing(now)]
    if not rows:
        return None
    run_id = rows[0].run.run_id
    pending = [tanstack.bound(json.loads(row.question), run_id) for row in rows]
    return {"runId": run_id, "pending": pending}


def _page(messages: list[Json], limit: int, before: str | None) -> tuple[list[Json], Json]:
    end = len(messages)
    if before is not None:
        end = next((place for place, each in enumerate(messages) if each["id"] == before), -1)
        if end < 0:
            raise BadCursor("before must be the cursor of an earlier page.")
    sizes = accumulate(len(dumps(each)) for each in reversed(messages[max(end - limit, 0) : end]))
    # Always one message, so that every page leads to the one before it.
    first = end - max(1, sum(size <= MOST_CHARACTERS for size in sizes)) if end else 0
    if not first:
        return messages[:end], {"truncated": False}
    return messages[first:end], {"truncated": True, "cursor": messages[first]["id"]}


def _limit(text: str | None) -> int:
    if text is None:
        return MOST_MESSAGES
    if (limit := whole(text, 1, MOST_MESSAGES)) is None:
        raise Invalid(f"limit must be 1 to {MOST_MESSAGES}.", details={"path": "limit"})
    return limit
