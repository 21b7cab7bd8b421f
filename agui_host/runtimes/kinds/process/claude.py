"""Claude Code's stream-json (``claude -p --output-format stream-json --verbose``) as events.

The format is that of Claude Code 2.1.197 (tests/runtimes/recorded). A message of the model comes
block by block: as ``stream_event`` lines with ``--include-partial-messages``, and in any case as
``assistant`` lines, each with the blocks that are complete; streamed blocks are not repeated. Lines
of Claude's own subagents (``parent_tool_use_id``) pass as RAW: their outcome is the result of the
call that started them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from agui_host.runtimes.kinds.process import dialect
from agui_host.runtimes.kinds.process.dialect import (
    Dialect,
    Event,
    Line,
    of_count,
    of_dict,
    of_list,
    of_text,
)

TYPES = frozenset({"system", "assistant", "user", "result", "stream_event"})
CHATTER = frozenset({"status", "thinking_tokens"})
"""Subtypes of ``system`` that come with every request or fragment and have no lasting content."""
CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


class Claude(Dialect):
    """One session of Claude Code."""

    name = "claude"

    def __init__(self, prefix: str, before: Mapping[str, int] | None = None) -> None:
        super().__init__(prefix, before)
        self._streamed: set[str] = set()  # messages that came as stream events
        self._spoken: set[str] = set()  # messages whose id belongs to a text already
        self._message = ""  # the message being streamed
        self._blocks: dict[int, tuple[str, str]] = {}  # its open blocks: kind and id
        self._said = False

    @staticmethod
    def speaks(line: Line) -> bool:
        """Every line names its session."""
        return line.get("type") in TYPES and isinstance(line.get("session_id"), str)

    def feed(self, line: Line) -> Iterator[Event]:
        """The events of one line of ``claude --output-format stream-json``."""
        if isinstance(session := line.get("session_id"), str):
            self.session_id = session
        match line.get("type"):
            case "system" if line.get("subtype") in CHATTER:
                pass
            case "stream_event" if not line.get("parent_tool_use_id"):
                yield from self._stream(of_dict(line.get("event")))
            case "assistant" if not line.get("parent_tool_use_id"):
                yield from self._assistant(of_dict(line.get("message")))
            case "user" if not line.get("parent_tool_use_id"):
                for block in of_list(of_dict(line.get("message")).get("content")):
                    yield from self._outcome(of_dict(block))
            case "result":
                yield from self._end(line)
            case _:
                yield self.raw(line)

    # --- a message as it is written

    def _stream(self, event: Line) -> Iterator[Event]:
        block, raw_index = of_dict(event.get("content_block")), event.get("index")
        index = raw_index if isinstance(raw_index, int) else -1
        match event.get("type"):
            case "message_start":
                self._message = self._id(of_dict(event.get("message")))
                self._streamed.add(self._message)
            case "content_block_start":
                yield from self._open(index, block)
            case "content_block_delta" if index in self._blocks:
                yield from self._go_on(*self._blocks[index], of_dict(event.get("delta")))
            case "content_block_stop" if index in self._blocks:
                yield from self._close(*self._blocks.pop(index))
            case "message_stop":
                self._blocks.clear()

    def _open(self, index: int, block: Line) -> Iterator[Event]:
        kind = block.get("type")
        if kind == "text":
            id = self._text_id(self._message, index)
            yield dialect.text_start(id)
        elif kind == "thinking":
            id = f"{self._message}-{index}"
            yield from dialect.reasoning_start(id)
        elif kind in CALLS:
            id = of_text(block.get("id")) or f"{self._message}-{index}"
            kind = "call"
            yield dialect.call_start(id, of_text(block.get("name")), self._parent(self._message))
        else:
            return
        self._blocks[index] = (kind, id)

    def _go_on(self, kind: str, id: str, delta: Line) -> Iterator[Event]:
        if kind == "text" and delta.get("text"):
            self._said = True
            yield dialect.text_delta(id, of_text(delta["text"]))
        elif kind == "thinking" and delta.get("thinking"):
            yield dialect.reasoning_delta(id, of_text(delta["thinking"]))
        elif kind == "call" and delta.get("partial_json"):
            yield dialect.call_args(id, of_text(delta["partial_json"]))

    def _close(self, kind: str, id: str) -> Iterator[Event]:
        if kind == "text":
            yield dialect.text_end(id)
        elif kind == "thinking":
            yield from dialect.reasoning_end(id)
        else:
            yield dialect.call_end(id)

    # --- a message in whole blocks

    def _assistant(self, message: Line) -> Iterator[Event]:
        message_id = self._id(message)
        if message_id in self._streamed:
            return
        for block in map(of_dict, of_list(message.get("content"))):
            kind = block.get("type")
            if kind == "text" and block.get("text"):
                self._said = True
                id = self._text_id(message_id, len(self._spoken))
                yield from dialect.text(id, of_text(block["text"]))
            elif kind == "thinking":
                id = f"{message_id}-thinking-{len(self._spoken)}"
                self._spoken.add(id)
                yield from dialect.reasoning(id, of_text(block.get("thinking")))
            elif kind in CALLS and block.get("id"):
                name, parent = of_text(block.get("name")), self._parent(message_id)
                yield from dialect.call(of_text(block["id"]), name, block.get("input"), parent)

    def _outcome(self, block: Line) -> Iterator[Event]:
        if block.get("type") != "tool_result" or not block.get("tool_use_id"):
            return
        content = block.get("content")
        parts = of_list(content)
        if parts and all(of_dict(part).get("type") == "text" for part in parts):
            content = "\n".join(of_text(part.get("text")) for part in parts)
        failed = block.get("is_error") is True
        yield dialect.call_result(of_text(block["tool_use_id"]), of_text(content), failed)

    # --- the end

    def _end(self, line: Line) -> Iterator[Event]:
        self.over = True
        summary = of_text(line.get("result"))
        if line.get("is_error") is True or line.get("subtype") != "success":
            self.failure = summary or of_text(line.get("subtype")) or "error"
        elif not self._said:
            yield from dialect.text(f"{self.prefix}-result", summary)
        names = {"total_cost_usd": "costUsd", "num_turns": "turns", "duration_ms": "durationMs"}
        self.result = {new: line[old] for old, new in names.items() if old in line}
        models = of_dict(line.get("modelUsage"))
        self.usage = [_usage(model, of_dict(used)) for model, used in models.items()]

    # --- ids

    def _id(self, message: Line) -> str:
        return of_text(message.get("id")) or f"{self.prefix}-message"

    def _text_id(self, message_id: str, number: int) -> str:
        # The message's own id for its first text, so that its calls can name it.
        id = message_id if message_id not in self._spoken else f"{message_id}-{number}"
        self._spoken.add(id)
        return id

    def _parent(self, message_id: str) -> str | None:
        return message_id if message_id in self._spoken else None


def _usage(model: str, used: Line) -> dict[str, Any]:
    """AG-UI counts cached tokens as part of the input; Claude counts them separately."""
    read = of_count(used.get("cacheReadInputTokens"))
    written = of_count(used.get("cacheCreationInputTokens"))
    total = of_count(used.get("inputTokens")) + read + written
    output = of_count(used.get("outputTokens"))
    return {
        "provider": "anthropic",
        "model": model,
        "inputTokens": total,
        "outputTokens": output,
        "totalTokens": total + output,
        "cachedInputTokens": read,
        "cacheWriteInputTokens": written,
    }
