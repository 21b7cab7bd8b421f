"""How a chat of the AI SDK starts a run: the messages that it names can be of the host's making."""

from typing import Any
from uuid import UUID

from agui_host.backends import work
from agui_host.dialects import chats
from agui_host.dialects.ai_sdk.fold import Stream
from agui_host.dialects.ai_sdk.request import ChatRequest
from agui_host.protocol import patient_json
from agui_host.teams.authentication import Principal
from agui_host.teams.limits import refuse_work
from events import journal
from runs.access import access, start
from runs.access.start import StartOutcome
from runs.lifecycle import history, turns
from runs.models import Run, Thread

Json = dict[str, Any]


def begin(
    principal: Principal, request: ChatRequest, *, agent: str, key: str | None, digest: str
) -> StartOutcome:
    """Start the run that a chat asks for. Raises what ``chats.begin`` raises."""
    data = request.input
    if (thread := _thread_of(principal, request.answers)) is not None:
        data = {**data, "threadId": thread.thread_id}
    if (request.replaces or request.behind) and not start.earlier(principal, key, digest):
        thread = access.find_thread(principal, data["threadId"]) if "threadId" in data else None
        if thread is not None and (last := _last_to_keep(principal, thread, request)) is not None:
            data = {**data, "messages": [last]}
    return chats.begin(principal, data, agent=agent, key=key, digest=digest, chat=True)


def _thread_of(principal: Principal, answers: tuple[str, ...]) -> Thread | None:
    """The thread of the newest run that one of these messages is; None if none is."""
    keys = [key for key in map(_key, answers) if key is not None]
    if not keys:
        return None
    run = access.visible(principal).filter(pk__in=keys).order_by("-journal_id").first()
    return run.thread if run is not None else None


def _key(message_id: str | None) -> UUID | None:
    """The run that a message of the assistant is, by its id."""
    try:
        return UUID(message_id or "")
    except ValueError:
        return None


def _last_to_keep(principal: Principal, thread: Thread, request: ChatRequest) -> Json | None:
    """The stored message behind which a regenerate begins; None if the request itself names it.

    A message of the assistant is a turn here: of all that its runs said.
    """
    stored = chats.history_of(principal, thread).messages
    place = _first_of(thread, request.replaces, stored)
    if place is None:
        place = _behind(thread, request.behind, stored)
    before = [each for each in stored[:place] if each["role"] not in history.NOT_SENT]
    return before[-1] if place is not None and before else None


def _first_of(thread: Thread, message_id: str | None, stored: list[Json]) -> int | None:
    places = _places(thread, message_id, stored)
    return places[0] if places else None


def _behind(thread: Thread, message_id: str | None, stored: list[Json]) -> int | None:
    places = _places(thread, message_id, stored)
    return places[-1] + 1 if places else None


def _places(thread: Thread, message_id: str | None, stored: list[Json]) -> list[int]:
    """Where the thread holds a turn's messages; nowhere if no turn has that id."""
    key = _key(message_id)
    rows = Run.objects.of_one_thread().filter(thread=thread, pk=key, purged_at=None)
    if key is None or (first := rows.first()) is None:
        return []
    stream = Stream(str(key))
    for run in turns.starting(first):
        refuse_work(thread.team_id)
        size = 0
        for payload in journal.payloads(run.pk):
            size += len(payload)
            stream.feed(patient_json.loads(payload))
        work.charge(thread.team_id, "fold", size // work.BYTES)
    return [
        place
        for place, message in enumerate(stored)
        if message["id"] in stream.parts
        or any(call["id"] in stream.parts for call in message.get("toolCalls") or ())
        or message.get("toolCallId") in stream.parts
    ]
