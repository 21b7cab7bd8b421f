"""AGUIEventEmitter: the events of one run as server-sent events, through the SDK's encoder.

It remembers the open parts, so that a notebook needs no ids: text and arguments go to the message
or call that was started last.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import (
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from ag_ui.encoder import EventEncoder


@dataclass
class AGUIEventEmitter:
    """Each method returns one encoded event. Raises ValueError if nothing is open."""

    thread_id: str
    run_id: str
    _encoder: EventEncoder = field(default_factory=EventEncoder, init=False, repr=False)
    _message_id: str | None = field(default=None, init=False, repr=False)
    _tool_call_id: str | None = field(default=None, init=False, repr=False)

    @property
    def content_type(self) -> str:
        """The value of the Content-Type header."""
        return str(self._encoder.get_content_type())

    def emit_run_started(self) -> str:
        """RUN_STARTED of this run."""
        return self._encode(RunStartedEvent(thread_id=self.thread_id, run_id=self.run_id))

    def emit_run_finished(self, result: Any = None) -> str:
        """RUN_FINISHED, which ends the run; ``result`` is any JSON value."""
        return self._encode(
            RunFinishedEvent(thread_id=self.thread_id, run_id=self.run_id, result=result)
        )

    def emit_run_error(self, message: str, code: str | None = None) -> str:
        """RUN_ERROR; without a code UNKNOWN_ERROR."""
        return self._encode(RunErrorEvent(message=message, code=code or "UNKNOWN_ERROR"))

    def emit_text_start(self, message_id: str | None = None) -> str:
        """TEXT_MESSAGE_START; the next events belong to it."""
        self._message_id = message_id or str(uuid.uuid4())
        return self._encode(TextMessageStartEvent(message_id=self._message_id, role="assistant"))

    def emit_text_content(self, delta: str) -> str:
        """A piece of the open message's text. Raises RuntimeError if no message is open."""
        open_id = _opened(self._message_id, "emit_text_start")
        return self._encode(TextMessageContentEvent(message_id=open_id, delta=delta))

    def emit_text_end(self) -> str:
        """Close the open message. Raises RuntimeError if none is open."""
        open_id, self._message_id = _opened(self._message_id, "emit_text_start"), None
        return self._encode(TextMessageEndEvent(message_id=open_id))

    def emit_tool_call_start(
        self,
        tool_name: str,
        tool_call_id: str | None = None,
        parent_message_id: str | None = None,
    ) -> str:
        """TOOL_CALL_START; the next events belong to it."""
        self._tool_call_id = tool_call_id or str(uuid.uuid4())
        return self._encode(
            ToolCallStartEvent(
                tool_call_id=self._tool_call_id,
                tool_call_name=tool_name,
                parent_message_id=parent_message_id,
            )
        )

    def emit_tool_call_args(self, delta: str) -> str:
        """A piece of the open call's arguments, as JSON. Raises RuntimeError if no call is open."""
        open_id = _opened(self._tool_call_id, "emit_tool_call_start")
        return self._encode(ToolCallArgsEvent(tool_call_id=open_id, delta=delta))

    def emit_tool_call_end(self) -> str:
        """TOOL_CALL_END; a result can still follow."""
        open_id = _opened(self._tool_call_id, "emit_tool_call_start")
        return self._encode(ToolCallEndEvent(tool_call_id=open_id))

    def emit_tool_call_result(self, content: str) -> str:
        """TOOL_CALL_RESULT of the call that was started last."""
        call, self._tool_call_id = _opened(self._tool_call_id, "emit_tool_call_start"), None
        return self._encode(
            ToolCallResultEvent(message_id=str(uuid.uuid4()), tool_call_id=call, content=content)
        )

    def emit_state_snapshot(self, state: Any) -> str:
        """Replace the whole state."""
        return self._encode(StateSnapshotEvent(snapshot=state))

    def emit_state_delta(self, delta: Mapping[str, Any] | list[dict[str, Any]]) -> str:
        """STATE_DELTA. New values by key become the JSON Patch that AG-UI requires."""
        patch = delta if isinstance(delta, list) else as_patch(delta)
        return self._encode(StateDeltaEvent.model_validate({"delta": patch}))

    def _encode(self, event: Any) -> str:
        return str(self._encoder.encode(event))


def as_patch(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Top-level keys and their new values as JSON Patch; ``add`` also replaces."""
    return [
        {"op": "add", "path": "/" + key.replace("~", "~0").replace("/", "~1"), "value": value}
        for key, value in values.items()
    ]


def _opened(id_: str | None, first: str) -> str:
    if id_ is None:
        raise ValueError(f"Nothing is open: call {first} first.")
    return id_
