"""OpenAI's Chat Completions: a run as the chunks of one choice, or as one whole message.

Thin on purpose: the texts, the calls of the client's tools, the end. Tools of the agent, state and
the like have no place in it.
"""

from typing import Any

from agui_host.dialects.openai import items
from agui_host.protocol.wire.deltas import Part
from agui_host.protocol.wire.fold import Event, Frame, RuleFold
from agui_host.protocol.wire.room import Text, of_run


class ChatCompletion(RuleFold):
    """The fold of one completion; the ``type`` of its frames names their content, for this host."""

    def __init__(
        self, run_id: str, *, model: str = "agent", created: int = 0, with_usage: bool = False
    ) -> None:
        self._head = {
            "id": "chatcmpl-" + run_id.replace("-", ""),
            "object": "chat.completion.chunk",
            "created": created,
            "model": model,
        }
        self._with_usage = with_usage
        self._tools: frozenset[str] = frozenset()
        self._room = of_run(run_id)
        self._calls: dict[str, tuple[Frame, Text]] = {}
        self._places: dict[str, int] = {}
        self._texts: set[str] = set()
        self._last = ""
        self._text, self._reasoning = Text(self._room), Text(self._room)
        self._content = self._part("content", self._text)
        self._thoughts = self._part("reasoning_content", self._reasoning)
        self._reason: str | None = None
        self._usage = items.chat_usage(())
        self.error: Frame | None = None
        """The error that the run ended with."""
        self._rules = {
            "RUN_STARTED": self._run_started,
            "RUN_FINISHED": self._run_finished,
            "RUN_ERROR": self._run_error,
            "TEXT_MESSAGE_START": self._text_start,
            "TOOL_CALL_START": self._call_start,
            "TOOL_CALL_END": self._call_end,
        }
        self._parts = {
            "TEXT_MESSAGE_CONTENT": self._text_part,
            "REASONING_MESSAGE_CONTENT": self._reasoning_part,
            "TOOL_CALL_ARGS": self._call_part,
        }

    @property
    def completion(self) -> Frame:
        """The whole completion."""
        calls = [
            {**call, "function": {**call["function"], "arguments": str(arguments)}}
            for call, arguments in self._calls.values()
        ]
        message: Frame = {"role": "assistant", "content": str(self._text), "refusal": None}
        if self._reasoning.began:
            message["reasoning_content"] = str(self._reasoning)
        if calls:
            message |= {"content": message["content"] or None, "tool_calls": calls}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._reason}
        whole = {**self._head, "object": "chat.completion", "choices": [choice]}
        return {**whole, "usage": self._usage}

    def _chunk(self, kind: str, delta: Frame, reason: str | None = None) -> Frame:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return {"type": kind, **self._head, "choices": [choice]}

    def _run_started(self, event: Event) -> list[Frame]:
        body = event.get("input") or {}
        self._tools = frozenset(tool["name"] for tool in body.get("tools") or ())
        return [self._chunk("role", {"role": "assistant", "content": ""})]

    def _run_finished(self, event: Event) -> list[Frame]:
        outcome = event.get("outcome") or {}
        questions = [each.get("message") for each in outcome.get("interrupts") or ()]
        asks = [frame for text in filter(None, questions) for frame in self._content.add(text)]
        self._reason = "tool_calls" if self._calls else "stop"
        self._usage = items.chat_usage(event.get("usage") or ())
        frames = [*asks, self._chunk("finish_reason", {}, self._reason)]
        if self._with_usage:
            frames.append({"type": "usage", **self._head, "choices": [], "usage": self._usage})
        return frames

    def _run_error(self, event: Event) -> list[Frame]:
        self.error = {"message": event["message"], "type": "server_error", "param": None}
        self.error["code"] = event.get("code")
        return [{"type": "error", "error": self.error}]

    def _text_start(self, event: Event) -> list[Frame]:
        if event.get("role", "assistant") == "assistant":
            self._texts.add(event["messageId"])
            # Several messages are one content here.
            began, self._last = self._last, event["messageId"]
            if self._text.began and began != self._last:
                return self._content.add("\n\n")
        return []

    def _text_part(self, event: Event) -> Part:
        return self._content if event["messageId"] in self._texts else Part()

    def _reasoning_part(self, event: Event) -> Part:
        return self._thoughts

    def _call_start(self, event: Event) -> list[Frame]:
        key, name = event["toolCallId"], event["toolCallName"]
        if name not in self._tools:
            return []
        call: Frame = {"id": key, "type": "function", "function": {"name": name, "arguments": ""}}
        self._places.setdefault(key, len(self._places))
        self._calls.setdefault(key, (call, Text(self._room)))
        return [self._of_call({"index": self._places[key], **call})]

    def _call_end(self, event: Event) -> list[Frame]:
        call = self._calls.get(event["toolCallId"])
        if call is None or str(call[1]).strip():
            return []
        # Clients parse the arguments of a call without any as JSON.
        return self._call_part(event).add("{}")

    def _call_part(self, event: Event) -> Part:
        key = event["toolCallId"]
        if key not in self._calls:
            return Part()
        place = self._places[key]

        def frame(delta: str) -> Frame:
            return self._of_call({"index": place, "function": {"arguments": delta}})

        return Part(frame, self._calls[key][1])

    def _part(self, name: str, text: Text) -> Part:
        return Part(lambda delta: self._chunk(name, {name: delta}), text)

    def _of_call(self, call: Frame) -> Frame:
        return self._chunk("tool_calls", {"tool_calls": [call]})


def without_type(frame: dict[str, Any]) -> dict[str, Any]:
    """A frame as it is sent: chunks of Chat Completions have no type."""
    return {name: value for name, value in frame.items() if name != "type"}
