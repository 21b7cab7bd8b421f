"""``redact``: replaces what must not leave the agent before it is stored.

Text is held back while a secret in it can still be growing; the arguments of a tool call until they
are complete, since they are JSON. RAW events and ``rawEvent`` are left out: they contain the same
text in pieces that cannot be joined.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from typing import Any

from pydantic import Field, PrivateAttr, model_validator

from agui_host.backends.threads import in_thread
from agui_host.protocol.part_kinds import STREAMED
from agui_host.protocol.pointer import steps
from agui_host.protocol.sizes import is_large
from agui_host.protocol.strict_json import dumps_any
from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.middleware.base import DELTAS, ENDS, Middleware, Options, Wire
from agui_host.runtimes.middleware.patterns import Patterns, Veil, compiled, replaced

MOST_ARGS = 1024 * 1024
"""Characters of one call's arguments; longer ones are replaced as a whole."""

PATCHES = {"STATE_DELTA": "delta", "ACTIVITY_DELTA": "patch"}
KEPT = frozenset({"type", "role", "timestamp", "encryptedValue", "encryptedValueType"})
MESSAGE_IDS = frozenset({"id", "toolCallId", "parentMessageId", "subagentRunId"})


class RedactOptions(Options):
    """``patterns`` are regular expressions, ``keys`` names of JSON members to hide.

    ``hold``: characters of text that are held back; ``raw``: keep RAW and ``rawEvent``.
    """

    patterns: list[str] = Field([], max_length=50)
    keys: list[str] = Field([], max_length=200)
    replacement: str = Field("[redacted]", max_length=100)
    hold: int = Field(128, ge=8, le=8192)
    raw: bool = False
    _compiled: Patterns = PrivateAttr(Patterns([]))

    @model_validator(mode="after")
    def _check(self) -> "RedactOptions":
        if not (self.patterns or self.keys):
            raise ValueError("name at least one pattern or key")
        self._compiled = Patterns([compiled(pattern, self.hold) for pattern in self.patterns])
        return self


class Redact(Middleware):
    """Replaces secrets in everything an agent emits; the client's own messages stay."""

    Options = RedactOptions
    of_team = True
    options: RedactOptions

    def __init__(self, options: Any, ctx: RunContext) -> None:
        super().__init__(options, ctx)
        self._keys = {key.casefold() for key in self.options.keys}
        self._patterns = self.options._compiled
        self._texts: dict[tuple[str, str], tuple[Wire, Veil | Args]] = {}

    def feed(self, event: Wire) -> Iterable[Wire]:
        """The events to send for an incoming one, without secrets."""
        kind = event["type"]
        if not self.options.raw:
            if kind == "RAW":
                return ()
            event.pop("rawEvent", None)
        if kind in DELTAS:
            return self._delta(event, DELTAS[kind])
        if kind in ENDS:
            ended = [lane for lane in self._texts if _END_OF[lane[0]] == kind]
            key = event[ENDS[kind]]
            return (*self._flushed(lane for lane in ended if lane[1] == key), self._event(event))
        if kind == "RUN_FINISHED":
            return (*self._flushed(self._texts), self._event(event))
        if kind == "RUN_ERROR":
            return (*self.rest(), self._event(event))
        if kind in PATCHES:
            operations = [self._operation(each) for each in event[PATCHES[kind]]]
            event[PATCHES[kind]] = [each for each in operations if each is not None]
        return (self._event(event),)

    async def stream(self, events: AsyncIterator[Wire]) -> AsyncGenerator[Wire, None]:
        """Redact a stream; large events in a thread, so that others continue."""
        async for event in events:
            if is_large(event):
                for out in await in_thread(self._fed, event):
                    yield out
                continue
            for out in self.feed(event):
                yield out
        for out in self._flushed(self._texts):
            yield out

    def _fed(self, event: Wire) -> list[Wire]:
        return list(self.feed(event))

    def rest(self) -> Iterable[Wire]:
        """Nothing: a text that was cut short can end in most of a secret."""
        self._texts.clear()
        return ()

    def _delta(self, event: Wire, key: str) -> Iterable[Wire]:
        lane = (event["type"], event[key])
        if lane not in self._texts:
            template = {k: event[k] for k in ("type", key, "subagentRunId") if k in event}
            text: Veil | Args = Args(self) if event["type"] == "TOOL_CALL_ARGS" else self._veil()
            self._texts[lane] = (template, text)
        delta = event.pop("delta")
        visible = self._texts[lane][1].feed(delta)
        if not visible and "metadata" not in event:
            return ()
        return ({**self._event(event), "delta": visible},)

    def _flushed(self, lanes: Iterable[tuple[str, str]]) -> list[Wire]:
        ended = [self._texts.pop(lane) for lane in list(lanes)]
        texts = [(template, text.end()) for template, text in ended]
        return [{**template, "delta": text} for template, text in texts if text]

    # --- whole values

    def _veil(self) -> Veil:
        return Veil(self._patterns, self.options.replacement, self.options.hold)

    def _event(self, event: Wire) -> Wire:
        ids = MESSAGE_IDS if event["type"] == "MESSAGES_SNAPSHOT" else frozenset()
        return {
            name: value
            if name in KEPT or name.endswith(("Id", "Ids"))
            else self.clean({name: value}, ids)[name]
            for name, value in event.items()
        }

    def clean(self, value: Any, exempt: frozenset[str] = frozenset()) -> Any:
        """A copy of any JSON without secrets; members in ``exempt`` stay."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return [self.clean(part, exempt) for part in value]
        if isinstance(value, dict):
            return {name: self._member(name, part, exempt) for name, part in value.items()}
        return value

    def _member(self, name: str, value: Any, exempt: frozenset[str]) -> Any:
        if name.casefold() in self._keys:
            return self.options.replacement
        return value if name in exempt else self.clean(value, exempt)

    def _text(self, text: str) -> str:
        """Text; if it is JSON itself (arguments, results), its members too."""
        if text[:1] in ("{", "["):
            try:
                value = json.loads(text)
                cleaned = self.clean(value)
                if cleaned != value:
                    text = dumps_any(cleaned)
            except (ValueError, RecursionError):
                pass
        return replaced(text, self._patterns.apart(text), self.options.replacement)

    def _operation(self, operation: Wire) -> Wire | None:
        """One operation of a JSON Patch; None if it goes below a place that was replaced."""
        names = [name.casefold() for name in steps(operation["path"])]
        if self._keys.intersection(names[:-1]):
            return None
        if names and names[-1] in self._keys and "value" in operation:
            return {**operation, "value": self.options.replacement}
        return operation


class Args:
    """The arguments of one call: JSON, so they are searched once they are complete."""

    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self._parts: list[str] = []
        self._size = 0

    def feed(self, text: str) -> str:
        """Keep a piece of arguments until their end; nothing leaves before."""
        self._size += len(text)
        if self._size <= MOST_ARGS:
            self._parts.append(text)
        else:
            self._parts.clear()
        return ""

    def end(self) -> str:
        """The arguments as they may leave; a replacement if they were too long to read."""
        if self._size > MOST_ARGS:
            return dumps_any(self._redact.options.replacement)
        whole: str = self._redact.clean("".join(self._parts))
        return whole


_END_OF = {kind.content: kind.end for kind in STREAMED}
