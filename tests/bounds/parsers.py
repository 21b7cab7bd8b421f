"""Whatever reads bytes, JSON, Markdown or lines."""

import asyncio
import base64
from typing import Any

from agui_host.dialects.copilotkit import wire as copilot_channel
from agui_host.dialects.durable_streams import wire as durable_streams
from agui_host.dialects.tanstack import wire as tanstack
from agui_host.protocol import strict_json
from agui_host.protocol.input import run_agent_input
from agui_host.runtimes.context.attachments import document
from agui_host.runtimes.kinds.process.lines import DIALECTS, Lines
from agui_host.runtimes.kinds.sse import SseParser
from agui_host.runtimes.knowledge.chunking import pieces
from runs.lifecycle.words.cut import words
from tests.bounds.cases import MB, case

BODIES = {
    "arrays": lambda: b"[" + b"[]," * MB + b"1]",
    "objects": lambda: b"[" + b'{"a":1},' * (MB // 2) + b"1]",
    "numbers": lambda: b"[" + b"1," * MB + b"1]",
    "keys": lambda: b"{" + b",".join(b'"%d":1' % n for n in range(MB // 4)) + b"}",
    "deep": lambda: b"[" * (3 * MB),
    "digits": lambda: b"1" * (3 * MB),
    "escapes": lambda: b'"' + b"\\u0061" * (MB // 2) + b'"',
    "backslashes": lambda: b'"' + b"\\\\" * MB + b'\\u0061"',
    "an open text": lambda: b'"' + b"{" * (3 * MB),
    "quotes": lambda: b'"' * (3 * MB),
}
for name, make in BODIES.items():
    case("strict_json", name, make, strict_json.loads, size=3 * MB)


def sse(step: int) -> Any:
    async def run(data: bytes) -> None:
        parser = SseParser(2 * MB)
        for at in range(0, len(data), step):
            parser.feed(data[at : at + step])
            await asyncio.sleep(0)
        parser.close()

    return run


STREAMS = {
    "line ends": lambda: b"\r" * MB,
    "empty data": lambda: b"data:\n" * (MB // 6),
    "one line": lambda: b"data:" + b"x" * MB,
    "events": lambda: b"data:x\n\n" * (MB // 8),
}
for name, make in STREAMS.items():
    case("sse", name, make, sse(64 * 1024))
    case("sse", f"{name}, in small pieces", lambda make=make: make()[: MB // 4], sse(16))


def lines(output: str) -> Any:
    def run(data: bytes) -> None:
        reader = Lines(output, "p")
        for _ in reader.feed(data.split(b"\n")):
            pass
        for _ in reader.close():
            pass

    return run


PRINTED = {
    "short lines": lambda: b"x\n" * (MB // 2),
    "one line": lambda: b"x" * MB,
    "open objects": lambda: b'{"type":' * (MB // 8),
    "deep": lambda: b'{"type":"assistant","message":' + b"[" * MB,
    "objects": lambda: b'{"type":"assistant","message":{"content":[]}}\n' * (MB // 46),
}
for output in ("auto", "text", *DIALECTS):
    for name, make in PRINTED.items():
        case(f"lines {output}", name, make, lines(output))


def cut(media_type: str) -> Any:
    async def run(text: str) -> None:
        # As for an upload, in a thread.
        await asyncio.to_thread(lambda: sum(1 for _ in pieces("title", media_type, text)))

    return run


DOCUMENTS = {
    "one word": lambda: "a" * MB,
    "white space": lambda: "# a" + " " * MB + "b",
    "marks": lambda: "#" * MB,
    "marks at the end": lambda: "# a" + " #" * (MB // 2) + "b",
    "headings": lambda: "# " + "x" * (MB // 2) + "\n" + "## a\nb\n" * (MB // 14),
    "words": lambda: "ab " * (MB // 3),
    "lines": lambda: "a\n" * (MB // 2),
    "empty lines": lambda: "a" + "\n" * MB + "b",
}
for kind in ("text/plain", "text/markdown", "text/csv"):
    for name, make in DOCUMENTS.items():
        case(kind, name, make, cut(kind))


def parsed(**body: Any) -> Any:
    return lambda: body


MESSAGE = {"role": "user", "content": "x"}
INPUTS = {
    "messages": parsed(messages=[MESSAGE] * (MB // 33)),
    "unknown roles": parsed(messages=[{"role": "x"}] * (MB // 14)),
    "unknown parts": parsed(messages=[{"role": "user", "content": [{"type": "x"}] * (MB // 14)}]),
    "tools": parsed(tools=[{"name": "x"}] * (MB // 14)),
    "context": parsed(context=[{"value": [0]}] * (MB // 14)),
    "answers": parsed(resume=[{"interruptId": "i"}] * (MB // 20)),
}
for name, make in INPUTS.items():
    case("inputs", name, make, run_agent_input.parse)

case(
    "attachments", "base64",
    lambda: base64.b64encode(b"\xff" * MB).decode(),
    lambda data: document({"type": "document", "source": {"type": "data", "value": data}}),
)  # fmt: skip

for name, digits in {"digits": "9" * MB, "zeros": "0" * MB}.items():
    case(
        "durable_streams", f"an offset of {name}", lambda digits=digits: digits,
        lambda text: durable_streams.position(text, 5), refused=ValueError,
    )  # fmt: skip
    case(
        "durable_streams", f"a cursor of {name}", lambda digits=digits: digits,
        durable_streams.cursor,
    )  # fmt: skip

MESSAGES = {
    "a call, many results": lambda: [
        {"id": "a", "role": "assistant", "toolCalls": [tool_call("{}")]},
        *({"id": f"t{n}", "role": "tool", "toolCallId": "c", "content": "1"} for n in range(9_000)),
    ],
    "deep arguments": lambda: [
        {"id": "a", "role": "assistant", "toolCalls": [tool_call("[" * MB)]},
    ],
    "digits": lambda: [
        {"id": "a", "role": "assistant", "toolCalls": [tool_call("9" * MB)]},
        {"id": "t", "role": "tool", "toolCallId": "c", "content": "9" * MB},
    ],
}


def tool_call(arguments: str) -> dict[str, Any]:
    return {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}


for name, make in MESSAGES.items():
    case("tanstack", name, make, tanstack.ui_messages)

FRAMES = {
    "digits": lambda: f"{'0' * 32}:{'9' * MB}",
    "hexadecimal": lambda: "f" * MB,
    "colons": lambda: ":" * MB,
}
for name, make in FRAMES.items():
    case("copilotkit", name, make, copilot_channel.place_of, refused=ValueError)
case(
    "copilotkit", "a frame", lambda: [None, "1", "t" * MB, "phx_join", {"a": "b" * MB}],
    lambda value: copilot_channel.reply(copilot_channel.read(value), {}),
)  # fmt: skip

TEXTS = {
    "one word": lambda: "a" * 5 * MB,
    "short words": lambda: "a " * (5 * MB // 2),
    "different words": lambda: " ".join(map(str, range(MB))),
    "one word in many cases": lambda: " ".join(f"{n:040b}" for n in range(5 * MB // 41)).translate(
        {48: "a", 49: "A"}
    ),
    "accents": lambda: "a" + "\u0301\u0323" * (5 * MB // 4),
    "letters with accents": lambda: "a\u0301" * (5 * MB // 3),
    "characters of no alphabet": lambda: "退款" * (5 * MB // 6),
    "no words": lambda: "- " * (5 * MB // 2),
}
for name, make in TEXTS.items():
    # As for the words of a run, in a thread.
    case("words", name, make, lambda text: asyncio.to_thread(words, [text]), size=5 * MB)
