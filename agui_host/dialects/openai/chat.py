"""OpenAI's Chat Completions: a run as the chunks of one choice, or as one whole message.

Thin on purpose: the texts, the calls of the client's tools, the end. Tools of the agent, state and
the like have no place in it.
"""

from typing import Any

from agui_host.dialects.openai import items
from agui_host.protocol.wire.deltas import Part
from agui_host.protocol.wire.fold import Event, Frame, RuleFold
from agui_host.protocol.wire.room import Text, of_run


class InTurn:
    """Texts that are one text on the wire: while one is open, the others wait for its end.

    Agents that run side by side stream several at once. ``part`` is that of the one text,
    ``between`` stands between two of them. What waits has room for as much as a whole answer.
    """

    def __init__(self, part: Part, whole: Text, between: str, run_id: str) -> None:
        self._part, self._whole = part, whole
        self._between, self._run_id = between, run_id
        self._open = self._last = ""
        self._waiting: dict[str, Text] = {}
        self._ended: set[str] = set()

    def start(self, key: str) -> list[Frame]:
        """The text ``key`` begins, or begins again."""
        if not self._open:
            return self._say(self._begin(key, began=self._whole.began))
        if key != self._open and key not in self._waiting:
            self._waiting[key] = Text(of_run(self._run_id))
        self._ended.discard(key)
        return []

    def part(self, key: str) -> Part:
        """Where the deltas of that text go now."""
        return self._part if key == self._open else Part(None, self._waiting.get(key))

    def end(self, key: str) -> list[Frame]:
        """The text ends; those that waited for it follow."""
        if key == self._open:
            return self._say(self._next())
        if key in self._waiting:
            self._ended.add(key)
        return []

    def end_all(self) -> list[Frame]:
        """The texts that still wait."""
        self._ended.update(self._waiting)
        return self._say(self._next())

    def _next(self) -> str:
        self._open, text = "", ""
        while self._waiting and not self._open:
            key = next(iter(self._waiting))
            text += self._begin(key, began=self._whole.began or text != "")
            text += str(self._waiting.pop(key))
            if key in self._ended:
                self._ended.remove(key)
                self._open = ""
        return text

    def _begin(self, key: str, *, began: bool) -> str:
        before, self._last, self._open = self._last, key, key
        return self._between if began and before != key else ""

    def _say(self, text: str) -> list[Frame]:
        return self._part.add(text) if text else []


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
        self._text, self._reasoning = Text(self._room), Text(self._room)
        self._content = self._part("content", self._text)
        self._texts = InTurn(self._content, self._text, "\n\n", run_id)
        thoughts = self._part("reasoning_content", self._reasoning)
        self._thoughts = InTurn(thoughts, self._reasoning, "", run_id)
        self._reason: str | None = None
        self._usage = items.chat_usage(())
        self.error: Frame | None = None
        """The error that the run ended with."""
        self._rules = {
            "RUN_STARTED": self._run_started,
            "RUN_FINISHED": self._run_finished,
            "RUN_ERROR": self._run_error,
            "TEXT_MESSAGE_START": self._text_start,
            "TEXT_MESSAGE_END": lambda event: self._texts.end(event["messageId"]),
            "REASONING_MESSAGE_START": lambda event: self._thoughts.start(event["messageId"]),
            "REASONING_MESSAGE_END": lambda event: self._thoughts.end(event["messageId"]),
            "TOOL_CALL_START": self._call_start,
        }
        self._parts = {
            "TEXT_MESSAGE_CONTENT": self._text_part,
            "REASONING_MESSAGE_CONTENT": lambda event: self._thoughts.part(event["messageId"]),
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
        rest = [*self._thoughts.end_all(), *self._texts.end_all(), *self._end_calls()]
        asks = [frame for text in filter(None, questions) for frame in self._content.add(text)]
        self._reason = "tool_calls" if self._calls else "stop"
        self._usage = items.chat_usage(event.get("usage") or ())
        frames = [*rest, *asks, self._chunk("finish_reason", {}, self._reason)]
        if self._with_usage:
            frames.append({"type": "usage", **self._head, "choices": [], "usage": self._usage})
        return frames

    def _run_error(self, event: Event) -> list[Frame]:
        self.error = {"message": event["message"], "type": "server_error", "param": None}
        self.error["code"] = event.get("code")
        rest = [*self._thoughts.end_all(), *self._texts.end_all(), *self._end_calls()]
        return [*rest, {"type": "error", "error": self.error}]

    def _text_start(self, event: Event) -> list[Frame]:
        if event.get("role", "assistant") == "assistant":
            return self._texts.start(event["messageId"])
        return []

    def _text_part(self, event: Event) -> Part:
        return self._texts.part(event["messageId"])

    def _call_start(self, event: Event) -> list[Frame]:
        key, name = event["toolCallId"], event["toolCallName"]
        if name not in self._tools:
            return []
        call: Frame = {"id": key, "type": "function", "function": {"name": name, "arguments": ""}}
        self._places.setdefault(key, len(self._places))
        self._calls.setdefault(key, (call, Text(self._room)))
        return [self._of_call({"index": self._places[key], **call})]

    def _end_calls(self) -> list[Frame]:
        """Clients parse the arguments of a call without any as JSON.

        Only now, since a call that has ended can be begun again.
        """
        silent = (key for key, (_, text) in self._calls.items() if not str(text).strip())
        return [frame for key in silent for frame in self._call_part({"toolCallId": key}).add("{}")]

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
