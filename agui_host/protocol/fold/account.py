"""Account: which messages, calls and results a run has streamed, and a snapshot's additions.

A MESSAGES_SNAPSHOT can bring parts without events: LangGraph, LlamaIndex and CrewAI send whole
answers and results so. Readers that build no list of messages get it as the events that would have
brought it. A snapshot can also correct or remove streamed parts: that is a ``CORRECTION``, an event
that no log contains.

Texts are not held: their size and checksum tell whether a snapshot repeats, continues or corrects
them. A snapshot costs time linear in its messages and in its removals, however long the log.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from zlib import crc32

from agui_host.protocol.fold.inherited import own
from agui_host.protocol.part_kinds import CALL, STREAMED, TEXT, THOUGHT, PartKind
from agui_host.protocol.patch import same
from agui_host.protocol.strict_json import BadJson, dumps, loads
from agui_host.protocol.violation import Event

SNAPSHOT, RESULT, ACTIVITY = "MESSAGES_SNAPSHOT", "TOOL_CALL_RESULT", "ACTIVITY_SNAPSHOT"
CORRECTION = "CORRECTION"
"""``kind`` is the START of a part or ``RESULT``, ``id`` the part's (a result's is its call's).

``content`` is its text now, None if it is gone.
"""
WHOLE = "WHOLE_CALL_END"
"""The end of a call that streamed no arguments, with the ``delta`` that a snapshot brings later.

No log contains one: ``Corrected`` makes it for the folds of dialects.
"""
MOST_NAMES = 100
"""Ids of one part: a snapshot that gives it one more has another part, and this one is gone."""
Wire = dict[str, Any]
Digest = tuple[int, int]
Key = tuple[str, str]


def events_of(event: Event) -> tuple[Event, ...]:
    """The events for which one of a corrected log stands: a ``WHOLE`` is two."""
    if event["type"] != WHOLE:
        return (event,)
    end = {name: value for name, value in event.items() if name != "delta"}
    return {**event, "type": CALL.content}, {**end, "type": CALL.end}


class Heard:
    """The text of one part so far, as the size and the checksum of its UTF-8."""

    __slots__ = ("checksum", "named", "names", "open", "role", "size")

    def __init__(self, name: str, role: str = "assistant", named: int = 0) -> None:
        self.names, self.role = [name], role
        """Its ids, of which a snapshot can add some, and the role of its message."""
        self.size = self.checksum = 0
        self.open = True
        self.named = named
        """The number of the newest snapshot that named it, or came before it."""

    @property
    def digest(self) -> Digest:
        """Equal for equal texts."""
        return self.size, self.checksum

    def add(self, piece: bytes) -> None:
        """Take the next piece, in UTF-8."""
        self.size += len(piece)
        self.checksum = crc32(piece, self.checksum)

    def restate(self, text: bytes) -> bytes | None:
        """Take the whole text; its addition to the text so far, None if it corrects that."""
        before, known = self.size, self.checksum
        self.size, self.checksum = len(text), crc32(text)
        if crc32(text[:before]) == known and before <= self.size and not _splits(text, before):
            return text[before:]
        return None


class Account:
    """Feed it every event of a log, in order; deltas that are not fed go to ``heard`` instead."""

    def __init__(self) -> None:
        self._clear(None)

    def _clear(self, brought: Iterable[Event] | None) -> None:
        self._brought: dict[str, Any] | None = None
        if brought is not None:
            self._brought = {message["id"]: _digest_of(message) for message in brought}
        self._earlier = Counter((self._brought or {}).values())
        self._texts: dict[Key, Heard] = {}
        self._calls: dict[str, Heard] = {}
        # By kind: the parts that have ended, and the number of snapshots that had any.
        self._closed: dict[str, dict[Heard, None]] = {kind.start: {} for kind in STREAMED}
        self._snapshots = dict.fromkeys(self._closed, 0)
        self._results: dict[str, Digest] = {}
        self._activities: dict[str, Digest | None] = {}

    def dump(self) -> Wire:
        """The account as JSON values, for ``load``."""
        texts = {id(text): text for text in [*self._texts.values(), *self._calls.values()]}
        places = {key: place for place, key in enumerate(texts)}
        return {
            "brought": None if self._brought is None else list(self._brought.items()),
            "parts": [[getattr(text, name) for name in Heard.__slots__] for text in texts.values()],
            "texts": [[*key, places[id(text)]] for key, text in self._texts.items()],
            "calls": {key: places[id(text)] for key, text in self._calls.items()},
            "closed": {
                kind: [places[id(part)] for part in closed] for kind, closed in self._closed.items()
            },
            "snapshots": self._snapshots,
            "results": self._results,
            "activities": self._activities,
        }

    @classmethod
    def load(cls, dumped: Mapping[str, Any]) -> "Account":
        """Restore what ``dump`` wrote."""
        account, parts = cls(), [Heard("") for _ in dumped["parts"]]
        for part, values in zip(parts, dumped["parts"], strict=True):
            for name, value in zip(Heard.__slots__, values, strict=True):
                setattr(part, name, value)
        if (brought := dumped["brought"]) is not None:
            account._brought = {key: (role, _pair(text)) for key, (role, text) in brought}
            account._earlier = Counter(account._brought.values())
        account._texts = {(kind, key): parts[place] for kind, key, place in dumped["texts"]}
        account._calls = {key: parts[place] for key, place in dumped["calls"].items()}
        for kind, closed in dumped["closed"].items():
            account._closed[kind] = dict.fromkeys(parts[place] for place in closed)
        account._snapshots = dumped["snapshots"]
        account._results = {key: _pair(value) for key, value in dumped["results"].items()}
        account._activities = {
            key: value and _pair(value) for key, value in dumped["activities"].items()
        }
        return account

    def take(self, event: Event) -> None:
        """Take the next event of the log; snapshots go to ``restate``."""
        if (rule := _RULES.get(event["type"])) is not None:
            rule(self, event)

    def heard(self, event: Event) -> Heard | None:
        """Where the text of the part adds up that this delta continues."""
        kind = _KINDS[event["type"]]
        if kind is CALL:
            return self._calls.get(event[kind.key])
        return self._texts.get((kind.start, event[kind.key]))

    def open_and_dropped(self) -> Iterator[Key]:
        """The parts that were open when the newest snapshot left them out."""
        for (kind, name), text in self._texts.items():
            if text.named < self._snapshots[kind]:
                yield kind, name

    def restate(self, event: Event) -> Iterator[Wire]:
        """The events and corrections that replace a snapshot; take all of them."""
        messages = event["messages"]
        # A snapshot without any reasoning leaves no reasoning out.
        kinds = {TEXT.start, *(_kind_of(message).start for message in messages)}
        for kind in kinds:
            self._snapshots[kind] += 1
        for message in messages:
            kind = _kind_of(message).start
            if (known := self._texts.get((kind, message["id"]))) is not None:
                known.named = self._snapshots[kind]
        absent = {(kind, text.role, text.digest): text for kind, text in self._unnamed(kinds)}
        brought = self._brought or {}
        named = Counter(brought[id] for id in {each["id"] for each in messages} & brought.keys())
        ours = {message["id"] for message in own(event, self._brought)}
        about = {name: event[name] for name in ("timestamp",) if name in event}
        for message in messages:
            for made in self._message(message, message["id"] in ours, absent, named):
                yield made | about
        for made in self._absent(messages, kinds):
            yield made | about

    def _unnamed(self, kinds: Iterable[str]) -> list[tuple[str, Heard]]:
        """The texts that have ended and are not in the newest snapshot, with their kinds."""
        return [
            (kind, text)
            for kind in kinds
            for text in self._closed[kind]
            if text.named < self._snapshots[kind]
        ]

    # --- events

    def _run_started(self, event: Event) -> None:
        body = event.get("input")
        self._clear(None if body is None else body.get("messages") or ())

    def _start(self, event: Event) -> None:
        kind = _KINDS[event["type"]]
        key = event[kind.key]
        if kind is CALL:
            part = self._calls.setdefault(key, Heard(key))
        else:
            new = Heard(key, event.get("role", "assistant"), self._snapshots[kind.start])
            part = self._texts.setdefault((kind.start, key), new)
        part.open = True
        self._closed[kind.start].pop(part, None)

    def _delta(self, event: Event) -> None:
        if (part := self.heard(event)) is not None:
            part.add(event["delta"].encode("utf-8", "surrogatepass"))

    def _end(self, event: Event) -> None:
        if (part := self.heard(event)) is not None:
            self._close(_KINDS[event["type"]], part)

    def _close(self, kind: PartKind, part: Heard) -> None:
        part.open = False
        self._closed[kind.start][part] = None

    def _result(self, event: Event) -> None:
        self._results[event["toolCallId"]] = _digest(event["content"])

    def _activity(self, event: Event) -> None:
        key = event["messageId"]
        if event["type"] != ACTIVITY:
            self._activities[key] = None
        elif key not in self._activities or event.get("replace") is not False:
            self._activities[key] = _digest(event["content"])

    # --- the content of a snapshot

    def _message(
        self, message: Event, is_own: bool, absent: dict[Any, Heard], named: Counter[Any]
    ) -> Iterator[Wire]:
        role, key = message["role"], message["id"]
        kind = _kind_of(message)
        known = self._texts.get((kind.start, key))
        calls = message.get("toolCalls") or ()
        about = [*(call["id"] for call in calls), message.get("toolCallId", "")]
        if not is_own and known is None and not any(call in self._calls for call in about):
            return
        owner = {name: message[name] for name in ("subagentRunId",) if name in message}
        if role == "tool":
            yield from self._restated_result(message, owner)
        elif role == "activity":
            yield from self._restated_activity(message, owner)
        else:
            content = _text(message.get("content"))
            text = content.encode("utf-8", "surrogatepass")
            digest = (role, (len(text), crc32(text)))
            renamed = absent.pop((kind.start, *digest), None) if known is None else None
            if known is not None:
                yield from _restated(kind, known, content)
            elif text and renamed is not None and len(renamed.names) < MOST_NAMES:
                self._texts[kind.start, key] = renamed
                renamed.names.append(key)
                renamed.named = self._snapshots[kind.start]
            elif text and self._earlier[digest] <= named[digest]:
                part = self._texts[kind.start, key] = Heard(key, role, self._snapshots[kind.start])
                part.add(text)
                self._close(kind, part)
                yield from _whole(kind, key, content, _head(message))
            for call in calls:
                # A call without a message gets one of its own id from clients.
                has_own = call["id"] == key and not message.get("content")
                parent = {} if has_own else {"parentMessageId": key}
                yield from self._restated_call(call, {**parent, **owner})

    def _restated_call(self, call: Event, about: Wire) -> Iterator[Wire]:
        key, function = call["id"], call["function"]
        text = function["arguments"].encode("utf-8", "surrogatepass")
        if (known := self._calls.get(key)) is not None:
            if not known.open and known.restate(text) != b"":
                yield _correction(CALL.start, key, function["arguments"])
            return
        part = self._calls[key] = Heard(key)
        part.add(text)
        self._close(CALL, part)
        if self._results.pop(key, None) is not None:  # It comes again, behind its call.
            yield _correction(RESULT, key, None)
        head = {"toolCallName": function["name"], **about}
        yield from _whole(CALL, key, function["arguments"], head)

    def _restated_result(self, message: Event, owner: Wire) -> Iterator[Wire]:
        key, content = message["toolCallId"], message.get("content") or ""
        digest = _digest(content)
        before = self._results.get(key)
        if before == digest:
            return
        self._results[key] = digest
        if before is not None:
            yield _correction(RESULT, key, content)
        ids = {"messageId": message["id"], "toolCallId": key}
        yield {"type": RESULT, **ids, "content": content, **owner}

    def _restated_activity(self, message: Event, owner: Wire) -> Iterator[Wire]:
        key, digest = message["id"], _digest(message["content"])
        if self._activities.get(key) != digest:
            self._activities[key] = digest
            about = {"activityType": message["activityType"], "content": message["content"]}
            yield {"type": ACTIVITY, "messageId": key, **about, "replace": True, **owner}

    def _absent(self, messages: Iterable[Event], kinds: Iterable[str]) -> Iterator[Wire]:
        """The corrections for parts that the snapshot removes from the conversation."""
        calls = {call["id"] for message in messages for call in message.get("toolCalls") or ()}
        answered = {message["toolCallId"] for message in messages if message["role"] == "tool"}
        for kind, text in self._unnamed(kinds):
            del self._closed[kind][text]
            for name in text.names:
                del self._texts[kind, name]
                yield _correction(kind, name, None)
        for call in [part for part in self._closed[CALL.start] if part.names[0] not in calls]:
            del self._closed[CALL.start][call], self._calls[call.names[0]]
            yield _correction(CALL.start, call.names[0], None)
            answered.discard(call.names[0])
        for key in [key for key in self._results if key not in answered]:
            del self._results[key]
            yield _correction(RESULT, key, None)


def same_arguments(one: str, other: str) -> bool:
    """Whether two texts of arguments are the same JSON; no text is the same as no members."""
    if one == other:
        return True
    try:
        return same(*(loads((text.strip() or "{}").encode()) for text in (one, other)))
    except BadJson:
        return False


def _restated(kind: PartKind, known: Heard, content: str) -> Iterator[Wire]:
    more = known.restate(content.encode("utf-8", "surrogatepass"))
    if more is None:
        yield from (_correction(kind.start, name, content) for name in known.names)
    elif more:
        delta = more.decode("utf-8", "surrogatepass")
        pieces = _whole(kind, known.names[0], delta, {"role": known.role})
        yield from (piece for piece in pieces if not known.open or piece["type"] == kind.content)


def _whole(kind: PartKind, key: str, content: str, head: Mapping[str, Any]) -> Iterator[Wire]:
    yield {"type": kind.start, kind.key: key, **head}
    if content:
        yield {"type": kind.content, kind.key: key, "delta": content}
    yield {"type": kind.end, kind.key: key}


def _correction(kind: str, key: str, content: Any) -> Wire:
    return {"type": CORRECTION, "kind": kind, "id": key, "content": content}


def _head(message: Event) -> Wire:
    names = ("role", "name", "subagentRunId")
    return {name: message[name] for name in names if name in message}


def _pair(values: Iterable[int]) -> Digest:
    size, checksum = values
    return size, checksum


def _digest_of(message: Event) -> Any:
    text = _text(message.get("content")).encode("utf-8", "surrogatepass")
    return message["role"], (len(text), crc32(text))


def _digest(content: Any) -> Digest:
    text = dumps(content).encode("utf-8", "surrogatepass")
    return len(text), crc32(text)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    return "".join(part.get("text") or "" for part in parts if part["type"] == "text")


def _kind_of(message: Event) -> PartKind:
    return THOUGHT if message["role"] == "reasoning" else TEXT


def _splits(text: bytes, at: int) -> bool:
    """Whether a character has bytes on both sides of this place."""
    return at < len(text) and text[at] & 0xC0 == 0x80


_KINDS = {name: kind for kind in STREAMED for name in kind[1:]}
_Rule = Callable[[Account, Event], None]
_RULES: Mapping[str, _Rule] = {
    "RUN_STARTED": Account._run_started,
    **{kind.start: Account._start for kind in STREAMED},
    **{kind.content: Account._delta for kind in STREAMED},
    **{kind.end: Account._end for kind in STREAMED},
    RESULT: Account._result,
    **dict.fromkeys((ACTIVITY, "ACTIVITY_DELTA"), Account._activity),
}
FOLLOWED = frozenset({*_RULES, SNAPSHOT})
"""The types of the events that an account takes; others can be left out."""
