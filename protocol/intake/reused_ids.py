"""Renames ids that an agent uses again in a later run, for its new messages and calls.

A client appends to the message that it holds, so two answers with one id would become one text. Ids
are unique in a thread (AG-UI 1.0), but some adapters count from 1 in each run.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

Wire = dict[str, Any]

_MINTING = frozenset(
    {
        "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "TEXT_MESSAGE_CHUNK",
        "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END",
        "REASONING_MESSAGE_CHUNK", "TOOL_CALL_RESULT",
    }
)  # fmt: skip
"""Events that begin a message of this run, or continue one."""
_CALLING = frozenset({"TOOL_CALL_START", "TOOL_CALL_CHUNK"})
_ACTIVITIES = frozenset({"ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA"})


class ReusedIds:
    """The renaming of one run: ``id`` becomes ``id~runId`` wherever this run means its own part.

    A call counts as used when it has its result: until then a START may only repeat its name. Any
    run may update an activity, so its id is only reserved against other messages.
    """

    def __init__(
        self,
        run_id: str,
        history: Iterable[Mapping[str, Any]],
        renamed: Callable[[], object] = lambda: None,
    ) -> None:
        """``history``: the messages of the thread before this run; ``renamed`` is called for each.

        A delta whose id is not in ``used`` can be skipped.
        """
        self._run_id = run_id
        self._renamed = renamed
        self._activities: set[str] = set()
        self._taken: set[str] = set()
        self._calls: set[str] = set()
        answered: set[str] = set()
        for message in history:
            is_activity = message["role"] == "activity"
            (self._activities if is_activity else self._taken).add(message["id"])
            self._calls.update(call["id"] for call in message.get("toolCalls") or ())
            if message["role"] == "tool":
                answered.add(message["toolCallId"])
        self._answered = self._calls & answered
        self.used = frozenset(self._taken | self._activities | self._answered)
        self._messages: dict[str, str] = {}
        self._new_calls: dict[str, str] = {}

    def rename(self, event: Wire) -> Wire:
        """The event, changed in place if it carries a reused id."""
        kind = event["type"]
        if kind in _MINTING:
            self._mint(event)
        elif kind in _CALLING:
            self._call(event)
        elif kind in _ACTIVITIES:
            if event["messageId"] in self._taken:
                event["messageId"] = self._message(event["messageId"])
        elif (self._messages or self._new_calls) and kind == "MESSAGES_SNAPSHOT":
            self._snapshot(event["messages"])
        if self._messages or self._new_calls:
            self._refer(event)
        return event

    def dump(self) -> dict[str, Any]:
        """The ids that were renamed, as JSON."""
        return {"messages": self._messages, "calls": self._new_calls}

    def load(self, dumped: dict[str, Any]) -> None:
        """Take over what ``dump`` wrote."""
        self._messages, self._new_calls = dumped["messages"], dumped["calls"]
        self._taken |= self._messages.keys()
        self._calls |= self._new_calls.keys()
        self._answered |= self._new_calls.keys()
        self.used |= self._messages.keys() | self._new_calls.keys()

    def _mint(self, event: Wire) -> None:
        name = event.get("messageId")
        if name is not None and (name in self._taken or name in self._activities):
            event["messageId"] = self._message(name)

    def _call(self, event: Wire) -> None:
        call, parent = event.get("toolCallId"), event.get("parentMessageId")
        if call in self._answered and call not in self._new_calls:
            self._new_calls[call] = self._fresh(call, self._calls)
        is_new = call in self._new_calls or call not in self._calls
        if parent in self._taken and is_new:
            event["parentMessageId"] = self._message(parent)

    def _refer(self, event: Wire) -> None:
        """Rename the ids by which other events refer to a renamed part."""
        for key in ("toolCallId", "parentToolCallId"):
            if event.get(key) in self._new_calls:
                event[key] = self._new_calls[event[key]]
        if event["type"] == "SUBAGENT_STARTED" and event.get("parentMessageId") in self._messages:
            event["parentMessageId"] = self._messages[event["parentMessageId"]]
        if event["type"] == "REASONING_ENCRYPTED_VALUE":
            names = self._messages if event["subtype"] == "message" else self._new_calls
            event["entityId"] = names.get(event["entityId"], event["entityId"])
        for interrupt in (event.get("outcome") or {}).get("interrupts", ()):
            if interrupt.get("toolCallId") in self._new_calls:
                interrupt["toolCallId"] = self._new_calls[interrupt["toolCallId"]]

    def _snapshot(self, messages: list[Wire]) -> None:
        """Rename in a snapshot only what follows the user's last message: this run's part."""
        users = [place for place, each in enumerate(messages) if each["role"] == "user"]
        for message in messages[users[-1] + 1 if users else 0 :]:
            message["id"] = self._messages.get(message["id"], message["id"])
            for call in message.get("toolCalls") or ():
                call["id"] = self._new_calls.get(call["id"], call["id"])
            if message.get("toolCallId") in self._new_calls:
                message["toolCallId"] = self._new_calls[message["toolCallId"]]

    def _message(self, name: str) -> str:
        if name not in self._messages:
            self._messages[name] = self._fresh(name, self._taken | self._activities)
        return self._messages[name]

    def _fresh(self, name: str, taken: set[str]) -> str:
        self._renamed()
        fresh = f"{name}~{self._run_id}"
        while fresh in taken:  # A retried run has the same runId.
            fresh += "~"
        return fresh
