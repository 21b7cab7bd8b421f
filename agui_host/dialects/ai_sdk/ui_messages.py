"""A thread as the AI SDK's UIMessages: what its live readers hold, for a page that loads now."""

from typing import Any

from agui_host.dialects.ai_sdk import resumes
from agui_host.dialects.ai_sdk.fold import Stream
from agui_host.dialects.ai_sdk.message import UIMessage, of_user
from agui_host.protocol import patient_json
from agui_host.protocol.fold.fold import Fold
from agui_host.teams.authentication import Principal
from events import journal
from runs.access import access
from runs.lifecycle import history, turns
from runs.lifecycle.logs import corrections
from runs.models import ACTIVE, Run

Json = dict[str, Any]


def of_thread(principal: Principal, thread_id: str) -> list[Json]:
    """The messages, oldest first; none for an unknown thread, whose name a page has just made up.

    Messages that a newer answer replaced are left out, and so are turns beyond ``turns.newest``.
    """
    thread = access.find_thread(principal, thread_id)
    if thread is None:
        return []
    newest = turns.newest(thread.pk)
    if unfinished := [run for turn in newest for run in turn if run.status in ACTIVE]:
        resumes.page_loaded(unfinished[0])
    current = _ids(history.current(thread.pk))
    messages: dict[str, Json] = {}
    for turn in newest:
        for message in _turn(turn, current):
            messages[message["id"]] = message  # An edited one is in two logs.
    return list(messages.values())


def _ids(fold: Fold) -> set[str]:
    """The ids of all messages and tool calls that the conversation now holds."""
    calls = {call["id"] for message in fold.messages for call in message.get("toolCalls") or ()}
    return calls | {message["id"] for message in fold.messages}


def _turn(turn: list[Run], current: set[str]) -> list[Json]:
    """The user's messages of a turn, and the assistant's, if the conversation still holds it."""
    stream, message = Stream(str(turn[0].pk)), UIMessage(str(turn[0].pk))
    users: list[Json] = []
    retained = turn[-1].status in ACTIVE
    started = False
    for run in turn:
        body = patient_json.loads(run.input)
        now = corrections.of(run.pk, run.team_id, run.journal.head)
        for payload in journal.payloads(run.pk):
            event = patient_json.loads(payload)
            event = event if now is None else now.show(event)
            started = True
            if event["type"] == "RUN_STARTED":
                body = event.get("input") or body
            # A snapshot may have renamed parts streamed before it.
            retained = retained or event["type"] == "MESSAGES_SNAPSHOT"
            for chunk in stream.feed(event):
                message.feed(chunk)
        brought = [each for each in body["messages"] if each["role"] == "user"]
        users += [
            of_user(each) for each in brought if each["id"] in current or run.status in ACTIVE
        ]
    retained = retained or not stream.parts or bool(stream.parts & current)
    return [*users, message.wire()] if started and retained else users
