"""How a chat of OpenAI's lines up with a thread: its clients send whole histories, without ids.

A request is compared with a thread by what both say: the texts of an answer are one text in a chat,
and tools of the agent, reasoning and activities have no place in it.
"""

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from agui_host.protocol.input.arguments import or_empty
from agui_host.protocol.strict_json import dumps

Json = dict[str, Any]
UNSEEN = frozenset({"reasoning", "activity"})
TASKS = (
    "### Task:",
    "Provide a concise, 5-word-or-less title for the conversation",
    "Analyze this conversation and provide:\n1. The detected language",
)
"""How the requests begin that user interfaces make for themselves: Open WebUI's titles, tags,
follow-ups and searches, and LibreChat's titles by each of its two methods.
"""


@dataclass(slots=True)
class Entry:
    """One message as a chat sees it, and the messages of the thread that it represents.

    They grow while the messages of one answer come, however many those are.
    """

    role: str
    texts: list[str]
    calls: list[Any]
    of: list[Json]

    def says(self) -> "Says":
        """What two entries are compared by."""
        text = "\n\n".join(filter(None, self.texts))
        return Says(self.role, text.strip(), tuple(self.calls))


class Says(NamedTuple):
    """A message as a chat sees it."""

    role: str
    text: str
    calls: tuple[Any, ...]


class Request(NamedTuple):
    """The messages of a chat: those before the newest answer's end, and the new ones after it."""

    before: list[Json]
    new: list[Json]

    @classmethod
    def of(cls, messages: list[Json]) -> "Request":
        """Split the messages of a request."""
        answers = [place for place, each in enumerate(messages) if each["role"] == "assistant"]
        end = answers[-1] + 1 if answers else 0
        return cls(messages[:end], messages[end:])


class Digests(NamedTuple):
    """By which a later request finds this one, and by which this finds an earlier one, if any."""

    own: str
    earlier: str | None


def digests(messages: list[Json]) -> Digests:
    """The digests of a request's messages: of all, and of the messages before its last answer."""
    before = Request.of(messages).before
    return Digests(_digest(messages), _digest(before[:-1]) if before else None)


def _digest(messages: list[Json]) -> str:
    says = _says(entries(messages, calls_of(messages)))
    return hashlib.sha256(dumps(says).encode()).hexdigest()


def calls_of(messages: Iterable[Json]) -> frozenset[str]:
    """The ids of the calls that a client has: calls of its own tools."""
    return frozenset(call["id"] for each in messages for call in each.get("toolCalls") or ())


def entries(messages: Iterable[Json], calls: frozenset[str]) -> list[Entry]:
    """Messages as a chat sees them; ``calls`` are those of the client's tools."""
    visible: list[Entry] = []
    hidden: list[Json] = []
    for message in messages:
        role = message["role"]
        if role in UNSEEN or (role == "tool" and message.get("toolCallId") not in calls):
            hidden.append(message)
            continue
        entry, last = _entry(message, calls), visible[-1] if visible else None
        if role == "assistant" and last is not None and last.role == role:
            last.texts += entry.texts
            last.calls += entry.calls
            last.of += [*hidden, message]
        elif role != "assistant" and last is not None:
            last.of += hidden
            visible.append(entry)
        else:
            entry.of[:0] = hidden
            visible.append(entry)
        hidden = []
    if hidden and visible:
        visible[-1].of += hidden
    return [e for e in visible if e.role != "assistant" or any(e.texts) or e.calls]


def _entry(message: Json, calls: frozenset[str]) -> Entry:
    content = message.get("content") or ""
    if not isinstance(content, str):
        content = "".join(map(_part, content))
    named: list[Any] = [
        (call["id"], call["function"]["name"], or_empty(call["function"]["arguments"]))
        for call in message.get("toolCalls") or ()
        if call["id"] in calls
    ]
    if message["role"] == "tool":
        named = [message["toolCallId"]]
    return Entry(message["role"], [content], named, [message])


def _says(visible: Iterable[Entry]) -> list[Says]:
    return [entry.says() for entry in visible]


def _part(part: Json) -> str:
    if part["type"] == "text":
        return str(part["text"])
    return f"\0{part['type']}\0{part['source']['value']}\0"


def is_same(stored: list[Json], before: list[Json]) -> bool:
    """Whether a thread holds exactly these messages, as a chat sees it."""
    calls = calls_of(before)
    return _says(entries(stored, calls)) == _says(entries(before, calls))


def continued(stored: list[Json], request: Request) -> list[Json] | None:
    """The messages that a named thread needs before the new ones; None: those it has.

    A request that brings no answer, or only the newest part of the history, adds to it. Any other
    that differs was edited, or wants another answer: the thread then holds the request's messages,
    in their stored form where there is one.
    """
    calls = calls_of(request.before)
    own, edition = entries(stored, calls), entries(request.before, calls)
    mine, theirs = _says(own), _says(edition)
    if not theirs:
        texts = _says(entries(request.new, calls))
        return [] if texts and texts == mine[: len(texts)] else None
    if len(theirs) <= len(mine) and all(map(_is_one, mine[-len(theirs) :], theirs)):
        return None
    lines: list[Json] = []
    find, place = _Places(mine), 0
    for entry, words in zip(edition, theirs, strict=True):
        at = find.next(words, place)
        lines += entry.of if at is None else own[at].of
        place = place if at is None else at + 1
    return lines


class _Places:
    """Where a thread has each text; a request can have as many messages as the thread."""

    def __init__(self, mine: list[Says]) -> None:
        self._mine = mine
        self._by_says: dict[Says, list[int]] = {}
        for place, words in enumerate(mine):
            self._by_says.setdefault(words, []).append(place)
        self._answers = [at for at, words in enumerate(mine) if words.role == "assistant"]

    def next(self, words: Says, start: int) -> int | None:
        """The place from ``start`` on of the same message; of a part of an answer, the next one."""
        answer = _first(self._answers, start)
        if answer is not None and _is_one(self._mine[answer], words):
            return answer
        return _first(self._by_says.get(words, ()), start)


def _first(places: Sequence[int], start: int) -> int | None:
    at = bisect_left(places, start)
    return places[at] if at < len(places) else None


def _is_one(own: Says, other: Says) -> bool:
    """Whether two are one; of an answer that was stopped, a client can have a part."""
    if own == other:
        return True
    stopped = own.role == other.role == "assistant" and not other.calls and other.text
    return bool(stopped) and own.text.startswith(other.text)


def is_task(messages: list[Json]) -> bool:
    """Whether a user interface asks something for itself, such as a title."""
    users = [each for each in messages if each["role"] == "user"]
    content = users[0].get("content") if len(users) == 1 else None
    brings_answers = any(each["role"] == "assistant" for each in messages)
    return not brings_answers and isinstance(content, str) and content.lstrip().startswith(TASKS)
