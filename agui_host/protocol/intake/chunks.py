"""Chunks: the shorthand events, expanded to START, CONTENT and END as a stock client does it.

Follows ``transformChunks`` of ``@ag-ui/client`` 1.0.0. Each lane has at most one open stream; a
lane belongs to one owner, the parent agent (None) or a subagent. A log of expanded events can be
replayed from any point, a log of chunks cannot.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from agui_host.protocol.part_kinds import CALL, TEXT, THOUGHT, PartKind
from agui_host.protocol.violation import Event, Owner, Violation, named


@dataclass(frozen=True, slots=True)
class Form:
    """One kind of chunk: the events it abbreviates, and the required members of its first chunk."""

    name: str
    kind: PartKind
    needed: tuple[str, ...]
    settled: tuple[str, ...] = ()
    defaults: tuple[tuple[str, str], ...] = ()


FORMS = {
    "TEXT_MESSAGE_CHUNK": Form(
        "text message", TEXT,
        needed=("messageId",), settled=("role", "name"), defaults=(("role", "assistant"),),
    ),
    "TOOL_CALL_CHUNK": Form(
        "tool call", CALL,
        needed=("toolCallId", "toolCallName"), settled=("toolCallName", "parentMessageId"),
    ),
    "REASONING_MESSAGE_CHUNK": Form(
        "reasoning message", THOUGHT,
        needed=("messageId",), defaults=(("role", "reasoning"),),
    ),
}  # fmt: skip

CLOSE_ALL = frozenset({"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"})
CLOSE_NONE = frozenset(
    {"RAW", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "REASONING_ENCRYPTED_VALUE", "SUBAGENT_STARTED"}
)
"""Every other event closes the open stream in its lane."""


@dataclass(frozen=True, slots=True)
class Stream:
    """The message or call that a lane is assembling, as its first chunk described it."""

    form: Form
    id: str
    opener: dict[str, Any]


class Chunks:
    """The lanes of one run.

    With ``mended``, which is called for each repair, a chunk without an id continues what its lane
    had open last, or begins something new, instead of being refused.
    """

    def __init__(self, mended: Callable[[], object] | None = None) -> None:
        self.lanes: dict[Owner, Stream] = {}
        self._mended = mended
        self._last: dict[tuple[str, Owner], dict[str, Any]] = {}

    def expand(self, event: Event) -> list[dict[str, Any]]:
        """The events that the log stores for this one: itself, unless it is or ends a chunk.

        Raises Violation(chunks). After that, as after any later failure, the caller restores
        ``lanes``.
        """
        kind = event["type"]
        form = FORMS.get(kind)
        if form is not None:
            return self._chunk(form, event)
        return [*self._closings(kind, event.get("subagentRunId")), dict(event)]

    def dump(self) -> dict[str, Any]:
        """The open streams, as JSON: the log does not say which of its open parts are chunks."""
        names = {form.name: name for name, form in FORMS.items()}
        lanes = [
            [lane, names[stream.form.name], stream.id, stream.opener]
            for lane, stream in self.lanes.items()
        ]
        return {"lanes": lanes, "last": [[*key, begun] for key, begun in self._last.items()]}

    def load(self, dumped: dict[str, Any]) -> None:
        """Take over what ``dump`` wrote."""
        self.lanes = {
            lane: Stream(FORMS[form], id_, opener) for lane, form, id_, opener in dumped["lanes"]
        }
        self._last = {(name, owner): begun for name, owner, begun in dumped["last"]}

    def _closings(self, kind: str, owner: Owner) -> list[dict[str, Any]]:
        if not self.lanes or kind in CLOSE_NONE:
            return []
        if kind in CLOSE_ALL:
            return [end for lane in list(self.lanes) for end in self._close(lane)]
        return self._close(owner)

    def _close(self, lane: Owner) -> list[dict[str, Any]]:
        stream = self.lanes.pop(lane, None)
        if stream is None:
            return []
        end = {"type": stream.form.kind.end, stream.form.kind.key: stream.id}
        return [end | _only(stream.opener, "subagentRunId")]

    def _chunk(self, form: Form, chunk: Event) -> list[dict[str, Any]]:
        lane = self._lane(form, chunk)
        stream = self.lanes.get(lane)
        continues = (
            stream is not None
            and stream.form is form
            and chunk.get(form.kind.key, stream.id) == stream.id
        )
        events: list[dict[str, Any]] = []
        if stream is None or not continues:
            events, stream = self._begin(form, chunk, lane)
        else:
            self._check_repeats(stream, chunk)
        if "delta" in chunk or "rawEvent" in chunk or (continues and "metadata" in chunk):
            content = {
                "type": form.kind.content,
                form.kind.key: stream.id,
                "delta": chunk.get("delta", ""),
            }
            content |= _only(stream.opener, "subagentRunId")
            content |= _only(chunk, "subagentRunId", "metadata", "rawEvent", "timestamp")
            events.append(content)
        return events

    def _begin(self, form: Form, chunk: Event, lane: Owner) -> tuple[list[dict[str, Any]], Stream]:
        if self._mended is not None and form.kind.key not in chunk:
            chunk = self._completed(form, chunk, lane)
        for key in form.needed:
            if key not in chunk:
                raise Violation("chunks", f"{chunk['type']}: the first chunk needs '{key}'.")
        opener = {
            "type": form.kind.start,
            form.kind.key: chunk[form.kind.key],
            **dict(form.defaults),
        }
        opener |= _only(chunk, *form.settled, "subagentRunId", "metadata", "timestamp")
        events = [*self._close(lane), opener]
        stream = self.lanes[lane] = Stream(form, chunk[form.kind.key], opener)
        self._last[form.name, lane] = _only(opener, form.kind.key, *form.settled)
        return events, stream

    def _completed(self, form: Form, chunk: Event, lane: Owner) -> Event:
        """A first chunk without an id reopens what another event has closed."""
        begun = self._last.get((form.name, lane))
        if begun is None and form.needed == (form.kind.key,):
            begun = {form.kind.key: str(uuid4())}
        if begun is None or self._mended is None:
            return chunk
        self._mended()
        return {**chunk, **begun}

    def _check_repeats(self, stream: Stream, chunk: Event) -> None:
        for key in stream.form.settled:
            if key in chunk and chunk[key] != stream.opener.get(key):
                if self._mended is not None and not chunk[key]:
                    continue  # An empty name replaces a name that is no longer known.
                raise Violation(
                    "chunks",
                    f"{chunk['type']}: '{key}' is not that of the first chunk of '{stream.id}'.",
                )

    def _lane(self, form: Form, chunk: Event) -> Owner:
        """The lane of a chunk: chosen by its id, else by its tag, else by the open stream."""
        tag: Owner = chunk.get("subagentRunId")
        if form.kind.key in chunk:
            for lane, stream in self.lanes.items():
                if stream.form is form and stream.id == chunk[form.kind.key]:
                    if tag is not None and tag != lane:
                        raise Violation(
                            "chunks",
                            f"{chunk['type']}: {form.name} '{stream.id}' belongs to "
                            f"{named(lane)}, not to {named(tag)}.",
                        )
                    return lane
            return tag
        if tag is not None:
            return tag
        holding = [lane for lane, stream in self.lanes.items() if stream.form is form]
        if None in holding or not holding:
            return None
        if len(holding) > 1:
            raise Violation(
                "chunks",
                f"{chunk['type']}: several lanes have an open {form.name}; name one by its id.",
            )
        return holding[0]


def _only(event: Event, *keys: str) -> dict[str, Any]:
    return {key: event[key] for key in keys if key in event}
