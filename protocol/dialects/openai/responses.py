"""OpenAI's Responses: a run as one response, its parts as output items."""

from typing import Any

from protocol.deep_copy import deep_copy
from protocol.dialects.deltas import Part
from protocol.dialects.fold import Event, Frame, RuleFold, text_of
from protocol.dialects.openai import items
from protocol.dialects.room import Text, of_run
from protocol.strict_json import dumps

PREFIX = "resp_"
FIXED: Frame = {
    "object": "response",
    "status": "queued",
    "background": False,
    "conversation": None,
    "error": None,
    "incomplete_details": None,
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "output": [],
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "service_tier": "default",
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
    "usage": None,
}
"""What every response has. Required members that a host of agents knows nothing of are constant."""

Open = tuple[int, Frame, Text]
"""An item that is being written: its place, itself, and its text or arguments."""


class Responses(RuleFold):
    """The fold of one response. ``head`` overrides members of ``FIXED``, and has id and model."""

    def __init__(self, run_id: str, **head: Any) -> None:
        identity = {"id": PREFIX + run_id.replace("-", ""), "created_at": 0, "model": "agent"}
        self._response: Frame = {**deep_copy(FIXED), **identity, **head}
        self._room = of_run(run_id)
        self._items = 0
        self._output: list[Frame] = []
        self._tools: frozenset[str] = frozenset()
        self._texts: dict[tuple[str, str], Open] = {}
        self._calls: dict[str, Open] = {}
        self._rules = {
            "RUN_STARTED": self._run_started,
            "RUN_FINISHED": self._run_finished,
            "RUN_ERROR": self._run_error,
            "TEXT_MESSAGE_START": self._text_start,
            "TEXT_MESSAGE_END": self._text_end,
            "REASONING_MESSAGE_START": self._text_start,
            "REASONING_MESSAGE_END": self._text_end,
            "TOOL_CALL_START": self._call_start,
            "TOOL_CALL_END": self._call_end,
            "TOOL_CALL_RESULT": self._call_result,
        }
        self._parts = {
            "TEXT_MESSAGE_CONTENT": self._text_part,
            "REASONING_MESSAGE_CONTENT": self._text_part,
            "TOOL_CALL_ARGS": self._call_part,
        }

    @property
    def response(self) -> Frame:
        """The response so far, with the text of items that are still being written."""
        for kind in self._texts:
            _, item, text = self._texts[kind]
            item["content"][0]["text"] = str(text)
        for _, item, arguments in self._calls.values():
            if item["status"] == "in_progress" and arguments.began:
                item["arguments"] = str(arguments)
        return {**self._response, "output": self._output}

    # --- the run

    def _run_started(self, event: Event) -> list[Frame]:
        body = event.get("input") or {}
        self._tools = frozenset(tool["name"] for tool in body.get("tools") or ())
        self._response["status"] = "in_progress"
        return [self._snapshot("created"), self._snapshot("in_progress")]

    def _run_finished(self, event: Event) -> list[Frame]:
        outcome = event.get("outcome") or {"type": "success"}
        self._response["usage"] = items.usage(event.get("usage") or ())
        if outcome["type"] == "cancelled":
            closed = self._close("incomplete")
            self._response["status"] = "cancelled"
            return [*closed, self._snapshot("cancelled")]
        frames = [frame for each in outcome.get("interrupts") or () for frame in self._ask(each)]
        closed = self._close("completed")
        self._response |= {"status": "completed", "completed_at": _seconds(event)}
        return [*closed, *frames, self._snapshot("completed")]

    def _run_error(self, event: Event) -> list[Frame]:
        closed = self._close("incomplete")
        error = {"code": "server_error", "message": event["message"]}
        self._response |= {"status": "failed", "error": error}
        return [*closed, self._snapshot("failed")]

    def _ask(self, question: Event) -> list[Frame]:
        call = self._calls.get(question.get("toolCallId") or "")
        arguments = str(call[2]) if call else dumps(question.get("metadata") or {})
        item = items.approval(question, arguments)
        added = self._add(item)
        return [added, {**added, "type": "response.output_item.done"}]

    def _close(self, status: str) -> list[Frame]:
        """Calls without a result end with the response; texts only if their worker was lost."""
        closed = []
        for place, item, text in self._texts.values():
            item["content"][0]["text"] = str(text)
            item["status"] = status
            closed.append(self._done(place, item))
        for place, item, arguments in self._calls.values():
            if item["status"] == "in_progress":
                item |= {"status": "incomplete", "arguments": str(arguments)}
                closed.append(self._done(place, item))
        self._texts.clear()
        return closed

    def _snapshot(self, name: str) -> Frame:
        return {"type": f"response.{name}", "response": self.response}

    def _add(self, item: Frame) -> Frame:
        place = self._items
        self._items += 1
        if not self._room.full:
            self._output.append(item)
        return {"type": "response.output_item.added", "output_index": place, "item": dict(item)}

    def _done(self, place: int, item: Frame) -> Frame:
        return {"type": "response.output_item.done", "output_index": place, "item": dict(item)}

    # --- texts and reasoning

    def _text_start(self, event: Event) -> list[Frame]:
        reasons = event["type"] == "REASONING_MESSAGE_START"
        if not reasons and event.get("role", "assistant") != "assistant":
            return []
        key = event["messageId"]
        part: Frame = {"type": "reasoning_text", "text": ""}
        item: Frame = {"id": key, "type": "reasoning", "summary": []}
        if not reasons:
            part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            item = {"id": key, "type": "message", "role": "assistant"}
        item |= {"status": "in_progress", "content": []}
        added = self._add(item)
        item["content"] = [part]
        self._texts[part["type"], key] = added["output_index"], item, Text(self._room)
        where = {"item_id": key, "output_index": added["output_index"], "content_index": 0}
        return [added, {"type": "response.content_part.added", **where, "part": dict(part)}]

    def _text_part(self, event: Event) -> Part:
        kind = "reasoning_text" if event["type"].startswith("REASONING") else "output_text"
        part = self._texts.get((kind, event["messageId"]))
        if part is None:
            return Part()
        head = {"type": f"response.{kind}.delta", **_where(part)}
        tail: Frame = {} if kind == "reasoning_text" else {"logprobs": []}
        return Part(lambda delta: {**head, "delta": delta, **tail}, part[2])

    def _text_end(self, event: Event) -> list[Frame]:
        kind = "reasoning_text" if event["type"].startswith("REASONING") else "output_text"
        part = self._texts.pop((kind, event["messageId"]), None)
        if part is None:
            return []
        place, item, text = part
        content, where = item["content"][0], _where(part)
        content["text"], item["status"] = str(text), "completed"
        done: Frame = {"type": f"response.{kind}.done", **where, "text": content["text"]}
        if kind == "output_text":
            done["logprobs"] = []
        closed = {"type": "response.content_part.done", **where, "part": content}
        return [done, closed, self._done(place, item)]

    # --- tool calls

    def _call_start(self, event: Event) -> list[Frame]:
        key, name = event["toolCallId"], event["toolCallName"]
        make = items.client_call if name in self._tools else items.server_call
        item = make(key, name)
        added = self._add(item)
        self._calls[key] = added["output_index"], item, Text(self._room)
        return [added]

    def _call_part(self, event: Event) -> Part:
        call = self._calls[event["toolCallId"]]
        head = {"type": _arguments(call, "delta"), **_where(call)}
        return Part(lambda delta: {**head, "delta": delta}, call[2])

    def _call_end(self, event: Event) -> list[Frame]:
        call = self._calls[event["toolCallId"]]
        place, item, arguments = call
        item["arguments"] = str(arguments)
        where = _where(call)
        done: Frame = {"type": _arguments(call, "done"), **where, "arguments": item["arguments"]}
        if item["type"] == "mcp_call":
            return [done, {"type": "response.mcp_call.in_progress", **where}]
        item["status"] = "completed"
        return [{**done, "name": item["name"]}, self._done(place, item)]

    def _call_result(self, event: Event) -> list[Frame]:
        call = self._calls.get(event["toolCallId"])
        if call is None or call[1]["type"] != "mcp_call" or call[1]["status"] != "in_progress":
            return []
        place, item, _ = call
        item |= {"output": self._room.fit(text_of(event["content"])), "status": "completed"}
        return [{"type": "response.mcp_call.completed", **_where(call)}, self._done(place, item)]


def _where(part: Open) -> Frame:
    """Where a frame about a part of an item belongs."""
    place, item, _ = part
    where: Frame = {"item_id": item["id"], "output_index": place}
    return where if "content" not in item else {**where, "content_index": 0}


def _arguments(call: Open, what: str) -> str:
    kind = "mcp_call" if call[1]["type"] == "mcp_call" else "function_call"
    return f"response.{kind}_arguments.{what}"


def _seconds(event: Event) -> int:
    return int(event.get("timestamp", 0)) // 1000
