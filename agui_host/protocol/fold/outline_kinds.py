"""The kinds of an outline's rows, and the events of which the parts of a run are made."""

from collections.abc import Mapping

from agui_host.protocol.fold.outline_row import INTERRUPTED, UNFINISHED
from agui_host.protocol.part_kinds import CALL, SPAN_END, SPAN_START, TEXT, THOUGHT
from agui_host.protocol.violation import Event

MESSAGE, TOOL, REASONING = "message", "tool", "reasoning"
STEP, SUBAGENT, INTERRUPT, ERROR = "step", "subagent", "interrupt", "error"
QUEUE, ATTEMPT, ACTIVITY, STATE = "queue", "attempt", "activity", "state"
KINDS = (
    QUEUE, ATTEMPT, MESSAGE, REASONING, TOOL, STEP, SUBAGENT, ACTIVITY, STATE, INTERRUPT, ERROR,
)  # fmt: skip
WHOLE = frozenset({QUEUE, ATTEMPT})
"""The kinds around everything: a run has its wait, and its attempt or attempts."""
RECOVERED = "agui_host.recovered"
"""The name of the CUSTOM event that begins the events of a further attempt."""
SNAPSHOT, DELTA = "snapshot", "delta"
"""The names of rows of the state; one row is all snapshots, or all deltas, up to another row."""
OUTCOMES = {"interrupt": INTERRUPTED, "cancelled": UNFINISHED}
PARTS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(TEXT[1:], (MESSAGE, TEXT.key)),
    **dict.fromkeys(CALL[1:], (TOOL, CALL.key)),
    **dict.fromkeys((*THOUGHT[1:], SPAN_START, SPAN_END), (REASONING, THOUGHT.key)),
}
OPENS = {SPAN_END: SPAN_START, THOUGHT.end: THOUGHT.start}


def name_of(kind: str, event: Event) -> str:
    """The name of the part that begins with this event."""
    if kind == MESSAGE:
        return str(event.get("name") or event.get("role") or "assistant")
    return str(event.get("toolCallName") or "") if kind == TOOL else ""
