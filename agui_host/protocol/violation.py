"""Violation, the error for a broken order rule, and helpers for its messages."""

from collections.abc import Iterable, Mapping
from typing import Any

from agui_host.protocol.errors import RunErrorCode, RunFailed

Event = Mapping[str, Any]

Owner = str | None
"""The subagentRunId of an owner; None is the parent agent, which is an owner too."""

ABSENT: Any = object()
"""No tag: it never contradicts an owner. A null tag is different, and forbidden."""


class Violation(RunFailed):
    """An event came where the order rules of AG-UI do not allow it."""

    def __init__(self, rule: str, message: str) -> None:
        """``rule`` is V1 to V13, ``chunks``, ``ids``, ``interrupts`` or ``patch``."""
        super().__init__(RunErrorCode.INVALID_ORDER, message)
        self.rule = rule


def named(owner: Owner) -> str:
    """An owner's name for people."""
    return "the parent agent" if owner is None else f"subagent '{owner}'"


def tag_of(event: Event) -> Any:
    """The event's subagentRunId or ABSENT. Raises Violation(V13) for null."""
    tag = event.get("subagentRunId", ABSENT)
    if tag is None:
        raise Violation("V13", f"{event['type']}: 'subagentRunId' is null; leave it out instead.")
    return tag


def refuse_null_tags(event: Event, parts: Iterable[Event]) -> None:
    """``tag_of`` for the messages and interrupts inside an event."""
    for part in parts:
        if part.get("subagentRunId", ABSENT) is None:
            raise Violation(
                "V13", f"{event['type']}: 'subagentRunId' of '{part['id']}' is null; leave it out."
            )
