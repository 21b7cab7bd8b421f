"""A small history in which nothing is wrong, with a line of every kind."""

import json

from tests.histories.checker.dialects import hash_of_text
from tests.histories.checker.lines import Line, hash_of

RUNS = {
    "r1": "succeeded",
    "r2": "interrupted",
    "r3": "succeeded",
    "r4": "failed",
    "r5": "cancelled",
    "r6": "succeeded",
}
THREADS = {"r1": "t1", "r2": "t2", "r3": "t2", "r4": "t4", "r5": "t5", "r6": "t4"}
REPEATS = {"r6": "r4"}
ENDS: dict[str, Line] = {
    "succeeded": {"type": "RUN_FINISHED"},
    "interrupted": {"type": "RUN_FINISHED", "outcome": {"type": "interrupt"}},
    "cancelled": {"type": "RUN_FINISHED", "outcome": {"type": "cancelled"}},
    "failed": {"type": "RUN_ERROR", "message": "lost"},
}
TYPES = [
    "run.started", "run.succeeded", "run.failed", "run.cancelled", "run.interrupted",
    "interrupt.opened",
]  # fmt: skip
AT = "2026-11-26T09:00:00+00:00"


def payloads(run: str) -> list[str]:
    input = {"resume": [{"interruptId": "q"}]} if run == "r3" else {}
    events = [
        {"type": "RUN_STARTED", "runId": run, "input": input},
        {"type": "TEXT_MESSAGE_START", "messageId": run},
        *({"type": "TEXT_MESSAGE_CONTENT", "delta": f"{run} {n} "} for n in range(4)),
        {"type": "TEXT_MESSAGE_END", "messageId": run},
        ENDS[RUNS[run]],
    ]
    return [json.dumps(event) for event in events]


def history() -> list[Line]:
    """Fresh lines, which a test may change."""
    lines: list[Line] = [{"kind": "history", "version": 1}, {"kind": "fault", "name": "x", "at": 1}]
    lines.append({"kind": "webhook", "webhook": "w", "events": TYPES})
    lines += before_a_failover()
    lines += starts()
    lines += [line for run in RUNS for reader in ("a", "b") for line in reading(reader, run)]
    lines += [{"kind": "open", "reader": "c", "transport": "sse", "run": "r1", "after": 5}]
    lines += [{"kind": "leave", "reader": "c", "run": "r1"}]
    lines.append(answer("ann", "yes", 200, "r3"))
    lines.append(answer("bob", "no", 409, None))
    lines += [batch(0, 200), batch(1, None), batch(1, 204)]
    lines += [{"kind": "watch", "reader": "all", "after": 0}, *feed("all")]
    lines += [{"kind": "watch", "reader": "late", "after": 3}, *feed("late")[3:]]
    lines += deliveries()
    lines.append({"kind": "schedule", "schedule": "s", "at": AT})
    lines.append({"kind": "tick", "schedule": "s", "at": AT, "run": "r1"})
    for run, status in RUNS.items():
        head = len(payloads(run))
        row: Line = {"kind": "run", "run": run, "thread": THREADS[run], "status": status}
        lines.append({**row, "head": head, "repeats": REPEATS.get(run)})
        lines += [
            {"kind": "log", "run": run, "seq": seq, "payload": payload}
            for seq, payload in enumerate(payloads(run), 1)
        ]
        text = hash_of_text("".join(f"{run} {n} " for n in range(4)))
        lines.append(
            {
                "kind": "text",
                "reader": "d",
                "dialect": "a2a",
                "run": run,
                "text": text,
                "terminal": status,
            }
        )
    question = {"interrupt": "q", "run": "r2", "status": "answered", "value": "yes"}
    return [*lines, {"kind": "question", **question}]


def before_a_failover() -> list[Line]:
    """What clients received from a history that an asynchronous standby did not have."""
    opened: Line = {"kind": "open", "reader": "x", "transport": "sse", "run": "r1", "after": 0}
    event: Line = {"kind": "event", "reader": "x", "run": "r1", "hash": "lost"}
    done: Line = {"kind": "open", "reader": "y", "transport": "sse", "run": "r5", "after": 0}
    entry: Line = {"kind": "feed", "reader": "x", "type": "run.failed", "run": "r1"}
    message: Line = {"webhook": "w", "id": "m0", "type": "run.failed", "run": "r1", "at": AT}
    return [
        start("k1", "lost"),
        batch(7, 200),
        {"kind": "answer", "client": "eve", "interrupt": "q", "value": "never", "status": 200,
         "run": "lost"},
        opened, *({**event, "seq": seq} for seq in range(1, 21)),
        done, {**event, "reader": "y", "run": "r5", "seq": 1},
        {"kind": "end", "reader": "y", "run": "r5"},
        {"kind": "watch", "reader": "x", "after": 0}, {**entry, "interrupt": None, "cursor": 1},
        {"kind": "delivery", **message, "interrupt": None, "hash": "x", "final": True,
         "repeated_by": None},
        {"kind": "text", "reader": "d", "dialect": "mcp", "run": "r1", "text": "x",
         "terminal": "failed"},
        {"kind": "failover", "standby": "asynchronous", "at": 1},
        {"kind": "reset", "reader": "x", "run": "r1", "epoch": 2, "head": 8},
        *reading("x", "r1"),
        {"kind": "reset", "reader": "x", "run": None, "epoch": 2, "head": 5},
        {"kind": "watch", "reader": "x", "after": 0}, *feed("x"),
    ]  # fmt: skip


def starts() -> list[Line]:
    first = [start("k1", "r1"), start("k1", "r1"), start("k1", None), start(None, "r2")]
    return [*first, start("k4", "r4"), start("k5", "r5")]


def start(key: str | None, run: str | None) -> Line:
    thread = {"k1": "t1", "k4": "t4", "k5": "t5", None: "t2"}[key]
    line: Line = {"kind": "start", "client": "ann", "key": key, "body": f"body of {key}"}
    return {**line, "thread": thread, "run": run, "status": 202 if run else None}


def reading(reader: str, run: str) -> list[Line]:
    """A reader that was cut after three events and came back."""
    opened: Line = {"kind": "open", "reader": reader, "transport": "sse", "run": run, "after": 0}
    events: list[Line] = [
        {"kind": "event", "reader": reader, "run": run, "seq": seq, "hash": hash_of(payload)}
        for seq, payload in enumerate(payloads(run), 1)
    ]
    again, end = {**opened, "after": 3}, {"kind": "end", "reader": reader, "run": run}
    return [opened, *events[:3], again, *events[3:], end]


def answer(client: str, value: str, status: int, run: str | None) -> Line:
    line: Line = {"kind": "answer", "client": client, "interrupt": "q", "value": value}
    return {**line, "status": status, "run": run}


def batch(number: int, status: int | None) -> Line:
    texts = [f"r1 {2 * number} ", f"r1 {2 * number + 1} "]
    line: Line = {"kind": "batch", "run": "r1", "producer": "p", "epoch": 0, "number": number}
    return {**line, "status": status, "texts": texts}


def feed(reader: str) -> list[Line]:
    entries: list[tuple[str, str, str | None]] = [("run.created", run, None) for run in RUNS]
    entries += [(f"run.{status}", run, None) for run, status in RUNS.items()]
    entries.append(("interrupt.opened", "r2", "q"))
    return [
        {"kind": "feed", "reader": reader, "cursor": n, "type": type, "run": run, "interrupt": q}
        for n, (type, run, q) in enumerate(entries, 1)
    ]


def deliveries() -> list[Line]:
    """Each message that is owed, and one of them twice under its id."""
    messages: list[tuple[str, str, str | None]] = [
        (f"run.{status}", run, None) for run, status in RUNS.items()
    ]
    messages.append(("interrupt.opened", "r2", "q"))
    messages.append(("run.started", "r1", None))
    lines: list[Line] = [
        {
            "kind": "delivery",
            "webhook": "w",
            "id": f"m{n}",
            "type": type,
            "run": run,
            "interrupt": question,
            "hash": f"h{n}",
            "at": AT,
            "final": None if type == "run.started" else run != "r4",
            "repeated_by": "r6" if run == "r4" else None,
        }
        for n, (type, run, question) in enumerate(messages)
    ]
    return [*lines, dict(lines[0])]
