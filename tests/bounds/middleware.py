"""Middleware, each alone in a chain, between an agent that says much and a reader."""

import json
from collections.abc import AsyncGenerator
from typing import Any

from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.middleware.chain import Chain
from tests.bounds.cases import MB, case

TEXT = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m"}


def through(entry: dict[str, Any], **body: Any) -> Any:
    """The events through one middleware."""

    async def run(events: list[dict[str, Any]]) -> None:
        async def agent() -> AsyncGenerator[dict[str, Any], None]:
            for event in events:
                yield event

        chain = Chain([entry], RunContext({"threadId": "t", "runId": "r", **body}, agent="x"))
        async for _ in chain.stream(agent()):
            pass

    return run


def message(text: str, piece: int = 0) -> list[dict[str, Any]]:
    """A message, in one delta or in pieces."""
    size = piece or len(text)
    deltas = [text[at : at + size] for at in range(0, len(text), size)]
    start = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
    return [
        start, *({**TEXT, "delta": delta} for delta in deltas),
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    ]  # fmt: skip


def result(value: Any) -> list[dict[str, Any]]:
    """One event with a large value, and one with its text."""
    ids = {"messageId": "m", "toolCallId": "c", "role": "tool"}
    return [
        {"type": "CUSTOM", "name": "x", "value": value},
        {"type": "TOOL_CALL_RESULT", **ids, "content": json.dumps(value)},
    ]


EVENTS = {
    "one text": lambda: message("a" * MB),
    "a text in pieces": lambda: message("a" * MB, 50),
    "many matches": lambda: message("ab" * (MB // 8)),
    "many small values": lambda: result(["ab"] * (MB // 50)),
    "quotes": lambda: message('"' * MB),
    "open quotes": lambda: message('"abc [1' * (MB // 28)),
    "citations": lambda: message("".join(f'"quote {n}" [1] ' for n in range(MB // 17))),
    "open tags": lambda: message("<cite " * (MB // 6)),
    "a tag with white space": lambda: message("<cite" + " " * MB),
    "attributes": lambda: message("<cite " + 'a="' * (MB // 3)),
}
PATTERNS = ["(a+)+b", "a*a*a*a*b", "[ab]*a[ab]{50}c", "(a|ab)*c", r"\w{1,60}@"]
SOURCE = [{"description": "s", "value": "ab " * (MB // 3)}]
CHAINS: dict[str, Any] = {
    "redact": through({"name": "redact", "patterns": PATTERNS, "keys": ["x"]}),
    "citations": through({"name": "citations", "timeout": 1}, context=SOURCE),
    "log": through({"name": "log", "events": True}),
    "throttle": through({"name": "throttle"}),
}
for kind, chain in CHAINS.items():
    for name, make in EVENTS.items():
        heavy = kind in ("redact", "citations")
        if heavy or name in ("one text", "a text in pieces", "many small values"):
            case(kind, name, make, chain)
