"""MCP's result of a tool call: the texts of a run, or the forms that it waits for."""

from typing import Any

from agui_host.dialects.mcp.forms import elicitation
from agui_host.protocol.wire.deltas import Part
from agui_host.protocol.wire.fold import Event, Frame, RuleFold
from agui_host.protocol.wire.room import Text, of_run

COMPLETE, INPUT_REQUIRED = "complete", "input_required"


class CallResult(RuleFold):
    """The fold of one call; its only frame comes with the end, and its type is the result's."""

    def __init__(self, run_id: str) -> None:
        self._room = of_run(run_id)
        self._texts: dict[str, Text] = {}
        self.result: Frame = {}
        """Empty before the end."""
        self._rules = {
            "RUN_FINISHED": self._run_finished,
            "RUN_ERROR": self._run_error,
            "TEXT_MESSAGE_START": self._text_start,
        }
        self._parts = {"TEXT_MESSAGE_CONTENT": self._text_part}

    @property
    def texts(self) -> list[str]:
        """The agent's messages so far."""
        return [str(text) for text in self._texts.values()]

    def _run_finished(self, event: Event) -> list[Frame]:
        outcome = event.get("outcome") or {"type": "success"}
        if outcome["type"] == "cancelled":
            return self._complete("The run was cancelled.")
        if questions := outcome.get("interrupts"):
            requests = {question["id"]: elicitation(question) for question in questions}
            return self._end(INPUT_REQUIRED, inputRequests=requests)
        result = event.get("result")
        return self._complete(structured=result if isinstance(result, dict) else None)

    def _run_error(self, event: Event) -> list[Frame]:
        return self._complete(event["message"])

    def _complete(self, error: str | None = None, structured: Any = None) -> list[Frame]:
        texts = [text for text in self.texts if text]
        if error is not None:
            texts.append(error)
        content = [{"type": "text", "text": text} for text in texts or [""]]
        more = {} if structured is None else {"structuredContent": structured}
        return self._end(COMPLETE, content=content, isError=error is not None, **more)

    def _end(self, kind: str, **members: Any) -> list[Frame]:
        self.result = {"resultType": kind, **members}
        return [{"type": kind, **members}]

    def _text_start(self, event: Event) -> list[Frame]:
        if event.get("role", "assistant") == "assistant" and not self._room.full:
            self._texts.setdefault(event["messageId"], Text(self._room))
        return []

    def _text_part(self, event: Event) -> Part:
        return Part(text=self._texts.get(event["messageId"]))


OLDER_NAMES = {"ttlMs": "ttl", "pollIntervalMs": "pollInterval"}
"""The names of a task's members before 2026."""


def for_handshake(result: Frame) -> Frame:
    """A result for clients of before 2026, who know no result that asks: the questions as text."""
    rest = {name: value for name, value in result.items() if name != "resultType"}
    if "taskId" in rest:
        return {OLDER_NAMES.get(name, name): value for name, value in rest.items()}
    if result.get("resultType") != INPUT_REQUIRED:
        return rest
    questions = [each["params"]["message"] for each in rest.get("inputRequests", {}).values()]
    text = "\n".join([*questions, "This waits for an answer on the host."])
    return {"content": [{"type": "text", "text": text}], "isError": False}
