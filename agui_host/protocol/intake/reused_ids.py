"""Distinguishes messages and calls that an agent gives one id, in a later run or within one.

A client appends to the message that it holds, so two answers with one id would become one text, and
two calls one text of arguments that no parser reads. Ids are unique in a thread (AG-UI 1.0), but
some adapters count from 1 in each run, use a message's id for an activity, or send empty ids.

A run's own ids follow from its log; only the new names do not, so a restored intake remembers them.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.protocol.fold.arguments import BEGUN, Arguments, squeezed
from agui_host.protocol.intake.questions import told_apart

Wire = dict[str, Any]

CALL = "call"
"""Used in the tables in addition to the roles of messages."""
_REASONING = frozenset({
    "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END",
})  # fmt: skip
_ACTIVITIES = frozenset({"ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA"})
_TEXTS = frozenset({"TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"})
_BOUNDS = frozenset({"TOOL_CALL_START", "TOOL_CALL_END"})
MAX_COMPARED = 64 * 1024
"""Characters of arguments that are compared with those of a call that a snapshot brought."""
MAX_RESULTS = 100
"""How many results of one call are told apart."""
MAX_BROUGHT, ENTRY = 16 * 1024 * 1024, 256
"""Bytes that are kept of a run's snapshots, and those of one id in addition to it."""
_WRITTEN = frozenset({"assistant", "user", "system", "developer"})


class ReusedIds:
    """The renaming of one run: ``id`` becomes ``id~runId`` wherever this run means its own part.

    A call of an earlier run counts as used when it has its result: until then a START may only
    repeat its name. Any run can update an activity, so its id is only reserved against other
    messages. Within a run an id belongs to messages of one role; a call is another one when the
    earlier one has its result, all of its arguments, or another name. A call from a snapshot can be
    streamed after it; its events are left out then, unless its arguments differ.
    """

    def __init__(
        self,
        run_id: str,
        history: Iterable[Mapping[str, Any]],
        find: Callable[[str], object] = lambda action: None,
        *,
        repair: bool = True,
    ) -> None:
        """``history``: the messages of the thread before this run.

        ``find`` is called with the action of each finding. A delta whose id is not in ``used`` or
        ``restated`` can be skipped. Without ``repair`` questions keep their ids.
        """
        self._run_id = run_id
        self._find = find
        self._repair = repair
        self._taken: dict[str, str] = {}
        calls: dict[str, Mapping[str, Any]] = {}
        answered: set[str] = set()
        for message in history:
            self._taken[message["id"]] = message["role"]
            calls.update((call["id"], call) for call in message.get("toolCalls") or ())
            if message["role"] == "tool":
                answered.add(message["toolCallId"])
        self._answered = calls.keys() & answered
        self.used = self._taken.keys() | self._answered
        self._own: dict[str, str] = {}
        self._calls: dict[str, Arguments] = {}
        self._results: dict[str, tuple[str, ...]] = {}
        self._names: dict[str, dict[str, list[str]]] = {}
        self._texts: dict[str, str] = {}
        self._fresh_ids: set[str] = set()
        self._counts: dict[str, int] = {}
        self._replied: dict[str, int] = {}
        self.restated: dict[str, str] = {}
        self.room = MAX_BROUGHT
        self._again: dict[str, list[Any]] = {}
        self._waiting = calls.keys() - answered
        for name in self._waiting:
            self._restate(calls[name])

    def rename(self, event: Wire) -> list[Wire]:
        """The event, changed in place if it carries such an id, and what must come before it.

        Nothing if it only repeats a snapshot.
        """
        kind, before = event["type"], []
        if kind == "TEXT_MESSAGE_START":
            self._text_start(event)
        elif kind in _TEXTS:
            event["messageId"] = self.text(event["messageId"])
        elif kind in _REASONING:
            is_new = kind == "REASONING_MESSAGE_START"
            event["messageId"] = self._message("reasoning", event["messageId"], is_new=is_new)
        elif kind in _ACTIVITIES:
            name = event["messageId"] or event["activityType"]
            event["messageId"] = self._message("activity", name, is_new=not event["messageId"])
        elif kind == "TOOL_CALL_START":
            before = self._call_start(event)
        elif kind == "TOOL_CALL_ARGS":
            return self._args(event)
        elif kind == "TOOL_CALL_RESULT":
            self._result(event)
        elif kind == "MESSAGES_SNAPSHOT":
            self._snapshot(event["messages"])
        else:
            self._refer(event)
        return [] if self._repeats(kind, event) else [*before, event]

    def text(self, name: str) -> str:
        """The id of the text message that the agent calls so."""
        role = self._texts.get(name) or self._own.get(name)
        return self._message(role if role in _WRITTEN else "assistant", name, is_new=False)

    def delta(self, kind: str, name: str) -> str:
        """The id of the part that a delta continues."""
        if kind == "TOOL_CALL_ARGS":
            return self._call(name)
        return self.text(name) if kind in _TEXTS else self._message("reasoning", name, is_new=False)

    def follow(self, event: Mapping[str, Any]) -> None:
        """Take note of an event of the log."""
        kind = event["type"]
        if kind == "TOOL_CALL_ARGS":
            self.argued(event["toolCallId"], event["delta"])
        elif kind == "TEXT_MESSAGE_START":
            self._own.setdefault(event["messageId"], event.get("role", "assistant"))
        elif kind == "REASONING_MESSAGE_START":
            self._own.setdefault(event["messageId"], "reasoning")
        elif kind == "ACTIVITY_SNAPSHOT":
            self._own.setdefault(event["messageId"], "activity")
        elif kind == "TOOL_CALL_START":
            call = event["toolCallId"]
            if call not in self._calls:
                self._own.setdefault(event.get("parentMessageId", call), "assistant")
            known = self._calls.get(call, BEGUN)
            self._calls[call] = known._replace(name=event["toolCallName"], is_open=True)
        elif kind == "TOOL_CALL_END":
            known = self._calls.get(event["toolCallId"], BEGUN)
            self._calls[event["toolCallId"]] = known._replace(is_open=False)
        elif kind == "TOOL_CALL_RESULT":
            self._answer(event["toolCallId"], event["messageId"])
        elif kind == "MESSAGES_SNAPSHOT":
            self._follow_snapshot(event["messages"])

    def argued(self, call: str, text: str) -> None:
        """Take note of a piece of a call's arguments."""
        self._calls[call] = self._calls.get(call, BEGUN).read(text)

    def tables(self) -> list[dict[Any, Any]]:
        """All that events change and ``dump`` does not have, in a fixed order; but ``room``."""
        return [self._own, self._calls, self._results, self.restated, self._counts, self._replied]

    def dump(self) -> dict[str, Any]:
        """The ids that were renamed, as JSON."""
        return {"names": self._names, "texts": self._texts, "again": self._again}

    def load(self, dumped: dict[str, Any]) -> None:
        """Take over what ``dump`` wrote."""
        self._names, self._texts = dumped["names"], dumped["texts"]
        self._again = dumped["again"]
        self.used = self._taken.keys() | self._answered
        for names in self._names.values():
            self.used |= names.keys()
        ids = (fresh for names in self._names.values() for fresh in names.values())
        self._fresh_ids = {name for fresh in ids for name in fresh}

    def _text_start(self, event: Wire) -> None:
        role, name = event.get("role", "assistant"), event["messageId"]
        event["messageId"] = fresh = self._message(role, name, is_new=True)
        if fresh != name or name in self._texts:
            self._texts[name] = role

    def _message(self, role: str, name: str, *, is_new: bool) -> str:
        """The id of the run's message of that role that the agent calls so."""
        names = self._names.get(role, {}).get(name)
        if names and not (is_new and not name):
            return names[-1]
        if not name or self._clashes(role, name):
            return self._fresh(role, name)
        return name

    def _clashes(self, role: str, name: str) -> bool:
        """Whether an id belongs to another message than one of this role in this run."""
        own = self._own.get(name)
        if own is not None:
            return own != role
        taken = self._taken.get(name)
        return taken is not None and not (taken == role == "activity")

    def _call(self, name: str) -> str:
        names = self._names.get(CALL, {}).get(name)
        return names[-1] if names else name

    def _call_start(self, event: Wire) -> list[Wire]:
        name, before = event["toolCallId"], []
        call = self._call(name)
        known = self._calls.get(call)
        if known is not None and known.is_other(event["toolCallName"]):
            if known.is_open:
                before.append({"type": "TOOL_CALL_END", "toolCallId": call})
            call = self._fresh(CALL, name, call)
        elif not name or (known is None and call == name and name in self._answered):
            call = self._fresh(CALL, name)
        event["toolCallId"] = call
        self._carry(event, call, is_new=call not in self._calls)
        return before

    def _args(self, event: Wire) -> list[Wire]:
        """Arguments of a call that a snapshot brought are another call's if they differ."""
        name, delta = event["toolCallId"], event["delta"]
        event["toolCallId"] = call = self._call(name)
        known = self._calls.get(call)
        if (expected := self.restated.get(call)) is None or known is None:
            return [event]
        text, at = self._again.get(call) or ["", 0]
        if not text:
            self._find("dropped")
        fresh = squeezed(delta)
        if expected.startswith(fresh, at):
            self._again[call] = [text + delta, at + len(fresh)]
            return []
        self._again.pop(call, None)
        start = {"type": "TOOL_CALL_START", "toolCallId": self._fresh(CALL, name, call)}
        start["toolCallName"] = known.name
        event |= {"toolCallId": start["toolCallId"], "delta": text + delta}
        self._carry(start, start["toolCallId"], is_new=True)
        end = {"type": "TOOL_CALL_END", "toolCallId": call}
        return [end, start, event] if known.is_open else [start, event]

    def _repeats(self, kind: str, event: Wire) -> bool:
        """Whether it is the START or END of a whole call that a snapshot of this run brought."""
        call = event["toolCallId"] if kind in _BOUNDS else ""
        if call not in self.restated or call in self._waiting or self._calls[call].is_open:
            return False
        if kind == "TOOL_CALL_END":
            return self._again.pop(call, None) is not None
        self._again[call] = ["", 0]
        return True

    def _carry(self, event: Wire, call: str, *, is_new: bool) -> None:
        """Name the message of a new call: by itself the client gives it the call's id."""
        parent = event.get("parentMessageId")
        if not parent:
            event.pop("parentMessageId", None)
            if is_new and (call in self._own or call in self._taken):
                event["parentMessageId"] = self._message("assistant", call, is_new=False)
        elif is_new and self._taken.get(parent, "activity") != "activity":
            event["parentMessageId"] = self._message("assistant", parent, is_new=False)
        elif parent in self._names.get("assistant", {}):
            event["parentMessageId"] = self._names["assistant"][parent][-1]

    def _result(self, event: Wire) -> None:
        """Results of calls with one id answer them in their order."""
        name, message = event["toolCallId"], event["messageId"]
        if not name and name not in self._names.get(CALL, {}):
            self._fresh(CALL, name)
        calls = self._names.get(CALL, {}).get(name, [name])
        at = self._replied.get(name, 0)
        while at < len(calls) - 1 and self._results.get(calls[at]):
            at = self._replied[name] = at + 1
        event["toolCallId"] = call = calls[at]
        event["messageId"] = fresh = self._message("tool", message, is_new=True)
        if fresh not in self._results.get(call, ()) and self._own.get(fresh) == "tool":
            event["messageId"] = self._fresh("tool", message, fresh)

    def _answer(self, call: str, message: str) -> None:
        self._own.setdefault(message, "tool")
        known = self._results.get(call, ())
        if len(known) < MAX_RESULTS and message not in known:
            self._results[call] = (*known, message)
        self._calls[call] = self._calls.get(call, BEGUN)._replace(is_answered=True)

    def _follow_snapshot(self, messages: Iterable[Mapping[str, Any]]) -> None:
        for message in messages:
            if message["id"] not in self._taken and message["id"] not in self._own:
                self._own[message["id"]] = message["role"]
                self.room -= ENTRY + len(message["id"])
            for call in message.get("toolCalls") or ():
                if call["id"] not in self._calls and call["id"] not in self._answered:
                    self.room -= self._restate(call)
            if message["role"] == "tool" and message["toolCallId"] in self._calls:
                self._answer(message["toolCallId"], message["id"])

    def _restate(self, call: Mapping[str, Any]) -> int:
        """Take note of a call that is known whole before any of its events; the bytes of that."""
        function = call.get("function")
        if function is None or len(text := function["arguments"]) > MAX_COMPARED:
            return 0
        known = BEGUN._replace(name=function["name"], is_open=False, is_restated=True)
        self._calls[call["id"]] = known = known.read(text)
        if known.are_complete:
            self.restated[call["id"]] = squeezed(text)
        return ENTRY + len(call["id"]) + len(text)

    def _snapshot(self, messages: list[Wire]) -> None:
        """Rename in a snapshot only parts after the user's last message: this run's part."""
        if self.room < 0:
            raise RunFailed(RunErrorCode.EVENT_TOO_LARGE, "The run's snapshots bring too many ids.")
        ids = {message["id"] for message in messages}
        earlier = max((n for n, m in enumerate(messages, 1) if m["role"] == "user"), default=0)
        met, roles, in_place = dict[tuple[str, str], int](), dict[str, str](), True
        for place, message in enumerate(messages):
            if place < earlier and message["id"]:
                roles.setdefault(message["id"], message["role"])
                continue
            for call in message.get("toolCalls") or ():
                call["id"] = self._nth(CALL, call["id"], met, {})
            role = message["role"]
            if role == "tool":
                message["toolCallId"] = self._nth_call(message["toolCallId"], met)
                if in_place:  # behind a new message its old id would put it before that one
                    self._result_again(message, ids)
            message["id"] = self._nth(role, message["id"], met, roles)
            in_place = in_place and (message["id"] in self._own or message["id"] in self._taken)
            ids.add(message["id"])
            roles.setdefault(message["id"], role)

    def _nth(
        self, role: str, name: str, met: dict[tuple[str, str], int], roles: Mapping[str, str]
    ) -> str:
        """The id of a part that a snapshot restates; ``met`` counts those with one id.

        ``roles`` are those of the snapshot's messages before it.
        """
        at = met[role, name] = met.get((role, name), 0) + 1
        names = self._names.get(role, {}).get(name)
        if names and at <= len(names):
            return names[at - 1]
        if names or at > 1 or not name:
            return self._fresh(role, name, *([] if names or not name else [name]))
        if role == CALL:
            return name
        other = self._own.get(name) or self._taken.get(name) or roles.get(name) or role
        return name if other == role else self._fresh(role, name)

    def _nth_call(self, name: str, met: dict[tuple[str, str], int]) -> str:
        at = met["result of", name] = met.get(("result of", name), 0) + 1
        names = self._names.get(CALL, {}).get(name, [name])
        return names[min(at, len(names)) - 1]

    def _result_again(self, message: Wire, ids: Collection[str]) -> None:
        """A result under another id than before is the same result; ``ids`` are the snapshot's."""
        known, name = self._results.get(message["toolCallId"], ()), message["id"]
        unknown = name not in self._own and name not in self._taken
        free = next((each for each in known if unknown and each not in ids), None)
        if free is not None and name not in self._names.get("tool", {}):
            self._find("renamed")
            self._names.setdefault("tool", {})[name] = [free]
            self.room -= ENTRY + len(name)
            self.used.add(name)

    def _refer(self, event: Wire) -> None:
        """Rename the ids by which other events refer to a renamed part."""
        calls, kind = self._names.get(CALL, {}), event["type"]
        for key in ("toolCallId", "parentToolCallId"):
            if event.get(key) in calls:
                event[key] = calls[event[key]][-1]
        if kind == "SUBAGENT_STARTED" and event.get("parentMessageId") is not None:
            names = self._names.get("assistant", {}).get(event["parentMessageId"])
            event["parentMessageId"] = names[-1] if names else event["parentMessageId"]
        elif kind == "REASONING_ENCRYPTED_VALUE":
            event["entityId"] = self._entity(event["subtype"], event["entityId"])
        elif kind == "RUN_FINISHED":
            self._questions((event.get("outcome") or {}).get("interrupts", ()))

    def _entity(self, subtype: str, name: str) -> str:
        if subtype != "message":
            return self._call(name)
        if name not in self._own:
            for role in ("reasoning", self._texts.get(name, "assistant"), "tool"):
                if (names := self._names.get(role, {}).get(name)) is not None:
                    return names[-1]
        return name

    def _questions(self, interrupts: list[Wire]) -> None:
        for interrupt in interrupts:
            if interrupt.get("toolCallId") is not None:
                interrupt["toolCallId"] = self._call(interrupt["toolCallId"])
        if self._repair:
            told_apart(interrupts, self._run_id, self._find)

    def _fresh(self, role: str, name: str, *before: str) -> str:
        """A new id for the part that the agent calls ``name``; ``before`` are its earlier ones."""
        self._find("renamed")
        fresh = stem = f"{name or role}~{self._run_id}"
        tables = self._taken, self._own, self._calls, self._fresh_ids
        while any(fresh in table for table in tables):  # A retried run has the same runId.
            self._counts[stem] = number = self._counts.get(stem, 1) + 1
            fresh = f"{stem}~{number}"
        known = self._names.setdefault(role, {}).setdefault(name, list(before))
        known.append(fresh)
        self._fresh_ids.add(fresh)
        self.used.add(name)
        return fresh
