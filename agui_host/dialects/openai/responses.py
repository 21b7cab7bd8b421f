"""OpenAI's Responses: a run as one response, its parts as output items."""

from typing import Any

from agui_host.dialects.openai import items
from agui_host.protocol.deep_copy import deep_copy
from agui_host.protocol.fold.account import CORRECTION, RESULT
from agui_host.protocol.part_kinds import CALL, TEXT, THOUGHT
from agui_host.protocol.questions import table
from agui_host.protocol.strict_json import dumps
from agui_host.protocol.wire.deltas import Part
from agui_host.protocol.wire.fold import Event, Frame, RuleFold, text_of
from agui_host.protocol.wire.room import Text, of_run

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
"""What every response has. Required members without a meaning for a host of agents are constant."""

NONE = "{}"
"""The arguments of a call without any, which clients parse as JSON."""
_KINDS = ("output_text", "summary_text")
"""The types of the parts of messages, and of reasoning."""
Open = tuple[int, Frame, Text]
"""An item that is being written: its place, itself, and its text or arguments."""


class Responses(RuleFold):
    """The fold of one response. ``head`` overrides members of ``FIXED``, and has id and model."""

    def __init__(self, run_id: str, **head: Any) -> None:
        identity = {"id": PREFIX + run_id.replace("-", ""), "created_at": 0, "model": "agent"}
        self._response: Frame = {**deep_copy(FIXED), **identity, **head}
        self._room = of_run(run_id)
        self._items = 0
        self._output: dict[int, Frame] = {}
        self._places: dict[tuple[str, str], list[int]] = {}
        # By item: the text that a snapshot says it has.
        self._corrections: dict[int, str] = {}
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
            CORRECTION: self._corrected,
        }
        self._parts = {
            "TEXT_MESSAGE_CONTENT": self._text_part,
            "REASONING_MESSAGE_CONTENT": self._text_part,
            "TOOL_CALL_ARGS": self._call_part,
        }

    @property
    def response(self) -> Frame:
        """The response so far, with the text of items that are still being written."""
        for place, now in self._corrections.items():
            if (item := self._output.get(place)) is not None:
                piece = _piece(item)
                piece["text"] = self._room.refit(piece["text"], now)
        self._corrections.clear()
        for _, item, text in self._texts.values():
            _piece(item)["text"] = str(text)
        for _, item, arguments in self._calls.values():
            if item["status"] == "in_progress" and arguments.began:
                item["arguments"] = str(arguments)
        return {**self._response, "output": list(self._output.values())}

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
        self._response |= {"status": "failed", "error": error, "usage": items.usage(())}
        return [*closed, self._snapshot("failed")]

    def _ask(self, question: Event) -> list[Frame]:
        call = self._calls.get(question.get("toolCallId") or "")
        action = table.action_of(question)
        arguments = dumps(action[1] if action else question.get("metadata") or {})
        arguments = str(call[2]) if call else arguments
        item = items.approval(question, arguments)
        added = self._add(item)
        return [added, {**added, "type": "response.output_item.done"}]

    def _close(self, status: str) -> list[Frame]:
        """Calls without a result end with the response; texts only if their worker was lost."""
        closed = []
        for place, item, text in self._texts.values():
            _piece(item)["text"] = str(text)
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
            self._output[place] = item
        return {"type": "response.output_item.added", "output_index": place, "item": dict(item)}

    def _done(self, place: int, item: Frame) -> Frame:
        return {"type": "response.output_item.done", "output_index": place, "item": dict(item)}

    # --- texts and reasoning

    def _text_start(self, event: Event) -> list[Frame]:
        reasons = event["type"] == "REASONING_MESSAGE_START"
        if not reasons and event.get("role", "assistant") != "assistant":
            return []
        key = event["messageId"]
        # Of reasoning most clients read the summary only.
        part: Frame = {"type": "summary_text", "text": ""}
        item: Frame = {"id": key, "type": "reasoning", "summary": [], "status": "in_progress"}
        if not reasons:
            part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            item = {"id": key, "type": "message", "role": "assistant"}
            item |= {"status": "in_progress", "content": []}
        added = self._add(item)
        item["summary" if reasons else "content"] = [part]
        made = added["output_index"], item, Text(self._room)
        self._texts[part["type"], key] = made
        self._places.setdefault((part["type"], key), []).append(made[0])
        kind = "reasoning_summary" if reasons else "content"
        return [added, {"type": f"response.{kind}_part.added", **_where(made), "part": dict(part)}]

    def _text_part(self, event: Event) -> Part:
        reasons = event["type"].startswith("REASONING")
        part = self._texts.get((_KINDS[reasons], event["messageId"]))
        if part is None:
            return Part()
        name = "reasoning_summary_text" if reasons else "output_text"
        head = {"type": f"response.{name}.delta", **_where(part)}
        tail: Frame = {} if reasons else {"logprobs": []}
        return Part(lambda delta: {**head, "delta": delta, **tail}, part[2])

    def _text_end(self, event: Event) -> list[Frame]:
        reasons = event["type"].startswith("REASONING")
        part = self._texts.pop((_KINDS[reasons], event["messageId"]), None)
        if part is None:
            return []
        place, item, text = part
        content, where = _piece(item), _where(part)
        content["text"], item["status"] = str(text), "completed"
        name, kind = ("output_text", "content_part")
        if reasons:
            name, kind = ("reasoning_summary_text", "reasoning_summary_part")
        done: Frame = {"type": f"response.{name}.done", **where, "text": content["text"]}
        if not reasons:
            done["logprobs"] = []
        closed = {"type": f"response.{kind}.done", **where, "part": content}
        return [done, closed, self._done(place, item)]

    # --- tool calls

    def _call_start(self, event: Event) -> list[Frame]:
        key, name = event["toolCallId"], event["toolCallName"]
        if (begun := self._calls.get(key)) is not None and begun[0] in self._output:
            return self._call_again(begun)
        make = items.client_call if name in self._tools else items.server_call
        item = make(key, name)
        added = self._add(item)
        self._calls[key] = added["output_index"], item, Text(self._room)
        return [added]

    def _call_again(self, call: Open) -> list[Frame]:
        """Chunks of something else can end a call in the middle: the item gets the rest, too."""
        _, item, arguments = call
        if str(arguments) == NONE:
            arguments.replace("")
        item["status"] = "in_progress"
        return []

    def _call_part(self, event: Event) -> Part:
        call = self._calls[event["toolCallId"]]
        head = {"type": _arguments(call, "delta"), **_where(call)}
        return Part(lambda delta: {**head, "delta": delta}, call[2])

    def _call_end(self, event: Event) -> list[Frame]:
        call = self._calls[event["toolCallId"]]
        place, item, arguments = call
        empty = [] if str(arguments).strip() else self._call_part(event).add(NONE)
        item["arguments"] = str(arguments)
        where = _where(call)
        done: Frame = {"type": _arguments(call, "done"), **where, "arguments": item["arguments"]}
        if item["type"] == "mcp_call":
            return [*empty, done, {"type": "response.mcp_call.in_progress", **where}]
        item["status"] = "completed"
        return [*empty, {**done, "name": item["name"]}, self._done(place, item)]

    def _call_result(self, event: Event) -> list[Frame]:
        call = self._calls.get(event["toolCallId"])
        if call is None or call[1]["type"] != "mcp_call":
            return []
        place, item, _ = call
        if item["status"] != "in_progress":  # A snapshot may have left out the result before.
            item["output"] = self._room.refit(item["output"], text_of(event["content"]))
            return []
        item |= {"output": self._room.fit(text_of(event["content"])), "status": "completed"}
        return [{"type": "response.mcp_call.completed", **_where(call)}, self._done(place, item)]

    # --- later changes by a snapshot: they are in the response when it is next sent whole

    def _corrected(self, event: Event) -> list[Frame]:
        kind, key, now = event["kind"], event["id"], event["content"]
        call = self._calls.get(key) if kind in (CALL.start, RESULT) else None
        if call is not None:
            place, item, arguments = call
            if kind == RESULT and item["type"] == "mcp_call":
                item["output"] = self._room.refit(item["output"], text_of(now))
            elif kind == CALL.start and now is None:
                self._output.pop(place, None)
            elif kind == CALL.start:
                arguments.replace(now if now.strip() else NONE)
                item["arguments"] = str(arguments)
        elif kind in (TEXT.start, THOUGHT.start):
            self._correct_text(kind == TEXT.start, key, now)
        return []

    def _correct_text(self, answers: bool, key: str, now: str | None) -> None:
        name = (_KINDS[not answers], key)
        part = self._texts.get(name)
        places = self._places.get(name, [])
        # A text that was begun again has several items. The whole text stands in one of them.
        stays = [] if now is None else [part[0]] if part is not None else places[:1]
        for place in set(places).difference(stays):
            self._output.pop(place, None)
        self._places[name] = stays
        if part is not None:
            part[2].replace(now or "")
        elif now is not None:
            self._corrections.update(dict.fromkeys(stays, now))


def _where(part: Open) -> Frame:
    """Where a frame about a part of an item belongs."""
    place, item, _ = part
    where: Frame = {"item_id": item["id"], "output_index": place}
    if "content" in item:
        return {**where, "content_index": 0}
    return {**where, "summary_index": 0} if "summary" in item else where


def _piece(item: Frame) -> Frame:
    """The one part of a message, or of reasoning."""
    parts: list[Frame] = item["summary" if item["type"] == "reasoning" else "content"]
    return parts[0]


def _arguments(call: Open, what: str) -> str:
    kind = "mcp_call" if call[1]["type"] == "mcp_call" else "function_call"
    return f"response.{kind}_arguments.{what}"


def _seconds(event: Event) -> int:
    return int(event.get("timestamp", 0)) // 1000
