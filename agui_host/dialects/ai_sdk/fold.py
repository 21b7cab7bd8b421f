"""The AI SDK's UI message stream: a run, and the runs that continue it, as chunks of one message.

The chunks are those of ``ai`` 7, whose ``processUIMessageStream`` refuses a delta for a part that
is not open and a result for a call that it does not know: neither is ever sent.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from agui_host.dialects.ai_sdk.request import TEXT, VALUE
from agui_host.protocol.errors import HostError
from agui_host.protocol.fold.account import CORRECTION
from agui_host.protocol.part_kinds import CALL
from agui_host.protocol.questions import table
from agui_host.protocol.strict_json import BadJson, loads
from agui_host.protocol.wire.deltas import Part
from agui_host.protocol.wire.fold import Activities, Event, Frame, RuleFold, Subagents
from agui_host.protocol.wire.room import Room, Text

NOT_JSON = "The arguments of this call are not JSON."
LOG = "the log of the run"
SERVER = {"dynamic": True, "providerExecuted": True}
"""A tool that the agent runs: the client has no type for it, and must not run it."""
MOST_OPEN, LONGEST = 50, 16 * 1024
"""Calls without a result, and characters of their arguments, among which a question finds its."""


class Stream(RuleFold):
    """The fold of one assistant message.

    ``calls`` and ``approvals`` are the tool calls and the questions that the reader's message holds
    already, when it continues one.
    """

    def __init__(
        self, message_id: str, *, calls: Iterable[str] = (), approvals: Iterable[str] = ()
    ) -> None:
        self._id = message_id
        self._began = False
        self._tools: frozenset[str] = frozenset()
        self._calls = set(calls)
        self._approvals = set(approvals)
        self._room = Room(LOG)
        self._args: dict[str, tuple[Frame, Text]] = {}
        self._open: dict[str, tuple[Frame, Any]] = {}
        self._begun: dict[str, str] = {}
        self._texts: set[str] = set()
        self._activities = Activities()
        self._subagents = Subagents()
        self.parts: set[str] = set()
        """The ids of messages and calls that the log has streamed."""
        self._rules = {
            "RUN_STARTED": self._run_started,
            "RUN_FINISHED": self._run_finished,
            "RUN_ERROR": self._run_error,
            "STEP_STARTED": self._step,
            "STEP_FINISHED": self._step,
            "TEXT_MESSAGE_START": self._text_start,
            "TEXT_MESSAGE_END": self._text_end,
            "REASONING_MESSAGE_START": self._reasoning_start,
            "REASONING_MESSAGE_END": self._reasoning_end,
            "TOOL_CALL_START": self._call_start,
            "TOOL_CALL_END": self._call_end,
            "TOOL_CALL_RESULT": self._call_result,
            "STATE_SNAPSHOT": self._state_snapshot,
            "STATE_DELTA": self._state_delta,
            "ACTIVITY_SNAPSHOT": self._activity,
            "ACTIVITY_DELTA": self._activity,
            "SUBAGENT_STARTED": self._subagent,
            "SUBAGENT_FINISHED": self._subagent,
            "SUBAGENT_ERROR": self._subagent,
            "CUSTOM": self._custom,
            CORRECTION: self._corrected,
        }
        self._parts = {
            "TEXT_MESSAGE_CONTENT": self._text_part,
            "REASONING_MESSAGE_CONTENT": self._reasoning_part,
            "TOOL_CALL_ARGS": self._call_part,
        }

    # --- the run

    def _run_started(self, event: Event) -> list[Frame]:
        body = event.get("input") or {}
        self._tools = frozenset(tool["name"] for tool in body.get("tools") or ())
        self._args, self._open, self._begun, self._texts = {}, {}, {}, set()
        metadata = {"messageMetadata": {"runId": event["runId"]}}
        first = {"type": "message-metadata", **metadata}
        if not self._began:
            self._began = True
            first = {"type": "start", "messageId": self._id, **metadata}
        answers = (self._answer(entry) for entry in body.get("resume") or ())
        results = map(self._brought, body.get("messages") or ())
        return [first, *filter(None, answers), *filter(None, results), {"type": "start-step"}]

    def _brought(self, message: Event) -> Frame | None:
        """The output of a client's tool that came with this run, as the client had it."""
        key = message.get("toolCallId")
        if message["role"] != "tool" or key not in self._calls:
            return None
        if message.get("error"):
            return {"type": "tool-output-error", "toolCallId": key, "errorText": message["error"]}
        output = _output(str(message.get("id")), message["content"])
        return {"type": "tool-output-available", "toolCallId": key, "output": output}

    def _answer(self, entry: Event) -> Frame | None:
        """An answer that came with this run, if the message holds its question."""
        if entry["interruptId"] not in self._approvals:
            return None
        frame = {"type": "tool-approval-response", "approvalId": entry["interruptId"]}
        return {**frame, "approved": table.verdict(entry)}

    def _run_finished(self, event: Event) -> list[Frame]:
        outcome = event.get("outcome") or {"type": "success"}
        if outcome["type"] == "cancelled":
            return [{"type": "abort", "reason": "The run was cancelled."}]
        questions = outcome.get("interrupts") or ()
        frames = [frame for question in questions for frame in self._question(question)]
        waits = questions or outcome.get("pendingToolCallIds")
        finish: Frame = {"type": "finish", "finishReason": "tool-calls" if waits else "stop"}
        if event.get("usage"):
            finish["messageMetadata"] = {"usage": event["usage"]}
        return [*frames, {"type": "finish-step"}, finish]

    def _run_error(self, event: Event) -> list[Frame]:
        return [{"type": "error", "errorText": event["message"]}]

    def _question(self, question: Event) -> list[Frame]:
        """An interrupt as a request for approval; of a new call, if it is about none."""
        frames, call_id = [], question.get("toolCallId")
        if call_id not in self._calls:
            call_id = self._call_of(question)
        if call_id is None:
            call_id = f"interrupt-{question['id']}"
            asks = {"message": question["message"]} if question.get("message") else {}
            tool, asks = table.action_of(question) or (question["reason"], asks)
            name = {"toolCallId": call_id, "toolName": tool, **SERVER}
            frames = [{"type": "tool-input-available", **name, "input": asks}]
            self._calls.add(call_id)
        self._approvals.add(question["id"])
        request: Frame = {
            "type": "tool-approval-request",
            "approvalId": question["id"],
            "toolCallId": call_id,
            "approvalDescriptor": {
                key: value
                for key, value in question.items()
                if key not in ("id", "toolCallId", "message")
            },
        }
        if question.get("message"):
            request["reason"] = question["message"]
        return [*frames, request]

    def _call_of(self, question: Event) -> str | None:
        """The open call of the action that the question is about: LangChain does not name it.

        As long as a call is open that no approval answers, the SDK's chat does not send by itself.
        """
        action = table.action_of(question)
        calls = self._open.items()
        keys = (key for key, (call, value) in calls if (call["toolName"], value) == action)
        if (key := next(keys, None)) is not None:
            del self._open[key]
        return key

    def _step(self, event: Event) -> list[Frame]:
        status = "started" if event["type"] == "STEP_STARTED" else "finished"
        return [_data("step", {"stepName": event["stepName"], "status": status}, transient=True)]

    # --- texts and tool calls

    def _text_start(self, event: Event) -> list[Frame]:
        key = event["messageId"]
        if event.get("role", "assistant") != "assistant":
            return []
        self._texts.add(key)
        self.parts.add(key)
        return [{"type": "text-start", "id": key}]

    def _text_part(self, event: Event) -> Part:
        key = event["messageId"]
        if key not in self._texts:
            return Part()
        return Part(lambda delta: {"type": "text-delta", "id": key, "delta": delta})

    def _text_end(self, event: Event) -> list[Frame]:
        key = event["messageId"]
        if key not in self._texts:
            return []
        self._texts.remove(key)
        return [{"type": "text-end", "id": key}]

    def _reasoning_start(self, event: Event) -> list[Frame]:
        self.parts.add(event["messageId"])
        return [{"type": "reasoning-start", "id": event["messageId"]}]

    def _reasoning_part(self, event: Event) -> Part:
        key = event["messageId"]
        return Part(lambda delta: {"type": "reasoning-delta", "id": key, "delta": delta})

    def _reasoning_end(self, event: Event) -> list[Frame]:
        return [{"type": "reasoning-end", "id": event["messageId"]}]

    def _call_start(self, event: Event) -> list[Frame]:
        key, name = event["toolCallId"], event["toolCallName"]
        call = {"toolCallId": key, "toolName": name, **({} if name in self._tools else SERVER)}
        if not self._args:
            self._room = Room(LOG)  # Arguments are only held while their call is open.
        self._args[key] = call, Text(self._room)
        if begun := self._begun.pop(key, ""):
            self._args[key][1].add(begun)
        self._calls.add(key)
        self.parts.add(key)
        return [{"type": "tool-input-start", **call}]

    def _call_part(self, event: Event) -> Part:
        key = event["toolCallId"]
        if key not in self._args:
            return Part()
        head = {"type": "tool-input-delta", "toolCallId": key}
        return Part(lambda delta: {**head, "inputTextDelta": delta}, self._args[key][1])

    def _call_end(self, event: Event) -> list[Frame]:
        if event["toolCallId"] not in self._args:
            return []  # Its result has ended it.
        call, arguments = self._args.pop(event["toolCallId"])
        text = str(arguments)
        try:
            value = loads(text.encode()) if text.strip() else {}
        except BadJson:
            # It is begun again if chunks of something else have ended it in the middle.
            if len(text) <= LONGEST and len(self._begun) < MOST_OPEN:
                self._begun[call["toolCallId"]] = text
            return [{"type": "tool-input-error", **call, "input": text, "errorText": NOT_JSON}]
        if len(text) <= LONGEST and len(self._open) < MOST_OPEN:
            self._open[call["toolCallId"]] = call, value
        return [{"type": "tool-input-available", **call, "input": value}]

    def _corrected(self, event: Event) -> list[Frame]:
        """Other arguments of an open call: the SDK takes the newest input.

        A tool of the client is not called twice.
        """
        key, text = event["id"], event["content"]
        if event["kind"] != CALL.start or text is None or key not in self._open:
            return []
        call, _ = self._open[key]
        if call["toolName"] in self._tools:
            return []
        self._open.pop(key)
        self._args[key] = call, Text(self._room)
        self._args[key][1].add(text)
        return self._call_end({"toolCallId": key})

    def _call_result(self, event: Event) -> list[Frame]:
        # For the SDK, an input after the output is a call that waits for its result.
        key, frames = event["toolCallId"], self._call_end(event)
        self._open.pop(key, None)
        if key not in self._calls:
            self._calls.add(key)
            call = {"toolCallId": key, "toolName": "tool", **SERVER, "input": {}}
            frames = [{"type": "tool-input-available", **call}]
        output = _value(event["content"])
        return [*frames, {"type": "tool-output-available", "toolCallId": key, "output": output}]

    # --- events without their own chunk

    def _state_snapshot(self, event: Event) -> list[Frame]:
        return [_data("state", {"snapshot": event["snapshot"]}, transient=True)]

    def _state_delta(self, event: Event) -> list[Frame]:
        return [_data("state", {"delta": event["delta"]}, transient=True)]

    def _activity(self, event: Event) -> list[Frame]:
        change = self._activities.feed(event)
        return [_data("activity", change[1], id=change[0])] if change else []

    def _subagent(self, event: Event) -> list[Frame]:
        key, subagent = self._subagents.feed(event)
        return [_data("subagent", subagent, id=key)]

    def _custom(self, event: Event) -> list[Frame]:
        return [{"type": f"data-{event['name']}", "data": event["value"]}]


def refusal(error: HostError) -> list[Frame]:
    """How a stream ends that the host cannot continue: the SDK's own error has room for a text."""
    about = {"code": error.code, **error.details}
    return [_data("error", about, transient=True), {"type": "error", "errorText": error.message}]


def _value(content: Any) -> Any:
    """A result as its tool returned it: AG-UI has only text for an object or a list."""
    if isinstance(content, str) and content[:1] in ("{", "["):
        with suppress(BadJson):
            return loads(content.encode())
    return content


def _output(message_id: str, content: Any) -> Any:
    """The result of a client's tool: those of other dialects do not say how they became text."""
    if message_id.endswith(VALUE) and isinstance(content, str):
        with suppress(BadJson):
            return loads(content.encode())
    return content if message_id.endswith(TEXT) else _value(content)


def _data(name: str, data: Any, **members: Any) -> Frame:
    return {"type": f"data-agui-{name}", **members, "data": data}
