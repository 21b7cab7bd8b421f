"""The outline of any legal run agrees with the fold, and is the same however often it is cut."""

import json
import os
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.fold.fold import Fold
from protocol.fold.outline import FEEDS, Outline
from protocol.fold.outline_row import DEEPEST, LONGEST_GIST, LONGEST_ID, LONGEST_NAME
from protocol.schema import TERMINAL
from protocol.views.link import LinkView
from protocol.views.outline import linked
from protocol.views.redaction import Redaction
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


def spans(log: list[Event], *kinds: str) -> dict[str, tuple[int, int | None]]:
    """The first START and the last END of each part, written without a look at the outline."""
    first: dict[str, int] = {}
    last: dict[str, int | None] = {}
    opened: set[tuple[str, str]] = set()
    for seq, event in enumerate(log, 1):
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
    for seq, event in enumerate(log, 1):
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
    for id in {event["messageId"] for event in log if event["type"].startswith("ACTIVITY_")}:
        mine = [n for n in seqs(log, "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA")
                if log[n - 1]["messageId"] == id]  # fmt: skip
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


def check_link(log: list[Event], paths: list[str]) -> None:
    """What a link's readers may see of the outline is the outline of what they see."""
    view, outline = LinkView(Redaction(paths)), Outline()
    for seq, event in enumerate(log, 1):
        for visible in view.show(event):
            outline.feed(seq, visible)
    mine = Redaction(paths)
    linked_rows = [linked(row, mine) for row in rows_of(outlined(log))]
    visible_rows = [row for row in linked_rows if row is not None]
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


# --- sizes


def run(*events: Event) -> list[Event]:
    return [{"type": "RUN_STARTED", "threadId": "t", "runId": "r"}, *events]


def test_a_chain_of_subagents_costs_a_bounded_lane_each() -> None:
    started: list[Event] = [
        {"type": "SUBAGENT_STARTED", "subagentRunId": f"s{n}", "name": "n"}
        | ({"parentSubagentRunId": f"s{n - 1}"} if n else {})
        for n in range(5000)
    ]
    rows = rows_of(outlined(run(*started)))
    assert len(rows) == 5002
    assert rows[4]["lane"] == ["s0", "s1", "s2"]
    assert rows[-1]["parent"] == "s4998"
    assert max(len(row["lane"]) for row in rows) == DEEPEST
    assert rows[-1]["lane"][-1] == "s4999"


def test_long_texts_names_and_ids_are_cut_and_ids_stay_apart() -> None:
    long = "x" * 1_000_000
    events: list[Event] = []
    for id in (f"{long}a", f"{long}b"):
        call = {"toolCallId": id, "timestamp": 5}
        events += [
            {"type": "TOOL_CALL_START", **call, "toolCallName": long},
            {"type": "TOOL_CALL_ARGS", **call, "delta": long},
            {"type": "TOOL_CALL_END", **call},
        ]
    rows = rows_of(resumed(outlined(run(*events))))[2:]
    assert [(row["seq0"], row["seq1"], row["t0"]) for row in rows] == [(2, 4, 5), (5, 7, 5)]
    assert len({row["id"] for row in rows}) == 2
    for row in rows:
        assert len(row["id"]) <= LONGEST_ID
        assert (len(row["name"]), len(row["gist"])) == (LONGEST_NAME, LONGEST_GIST)
        assert row["bytes"] > 2_000_000
        assert row["status"] == "pending"


def test_how_things_end() -> None:
    sub = {"type": "SUBAGENT_STARTED", "name": "helper", "description": "looks"}
    rows = rows_of(
        outlined(
            run(
                {**sub, "subagentRunId": "a"},
                {**sub, "subagentRunId": "b"},
                {"type": "SUBAGENT_FINISHED", "subagentRunId": "a",
                 "outcome": {"type": "suspended"}},
                {"type": "SUBAGENT_ERROR", "subagentRunId": "b", "code": "c", "message": "no"},
                {"type": "STEP_STARTED", "stepName": "plan"},
                {"type": "STEP_FINISHED", "stepName": "plan", "metadata": {"status": "failed"}},
                {"type": "STEP_STARTED", "stepName": "plan"},
                {"type": "RUN_ERROR", "code": "agent_error", "message": "It broke."},
            )
        )
    )  # fmt: skip
    facts = [(row["kind"], row["id"], row["status"], row["name"], row["gist"]) for row in rows]
    assert facts == [
        ("queue", "", "succeeded", "", ""),
        ("attempt", "r", "failed", "", ""),
        ("subagent", "a", "interrupted", "helper", "looks"),
        ("subagent", "b", "failed", "helper", "looks"),
        ("error", "b", "failed", "c", "no"),
        ("step", "plan", "failed", "plan", ""),
        ("step", "plan", "unfinished", "plan", ""),
        ("error", "", "failed", "agent_error", "It broke."),
    ]


def test_however_many_changes_of_the_state_are_one_row_until_something_begins() -> None:
    delta = {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a", "value": 1}]}
    word = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"}
    start = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
    snapshot = {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1, "b": 2}}
    plan = {"messageId": "p", "activityType": "PLAN"}
    events = [
        delta, snapshot, *[delta] * 10_000, start, *[delta, word] * 10_000,
        {"type": "ACTIVITY_SNAPSHOT", **plan, "content": {"title": "Three steps"}},
        *[{"type": "ACTIVITY_DELTA", **plan, "patch": []}] * 10_000,
    ]  # fmt: skip
    rows = rows_of(outlined(run(*events)))[2:]
    facts = [(row["kind"], row["name"], row["seq0"], row["seq1"], row["gist"]) for row in rows]
    assert facts == [
        ("state", "delta", 2, 2, "/a"),
        ("state", "snapshot", 3, 3, "/a /b"),
        ("state", "delta", 4, 10_003, "/a"),
        ("message", "assistant", 10_004, None, "x" * 200),
        ("state", "delta", 10_005, 30_003, "/a"),
        ("activity", "PLAN", 30_005, 40_005, "Three steps"),
    ]
    assert [row["of_input"] for row in rows] == [True, *[False] * 5]


def test_a_wait_in_the_queue_lasts_until_the_run_starts() -> None:
    outline = Outline(queued=1_000)
    (row,) = rows_of(resumed(outline))
    assert (row["kind"], row["t0"], row["seq1"], row["status"]) == ("queue", 1_000, None, "running")
    begun = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "timestamp": 4_000}
    outline.feed(1, begun)
    queue, attempt = rows_of(outline)
    assert (queue["t1"], queue["status"]) == (4_000, "succeeded")
    assert (attempt["kind"], attempt["t0"], attempt["status"]) == ("attempt", 4_000, "running")
    hidden = linked(queue, Redaction())
    assert hidden, "links show that it waited"
    assert hidden["t0"] == 4_000, "but not how long"
    imported = Outline(queued=9_000)
    imported.feed(1, begun)
    assert rows_of(imported)[0]["t0"] == 4_000


def test_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="format"):
        Outline.load({"format": 0}, [])
