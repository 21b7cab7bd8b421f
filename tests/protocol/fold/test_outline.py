"""The outline of any legal run agrees with the fold, and is the same however often it is cut."""

import json
import os
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from protocol.fold.fold import Fold
from protocol.fold.outline import FEEDS, Outline
from protocol.fold.outline_row import DEEPEST, LONGEST_GIST, LONGEST_ID, LONGEST_NAME
from protocol.schema import TERMINAL
from protocol.views.link import LinkView
from protocol.views.outline import linked
from protocol.views.redaction import Redaction
from tests.protocol.legal import KINDS, Event
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


def check_run(log: list[Event]) -> None:
    outline, fold = outlined(log), Fold()
    for event in log:
        fold.feed(event)
    rows = rows_of(outline)
    assert [row["n"] for row in rows] == list(range(1, len(rows) + 1))
    assert placed(rows, "message") == spans(log, "text")
    assert placed(rows, "reasoning") == spans(log, "thought", "span")
    assert placed(rows, "tool") == tools(log)
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
        told = [e["messages"] for e in log if e["type"] == "MESSAGES_SNAPSHOT"]
        check_open(rows, fold, str([echoed, told]))


def check_open(rows: Rows, fold: Fold, told: str) -> None:
    """What is open, and to whom it belongs, is what a reader who joins now is told.

    But for parts that the input names, which links do not show and the outline does not read, and
    those that a snapshot may have given to another owner after they began.
    """
    running = {(row["kind"], row["id"]): row for row in rows if row["status"] == "running"}
    names = {KINDS[kind][0]: name for kind, name in PARTS.items()}
    opened = {(names[kind], part): (kind, part) for kind, part in fold.parts.open}
    opened |= {("step", name): ("step", name) for _, name in fold.parts.steps}
    live = {key for key, both in fold.parts.subagents.items() if len(both) == 1}
    assert running.keys() == opened.keys() | {("subagent", key) for key in live}
    for (kind, part), (start, _) in opened.items():
        if kind in ("message", "tool") and part not in told:
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
    visible_rows = [linked(row, mine) for row in rows_of(outlined(log))]
    derived = [row | {"bytes": None} for row in rows_of(outline)]
    assert bare(visible_rows, "gist") == bare(derived, "gist")
    for row, seen in zip(visible_rows, derived, strict=True):
        assert row["gist"] in ("", seen["gist"])


def check(events: list[Event], seed: int) -> None:
    log, chance = expanded(events), random.Random(seed)
    for run in runs_of(log):
        check_run(run)
        check_cuts(run, chance)
        check_link(run, [])
        check_link(run, ["x", "search"])


def prove(examples: int) -> None:
    bounds = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    bounds(given(threads(), st.integers(0, 2**16))(check))()


def test_some_runs() -> None:
    prove(120)


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
    assert len(rows) == 5000
    assert rows[2]["lane"] == ["s0", "s1", "s2"]
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
    rows = rows_of(resumed(outlined(run(*events))))
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
        ("subagent", "a", "interrupted", "helper", "looks"),
        ("subagent", "b", "failed", "helper", "looks"),
        ("error", "b", "failed", "c", "no"),
        ("step", "plan", "failed", "plan", ""),
        ("step", "plan", "unfinished", "plan", ""),
        ("error", "", "failed", "agent_error", "It broke."),
    ]


def test_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="format"):
        Outline.load({"format": 0}, [])
