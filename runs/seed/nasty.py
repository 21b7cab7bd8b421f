"""Runs that a page must survive: long names, right-to-left text, many parts, failures."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import count

from agui_host.protocol.errors import RunErrorCode
from runs.seed.play import Event, Play

HEBREW = (
    "\u05d4\u05d0\u05dd \u05dc\u05d0\u05e9\u05e8 \u05d0\u05ea \u05d4\u05d4\u05e2\u05d1\u05e8\u05d4?"
)
WIDE = "w" * 200
MARKDOWN = """# What I checked

1. **The order**, with `find_order`
2. The *delivery*: 11 of 12

| item | ordered | delivered |
| --- | ---: | ---: |
| cable | 12 | 11 |

> The supplier says that the last one is on its way.

```python
def total(items):
    return sum(item.price for item in items)
```

<script>alert("never")</script> [a link](https://example.com)
"""
LONG, TOOLS, KEYS, DEPTH = 20_000, 60, 200, 4
DAY = timedelta(days=1)
_ids = count(1)


def plays() -> Iterator[Play]:
    """All of them, oldest first."""
    yield Play(
        "billing", "last-month", "Charge order 4711.", ago=30 * DAY,
        events=list(tool("charge", '{"order": 4711}', '{"error": "insufficient funds"}')),
        error=(RunErrorCode.AGENT_ERROR, "Stripe says: insufficient funds"),
    )  # fmt: skip
    yield Play("billing", "yesterday", "Charge order 4712.", ago=DAY, events=list(failing()),
               error=(RunErrorCode.AGENT_ERROR, f"ValueError: {HEBREW} {WIDE * 5}"))  # fmt: skip
    yield Play("billing", "upstream", "Ask the bank.", ago=DAY / 2,
               error=(RunErrorCode.UPSTREAM_TIMEOUT, "The bank did not answer."))  # fmt: skip
    yield Play("research", WIDE + HEBREW, f"{HEBREW} {WIDE}", ago=DAY / 3, events=list(crowd()))
    yield Play("research", "tools", "Look at everything.", ago=DAY / 4, events=list(tools()))
    yield Play("writer", "markdown", "Write it down.", ago=DAY / 5, events=list(text(MARKDOWN)))
    yield Play("writer", "long", "Write a book.", ago=DAY / 6, events=list(book()), pause=0.02)
    yield Play("ledger", "state", "Remember it all.", ago=DAY / 8, events=list(state()))
    yield Play("writer", "stopped", "Never mind.", ago=DAY / 10, events=list(text("I beg")),
               cancelled=True)  # fmt: skip
    yield from talk()
    for number, question in enumerate(questions()):
        yield Play("approval", f"question-{number}", "May I?", events=list(text(HEBREW)),
                   ago=timedelta(minutes=50 - number), questions=[question])  # fmt: skip


def talk() -> Iterator[Play]:
    """A conversation of many runs, the last one with a failure and a question."""
    start = DAY / 12
    for number in range(14):
        words = f"{HEBREW} {number}?" if number % 5 == 3 else f"And what about item {number}?"
        events = [*tool("find_order", f'{{"n": {number}}}', '{"found": true}'), *text(MARKDOWN)]
        yield Play("writer", "talk", words, events, joins=True,
                   ago=start - timedelta(minutes=number))  # fmt: skip
    failed = (RunErrorCode.AGENT_ERROR, f"ValueError: {WIDE}")
    yield Play("billing", "talk", f"Charge it. {WIDE}", list(failing()), joins=True, error=failed,
               ago=timedelta(minutes=20))  # fmt: skip
    pay = {"type": "object", "properties": {"approved": {"type": "boolean", "title": "Pay?"}}}
    yield Play("approval", "talk", "Then pay the rest.", list(text("I need your word.")),
               joins=True, ago=timedelta(minutes=12), questions=[{"id": "rest",
               "reason": "tool_call", "message": f"Pay 12.50 EUR to {WIDE}?",
               "responseSchema": pay}])  # fmt: skip


def text(words: str, **more: str) -> Iterator[Event]:
    """A whole message."""
    message = f"message-{next(_ids)}"
    yield {"type": "TEXT_MESSAGE_START", "messageId": message, "role": "assistant", **more}
    yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": message, "delta": words, **more}
    yield {"type": "TEXT_MESSAGE_END", "messageId": message, **more}


def tool(name: str, args: str, result: str, **more: str) -> Iterator[Event]:
    """A whole tool call with its result."""
    call = f"call-{next(_ids)}"
    yield {"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": name, **more}
    yield {"type": "TOOL_CALL_ARGS", "toolCallId": call, "delta": args, **more}
    yield {"type": "TOOL_CALL_END", "toolCallId": call, **more}
    yield {"type": "TOOL_CALL_RESULT", "messageId": f"{call}-result", "toolCallId": call,
           "content": result, "role": "tool", **more}  # fmt: skip


def failing() -> Iterator[Event]:
    """A step whose tool call is declined and never ends."""
    yield {"type": "STEP_STARTED", "stepName": "charge"}
    yield from text("I charge the card.")
    yield from tool("stripe.charge", '{"amount": 1895}', '{"error": "card_declined"}')


def crowd() -> Iterator[Event]:
    """Subagents inside subagents, each with a tool and a text; the last one fails."""
    names = [
        f"{name}-{next(_ids)}"
        for name in ("search", WIDE, "\u05d7\u05d9\u05e4\u05d5\u05e9", "audit")
    ]
    for number, name in enumerate(names[:DEPTH]):
        parent = {"parentSubagentRunId": names[number - 1]} if number else {}
        yield {"type": "SUBAGENT_STARTED", "subagentRunId": name, "name": name, **parent}
        yield from text(f"I am {name}.", subagentRunId=name)
        yield from tool("slow.audit", "{}", '{"pages": 12}', subagentRunId=name)
    for name in reversed(names[1:DEPTH]):
        yield {"type": "SUBAGENT_FINISHED", "subagentRunId": name}
    yield {"type": "SUBAGENT_ERROR", "subagentRunId": names[0], "message": "gave up"}
    yield from text("One of them gave up; here is the rest.")


def tools() -> Iterator[Event]:
    """Sixty tool calls, some with names as wide as a page."""
    for number in range(TOOLS):
        name = f"tool.{number}" if number % 10 else WIDE
        yield from tool(name, f'{{"n": {number}, "text": "{HEBREW}"}}', f'{{"found": {number}}}')


def book() -> Iterator[Event]:
    """A message of 20,000 pieces."""
    yield {"type": "TEXT_MESSAGE_START", "messageId": "book", "role": "assistant"}
    for number in range(LONG):
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": "book", "delta": f"word {number} "}
    yield {"type": "TEXT_MESSAGE_END", "messageId": "book"}


def state() -> Iterator[Event]:
    """A state of many keys, most of them long."""
    values = {f"key {number} {WIDE[: number % 60]}": {"deep": [number]} for number in range(KEYS)}
    yield {"type": "STATE_SNAPSHOT", "snapshot": values}
    yield {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/last", "value": HEBREW}]}


def questions() -> Iterator[Event]:
    """The interrupts of a run that asks in every form."""
    approved = {"type": "boolean", "title": "Pay the reduced sum?"}
    yield {"id": "pay", "reason": "tool_call", "message": "Pay 1,895.00 EUR now?",
           "metadata": {"action": {"tool": "pay", "to": WIDE}},
           "responseSchema": {"type": "object", "properties": {"approved": approved},
                              "required": ["approved"]}}  # fmt: skip
    yield {"id": "rtl", "reason": HEBREW, "message": f"{HEBREW} {WIDE}",
           "responseSchema": {"type": "boolean"}}  # fmt: skip
    yield {"id": "which", "reason": "confirm", "message": "Which release goes out?",
           "responseSchema": {"enum": ["1.2.0", "1.3.0-rc1", WIDE]}}  # fmt: skip
    yield {"id": "say", "reason": "input_required", "message": "What is the customer's number?"}
    yield {"id": "late", "reason": "confirm", "message": "Too late?",
           "expiresAt": "2020-01-01T00:00:00Z"}  # fmt: skip
