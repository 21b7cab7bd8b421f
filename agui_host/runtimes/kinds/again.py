"""A further attempt of an agent that begins again: its events replace those of the lost attempts.

Readers hold the text of the lost attempts, under ids that the agent uses again. So the first event
with content comes after a MESSAGES_SNAPSHOT and a STATE_SNAPSHOT of the run's beginning, unless the
agent sends its own: a host that is asked again for the same run does.
"""

from collections.abc import Iterator
from typing import Any

from agui_host.runtimes.context.recovering import Recovering

Event = dict[str, Any]

REASONING = "REASONING_MESSAGE_CONTENT"
PRELUDE = frozenset({"RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT"})


class Again:
    """The events of one attempt; those of a first one pass as they are."""

    def __init__(self, ctx: Recovering) -> None:
        self._due: dict[str, Event] = {}
        # No snapshot removes reasoning: the part that readers hold already is left out instead.
        self._thoughts: dict[str, str] = {}
        so_far = ctx.so_far
        if so_far.messages:
            before = [dict(message) for message in so_far.before]
            self._due["MESSAGES_SNAPSHOT"] = {"type": "MESSAGES_SNAPSHOT", "messages": before}
            self._thoughts = {
                message["id"]: str(message.get("content") or "")
                for message in so_far.messages
                if message.get("role") == "reasoning"
            }
        if ctx.recovered and so_far.state != so_far.state_before:
            state = {} if so_far.state_before is None else so_far.state_before
            self._due["STATE_SNAPSHOT"] = {"type": "STATE_SNAPSHOT", "snapshot": state}

    def events(self, event: Event) -> Iterator[Event]:
        """The event, after the snapshots that are due before it."""
        kind = event.get("type")
        if kind == REASONING and self._thoughts and not self._is_new(event):
            return
        if self._due:
            if kind in PRELUDE:
                self._due.pop(str(kind), None)
            elif kind != "RUN_ERROR":  # What readers have stays if nothing replaces it.
                yield from self._due.values()
                self._due = {}
        yield event

    def _is_new(self, event: Event) -> bool:
        """Whether a delta of reasoning is more than readers have; cut to what they lack."""
        name, delta = event.get("messageId"), event.get("delta")
        prefix = self._thoughts.get(name) if isinstance(name, str) else None
        if not prefix or not isinstance(name, str) or not isinstance(delta, str):
            return True
        if prefix.startswith(delta):
            self._thoughts[name] = prefix[len(delta) :]
            return False
        del self._thoughts[name]
        if delta.startswith(prefix):
            event["delta"] = delta[len(prefix) :]
        return True
