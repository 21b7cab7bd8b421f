"""Calls: the tool calls of one run's log, with the digest of their arguments and their outcome."""

import re
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from json import loads
from typing import Any

from agui_host.protocol.encoding import clean_text
from agui_host.protocol.fold.account import CORRECTION, RESULT, SNAPSHOT, Account
from agui_host.protocol.fold.face import preview
from agui_host.protocol.fold.outline_row import LONGEST_NAME, cut, key_of
from agui_host.protocol.part_kinds import CALL
from agui_host.protocol.strict_json import dumps_sorted
from agui_host.protocol.violation import Event

OK, ERROR, NONE = "ok", "error", "none"
"""The outcomes of a call; ``none``: the log has no result."""
MOST_CALLS = 10_000
LONGEST_ARGUMENTS = 1_000_000
"""Characters; longer arguments are compared as text."""
DIGEST = 32
FEEDS = ("RUN_STARTED", *CALL[1:], RESULT, SNAPSHOT)
"""The types of the events that a fold of calls reads."""
_FLAGS: Mapping[str, Callable[[Any], bool]] = {
    "error": bool,
    "isError": lambda value: value is True,
    "is_error": lambda value: value is True,
    "ok": lambda value: value is False,
    "success": lambda value: value is False,
    "status": lambda value: value in ("error", "failed", "failure", "timeout"),
}
_FAILED = re.compile(r"\W*(error|exception|traceback|failed|failure|timeout|timed out)\b", re.I)


class Call:
    """One call: where it begins, its name, its arguments so far, and its outcome."""

    __slots__ = ("_raw", "_size", "_text", "at", "ended", "id", "name", "result", "seq", "status",
                 "took_ms")  # fmt: skip

    def __init__(self, seq: int, event: Event) -> None:
        self.seq, self.at = seq, event.get("timestamp")
        self.id = name_of_call(event["toolCallId"])
        self.name = cut(_storable(event["toolCallName"]), LONGEST_NAME)
        self.status, self.result = NONE, ""
        self.took_ms: int | None = None
        self.ended = False
        self.restate("")

    def restate(self, arguments: str) -> None:
        """Take the whole text of its arguments instead of the pieces so far."""
        self._text: list[str] = []
        self._size, self._raw = 0, sha256()
        self.add(arguments)

    def add(self, piece: str) -> None:
        """Take the next piece of its arguments."""
        self._size += len(piece)
        self._raw.update(piece.encode("utf-8", "surrogatepass"))
        if self._size <= LONGEST_ARGUMENTS:
            self._text.append(piece)

    @property
    def digest(self) -> str:
        """Equal for equal arguments, in whatever order and spelling their JSON is written."""
        if self._size <= LONGEST_ARGUMENTS:
            return digest_of("".join(self._text))
        return self._raw.hexdigest()[:DIGEST]


class Outcome:
    """The result of a call that another log contains."""

    __slots__ = ("id", "result", "status")

    def __init__(self, id: str, status: str, result: str) -> None:
        self.id, self.status, self.result = name_of_call(id), status, result


class Calls:
    """Feed it the events of a log in order.

    ``brought`` is the number of messages that the run brought into its thread; None if its log does
    not contain them. ``props`` are the input's ``forwardedProps``.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.elsewhere: list[Outcome] = []
        self.brought: int | None = None
        self.props: Mapping[str, Any] = {}
        self._by_id: dict[str, Call] = {}
        self._account = Account()

    def feed(self, seq: int, event: Event) -> None:
        """Take the next event."""
        if event["type"] == SNAPSHOT:
            for made in self._account.restate(event):
                self._take(seq, made)
            return
        self._account.take(event)
        self._take(seq, event)

    def _take(self, seq: int, event: Event) -> None:
        rule = _RULES.get(event["type"])
        if rule is not None:
            rule(self, seq, event)

    def _started(self, seq: int, event: Event) -> None:
        body = event.get("input")
        if body is None:
            return
        messages = body.get("messages") or ()
        self.brought = len(messages)
        props = body.get("forwardedProps")
        self.props = props if isinstance(props, dict) else {}
        for message in messages:
            if message.get("role") == "tool":
                self._outcome(message, bool(message.get("error")), None)

    def _start(self, seq: int, event: Event) -> None:
        before = self._by_id.get(event["toolCallId"])
        # An id that begins again before its call is complete: the same call.
        if (before is None or before.ended) and len(self.calls) < MOST_CALLS:
            call = self._by_id[event["toolCallId"]] = Call(seq, event)
            self.calls.append(call)

    def _args(self, seq: int, event: Event) -> None:
        if (call := self._by_id.get(event["toolCallId"])) is not None:
            call.add(event["delta"])

    def _end(self, seq: int, event: Event) -> None:
        if (call := self._by_id.get(event["toolCallId"])) is not None:
            call.ended = True

    def _result(self, seq: int, event: Event) -> None:
        metadata = event.get("metadata") or {}
        self._outcome(event, metadata.get("isError") is True, event.get("timestamp"))

    def _outcome(self, message: Mapping[str, Any], failed: bool, at: int | None) -> None:
        text = _text(message.get("content"))
        status, result = ERROR if failed or has_failed(text) else OK, preview(text)
        call = self._by_id.get(message["toolCallId"])
        if call is None:
            if len(self.elsewhere) < MOST_CALLS:
                self.elsewhere.append(Outcome(message["toolCallId"], status, result))
            return
        call.status, call.result, call.ended = status, result, True
        if call.at is not None and at is not None:
            call.took_ms = max(0, round(at - call.at))

    def _correct(self, seq: int, event: Event) -> None:
        call = self._by_id.get(event["id"])
        if event["kind"] == CALL.start and call is not None and event["content"] is not None:
            call.restate(event["content"])


def name_of_call(id: str) -> str:
    """The id of a call as it is stored: of bounded length, without NUL."""
    return key_of(_storable(id))


def digest_of(arguments: str) -> str:
    """The digest of arguments as JSON with sorted members; of other text, as it is."""
    try:
        text = dumps_sorted(loads(arguments.strip() or "{}", parse_float=_number))
    except (ValueError, RecursionError):
        text = arguments
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST]


def has_failed(result: str) -> bool:
    """Whether a result looks like an error: AG-UI has no field for that."""
    if not result.lstrip().startswith("{"):
        return _FAILED.match(result) is not None
    try:
        value = loads(result)
    except (ValueError, RecursionError):
        return False
    return any(name in value and _is(test, value[name]) for name, test in _FLAGS.items())


def _is(test: Callable[[Any], bool], value: Any) -> bool:
    return isinstance(value, str | bool | dict | list) and test(value)


def _storable(text: str) -> str:
    return clean_text(text.replace("\0", " "))


def _number(text: str) -> float | int:
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts: Iterable[Any] = content if isinstance(content, list) else ()
    return "".join(part.get("text") or "" for part in parts if isinstance(part, dict))


_Rule = Callable[[Calls, int, Event], None]
_RULES: Mapping[str, _Rule] = {
    "RUN_STARTED": Calls._started,
    CALL.start: Calls._start,
    CALL.content: Calls._args,
    CALL.end: Calls._end,
    RESULT: Calls._result,
    CORRECTION: Calls._correct,
}
