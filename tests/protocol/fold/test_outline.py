"""The outline of any legal run agrees with the fold, and is the same however often it is cut."""

import json
import os
import random
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agui_host.protocol.fold.account import SNAPSHOT, Account
from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.fold.inherited import own
from agui_host.protocol.fold.outline import FEEDS, Outline
from agui_host.protocol.schema import TERMINAL
from agui_host.protocol.views.link import LinkView
from agui_host.protocol.views.outline import linked
from agui_host.protocol.views.redaction import MASK, Redaction
from tests.protocol.legal import KINDS, THOROUGH, Event
from tests.protocol.logs import expanded, threads

MANY = int(os.environ.get("OUTLINE_EXAMPLES", "10000"))
CUTS = 3
PARTS = {"text": "message", "call": "tool", "thought": "reasoning", "span": "reasoning"}
Rows = list[dict[str, Any]]


def outlined(events: list[Event]) -> Outline:
    outline = Outline()
    for seq, event in enumerate(events, 1):
        outline.feed(seq, event, len(json.dumps(event)))
    return outline


def rows_of(outline: Outline) -> Rows:
    return [row.wire() for row in outline.rows]


def resumed(outline: Outline) -> Outline:
    """The fold as it is stored and read again."""
    stored = json.loads(json.dumps([outline.dump(), rows_of(outline)]))
    return Outline.load(*stored)


def runs_of(events: list[Event]) -> Iterator[list[Event]]:
    """The log of each run of a thread."""
    starts = [at for at, event in enumerate(events) if event["type"] == "RUN_STARTED"]
    for at, end in zip(starts, [*starts[1:], len(events)], strict=True):
        yield events[at:end]


def brought(log: list[Event]) -> list[tuple[int, Event]]:
    """The events with their numbers; a snapshot as those of what only it brings."""
    account, events = Account(), list[tuple[int, Event]]()
    for seq, event in enumerate(log, 1):
        events.append((seq, event))
        if event["type"] == SNAPSHOT:
            events += [(seq, made) for made in account.restate(event)]
        else:
            account.take(event)
    return events


def spans(log: list[Event], *kinds: str) -> dict[str, tuple[int, int | None]]:
    """The first START and the last END of each part, written without a look at the outline."""
    first: dict[str, int] = {}
    last: dict[str, int | None] = {}
    opened: set[tuple[str, str]] = set()
    for seq, event in brought(log):
        for kind in kinds:
            start, _, end, key = KINDS[kind]
            if event["type"] == start:
                first.setdefault(event[key], seq)
                last[event[key]] = None
                opened.add((kind, event[key]))
            if event["type"] == end:
                opened.discard((kind, event[key]))
                if not any(part == event[key] for _, part in opened):
                    last[event[key]] = seq
    if log[-1]["type"] in TERMINAL:
        last = {part: len(log) if end is None else end for part, end in last.items()}
    return {part: (first[part], last[part]) for part in first}


def tools(log: list[Event]) -> dict[str, tuple[int, int | None]]:
    """A call ends with its END or its last RESULT; one of an earlier run has only that."""
    streamed = spans(log, "call")
    for seq, event in brought(log):
        if event["type"] == "TOOL_CALL_RESULT":
            start, end = streamed.get(event["toolCallId"], (seq, seq))
            if end is not None and start <= seq:
                streamed[event["toolCallId"]] = (start, max(end, seq))
    return streamed


def placed(rows: Rows, kind: str) -> dict[str, tuple[int, int | None]]:
    mine = [row for row in rows if row["kind"] == kind]
    assert len({row["id"] for row in mine}) == len(mine), "one row each"
    return {row["id"]: (row["seq0"], row["seq1"]) for row in mine}


def seqs(log: list[Event], *types: str) -> list[int]:
    return [seq for seq, event in enumerate(log, 1) if event["type"] in types]


def changes(log: list[Event]) -> list[int]:
    return seqs(log, "STATE_SNAPSHOT", "STATE_DELTA")


def activities(log: list[Event]) -> dict[str, list[int]]:
    """Their events, and the snapshots with an activity that is new or has other content."""
    touched = defaultdict[str, list[int]](list)
    contents: dict[str, str | None] = {}
    echoed = (log[0].get("input") or {}).get("messages")
    of_input = None if echoed is None else {message["id"] for message in echoed}
    for seq, event in enumerate(log, 1):
        if event["type"].startswith("ACTIVITY_"):
            id = event["messageId"]
            touched[id].append(seq)
            if event["type"] == "ACTIVITY_DELTA":
                contents[id] = None
            elif id not in contents or event.get("replace") is not False:
                contents[id] = json.dumps(event["content"])
        for message in own(event, of_input) if event["type"] == SNAPSHOT else ():
            if message["role"] == "activity":
                id, content = message["id"], json.dumps(message["content"])
                if contents.get(id) != content:
                    touched[id].append(seq)
                contents[id] = content
    return touched


def check_changes(log: list[Event], rows: Rows) -> None:
    """Every change of the state is in one row, with others of its kind, and so are activities'."""
    covered = [row for row in rows if row["kind"] == "state"]
    for seq in changes(log):
        (row,) = [row for row in covered if row["seq0"] <= seq <= row["seq1"]]
        assert log[seq - 1]["type"] == f"STATE_{row['name'].upper()}"
    for row in covered:
        assert {row["seq0"], row["seq1"]} <= set(changes(log))
        # Nothing else begins within a row but what links do not see.
        within = [r for r in rows if row["seq0"] < r["seq0"] <= row["seq1"]]
        assert all(r["of_input"] for r in within)
    touched = activities(log)
    assert touched.keys() == {row["id"] for row in rows if row["kind"] == "activity"}
    for id, mine in touched.items():
        parts = [row for row in rows if (row["kind"], row["id"]) == ("activity", id)]
        assert [row["of_input"] for row in parts] in ([True], [False], [True, False])
        assert (parts[0]["seq0"], parts[-1]["seq1"]) == (mine[0], mine[-1])


def check_whole(log: list[Event], rows: Rows) -> None:
    """The wait in the queue, and the attempt: from RUN_STARTED to the end."""
    end = len(log) if log[-1]["type"] in TERMINAL else None
    queue, attempt = rows[:2]
    assert (queue["kind"], queue["seq0"], queue["seq1"]) == ("queue", 1, 1)
    assert (attempt["kind"], attempt["id"]) == ("attempt", log[0]["runId"])
    assert (attempt["seq0"], attempt["seq1"]) == (1, end)
    assert not {row["kind"] for row in rows[2:]} & {"queue", "attempt"}


def check_run(log: list[Event]) -> None:
    outline, fold = outlined(log), Fold()
    for event in log:
        fold.feed(event)
    rows = rows_of(outline)
    assert [row["n"] for row in rows] == list(range(1, len(rows) + 1))
    assert placed(rows, "message") == spans(log, "text")
    assert placed(rows, "reasoning") == spans(log, "thought", "span")
    assert placed(rows, "tool") == tools(log)
    check_whole(log, rows)
    check_changes(log, rows)
    for message in fold.messages:
        streamed = message["id"] in spans(log, "text")
        assert (message["id"] in placed(rows, "message")) == streamed
        for call in message.get("toolCalls") or ():
            names = [r["name"] for r in rows if (r["kind"], r["id"]) == ("tool", call["id"])]
            assert names in ([], [call["function"]["name"]], [""])

    subagents = {key: [e["type"] for e in both] for key, both in fold.parts.subagents.items()}
    assert placed(rows, "subagent").keys() == subagents.keys()
    ended = log[-1]["type"] in TERMINAL
    for row in rows:
        if row["kind"] != "subagent":
            continue
        mine = [n for n, e in enumerate(log, 1) if e.get("subagentRunId") == row["id"]]
        mine = [n for n in mine if log[n - 1]["type"].startswith("SUBAGENT_")]
        end = mine[1] if len(mine) > 1 else len(log) if ended else None
        assert (row["seq0"], row["seq1"]) == (mine[0], end)

    terminal = fold.terminal or {}
    asks = [ask["id"] for ask in (terminal.get("outcome") or {}).get("interrupts") or ()]
    assert [row["id"] for row in rows if row["kind"] == "interrupt"] == asks
    errors = [row["seq0"] for row in rows if row["kind"] == "error"]
    assert errors == seqs(log, "RUN_ERROR", "SUBAGENT_ERROR")
    steps = [row for row in rows if row["kind"] == "step"]
    assert [row["seq0"] for row in steps] == seqs(log, "STEP_STARTED")
    if not ended:
        echoed = (log[0].get("input") or {}).get("messages")
        snapshots = [e["messages"] for e in log if e["type"] == "MESSAGES_SNAPSHOT"]
        check_open(rows, fold, str([echoed, snapshots]))


def check_open(rows: Rows, fold: Fold, overridden: str) -> None:
    """What is open, and to whom it belongs, is what a reader who joins now is told.

    But for parts that the input names, which links do not show and the outline does not read, and
    those that a snapshot may have given to another owner after they began.
    """
    running = {(row["kind"], row["id"]): row for row in rows[2:] if row["status"] == "running"}
    names = {KINDS[kind][0]: name for kind, name in PARTS.items()}
    opened = {(names[kind], part): (kind, part) for kind, part in fold.parts.ids()}
    opened |= {("step", name): ("step", name) for _, name in fold.parts.steps}
    live = {key for key, both in fold.parts.subagents.items() if len(both) == 1}
    assert running.keys() == opened.keys() | {("subagent", key) for key in live}
    for (kind, part), (start, _) in opened.items():
        if kind in ("message", "tool") and part not in overridden:
            lane = running[kind, part]["lane"]
            assert (lane[-1] if lane else None) == fold.parts.owner(start, part)


def check_cuts(log: list[Event], chance: random.Random) -> None:
    whole = rows_of(outlined(log))
    for cut in chance.sample(range(len(log) + 1), min(CUTS, len(log) + 1)):
        outline = resumed(outlined(log[:cut]))
        before = {row.n: row.wire() for row in outline.rows}
        for seq, event in enumerate(log[cut:], cut + 1):
            if event["type"] in FEEDS:
                outline.feed(seq, event, len(json.dumps(event)))
        assert rows_of(outline) == whole
        # A reader who asks for what has changed since then has everything.
        changed = {row.n: row.wire() for row in outline.since(cut)}
        assert list((before | changed).values()) == whole


def bare(rows: Rows, *hidden: str) -> Rows:
    return [{name: row[name] for name in row if name not in hidden} for row in rows]


def linked_rows(log: list[Event], redaction: Redaction) -> Rows:
    rows = (linked(row, redaction) for row in rows_of(outlined(log)))
    return [row for row in rows if row is not None]


def without_results(log: list[Event]) -> list[Event]:
    """The log with the content of all results hidden: a snapshot replaces no text by another."""

    def hidden(result: Event) -> Event:
        content = result["content"]
        parts = MASK if isinstance(content, str) else [part | {"text": MASK} for part in content]
        return result | {"content": parts}

    events: list[Event] = []
    for event in log:
        if event["type"] == "TOOL_CALL_RESULT":
            event = hidden(event)
        if event["type"] == SNAPSHOT:
            messages = [
                hidden(each) if each["role"] == "tool" else each for each in event["messages"]
            ]
            event = event | {"messages": messages}
        events.append(event)
    return events


def check_link(log: list[Event], paths: list[str]) -> None:
    """What a link's readers may see of the outline is the outline of what they see."""
    view, outline = LinkView(Redaction(paths)), Outline()
    for seq, event in enumerate(log, 1):
        for visible in view.show(event):
            # Only the input tells which messages of a snapshot are the run's own.
            outline.feed(seq, event if event["type"] == "RUN_STARTED" else visible)
    visible_rows = linked_rows(log, Redaction(paths))
    if paths:  # Readers to whom all results look the same do not see that a snapshot has another.
        for row, other in zip(
            visible_rows, linked_rows(without_results(log), Redaction(paths)), strict=True
        ):
            if row["kind"] == "tool":
                row |= {name: other[name] for name in ("result", "seq1", "t1")}
    # While anything is hidden, other events may replace those of the state and of activities.
    unseen = ("state", "activity") if paths else ()
    derived = [row | {"bytes": None} for row in rows_of(outline) if row["kind"] not in unseen]
    assert bare(visible_rows, "n", "gist") == bare(derived, "n", "gist")
    for row, derived_row in zip(visible_rows, derived, strict=True):
        assert row["gist"] in ("", derived_row["gist"])


def check(events: list[Event], seed: int) -> None:
    log, chance = expanded(events), random.Random(seed)
    for run in runs_of(log):
        check_run(run)
        check_cuts(run, chance)
        check_link(run, [])
        check_link(run, ["x", "search"])


def prove(examples: int) -> None:
    bounds = settings(THOROUGH, max_examples=examples)
    bounds(given(threads(), st.integers(0, 2**16))(check))()


def test_some_runs() -> None:
    prove(200)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_many_runs() -> None:
    prove(MANY)
