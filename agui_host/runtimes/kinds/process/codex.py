"""Codex's JSON lines (``codex exec --json``) as events.

The format is that of ``codex-rs/exec/src/exec_events.rs`` of github.com/openai/codex and of Codex
CLI 0.169.0 (tests/runtimes/recorded). Everything is an item that starts, is updated and completes;
many are complete at once. Item ids start again in every session, so they get the run's prefix.
"""

from collections.abc import Iterator, Mapping

from agui_host.protocol.strict_json import dumps_any
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

WRITTEN = frozenset({"agent_message", "reasoning", "plan"})
CALLS = frozenset(
    {"command_execution", "mcp_tool_call", "file_change", "web_search", "collab_tool_call"}
)
# The members that describe the call; the others are the outcome.
ARGUMENTS = frozenset({"command", "changes", "query", "prompt", "receiver_thread_ids"})
COUNTS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cached_input_tokens": "cachedInputTokens",
    "cache_write_input_tokens": "cacheWriteInputTokens",
    "reasoning_output_tokens": "reasoningTokens",
}
LABELS = frozenset({"id", "type", "server", "tool", "arguments", "sender_thread_id"})


class Codex(Dialect):
    """One session of ``codex exec``."""

    name = "codex"

    def __init__(self, prefix: str, before: Mapping[str, int] | None = None) -> None:
        super().__init__(prefix, before)
        self._written: dict[str, str] = {}  # open messages and reasoning, with their text so far
        self._called: set[str] = set()

    @staticmethod
    def speaks(line: Line) -> bool:
        """The first line names the thread."""
        return line.get("type") == "thread.started" and isinstance(line.get("thread_id"), str)

    def feed(self, line: Line) -> Iterator[Event]:
        """The events of one line of ``codex exec --json``."""
        match line.get("type"):
            case "thread.started":
                self.session_id = of_text(line.get("thread_id"))
            case "turn.started":
                self.over = False
            case "item.started" | "item.updated" | "item.completed" as kind:
                yield from self._item(of_dict(line.get("item")), kind == "item.completed")
            case "turn.completed":
                self.over = True
                self._count(of_dict(line.get("usage")))
            case "turn.failed":
                self.over = True
                self.failure = of_text(of_dict(line.get("error")).get("message")) or "error"
            case _:
                yield self.raw(line)

    def _item(self, item: Line, complete: bool) -> Iterator[Event]:
        kind, id = item.get("type"), f"{self.prefix}-{of_text(item.get('id'))}"
        if kind in WRITTEN:
            yield from self._write(id, kind == "reasoning", of_text(item.get("text")), complete)
        elif kind in CALLS:
            yield from self._call(id, str(kind), item, complete)
        elif kind == "todo_list":
            content = {"items": of_list(item.get("items"))}
            yield {
                "type": "ACTIVITY_SNAPSHOT",
                "messageId": id,
                "activityType": "TODO_LIST",
                "content": content,
            }
        else:
            yield self.raw(item)

    def _write(self, id: str, thought: bool, whole: str, complete: bool) -> Iterator[Event]:
        """Send the new part of an update, which repeats the whole text."""
        if id not in self._written and whole:
            self._written[id] = ""
            yield from dialect.reasoning_start(id) if thought else [dialect.text_start(id)]
        before = self._written.get(id)
        if before is None:
            return
        if len(whole) > len(before) and whole.startswith(before):
            new = whole[len(before) :]
            yield dialect.reasoning_delta(id, new) if thought else dialect.text_delta(id, new)
            self._written[id] = whole
        if complete:
            del self._written[id]
            yield from dialect.reasoning_end(id) if thought else [dialect.text_end(id)]

    def _call(self, id: str, kind: str, item: Line, complete: bool) -> Iterator[Event]:
        if id not in self._called:
            self._called.add(id)
            args = item.get("arguments", {k: v for k, v in item.items() if k in ARGUMENTS})
            parts = [of_text(item.get(part)) for part in ("server", "tool")]
            yield from dialect.call(id, ".".join(filter(None, parts)) or kind, args)
        if complete:
            outcome = {k: v for k, v in item.items() if k not in ARGUMENTS | LABELS}
            failed = item.get("status") in ("failed", "declined")
            yield dialect.call_result(id, dumps_any(outcome), failed)

    def _count(self, used: Line) -> None:
        """Codex counts a session from its first turn, including those of earlier runs.

        It names no model; cached and reasoning tokens are part of its input and output.
        """
        self.totals = {name: of_count(used[name]) for name in COUNTS if name in used}
        counts = {
            COUNTS[name]: max(0, total - self.before.get(name, 0))
            for name, total in self.totals.items()
        }
        self.usage = [{"provider": "openai", **counts}]
