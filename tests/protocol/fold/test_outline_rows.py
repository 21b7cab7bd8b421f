"""The rows of an outline, one by one: their bounds, and how the things in them end."""

import pytest

from agui_host.protocol.fold.outline import Outline
from agui_host.protocol.fold.outline_row import DEEPEST, LONGEST_GIST, LONGEST_ID, LONGEST_NAME
from agui_host.protocol.views.outline import linked
from agui_host.protocol.views.redaction import Redaction
from tests.protocol.fold.test_outline import outlined, resumed, rows_of
from tests.protocol.legal import Event


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


def test_each_attempt_is_a_row() -> None:
    recovered = {"type": "CUSTOM", "name": "agui_host.recovered"}
    value = {"attempt": 2, "reason": "worker_lost"}
    events: list[Event] = [
        {"type": "CUSTOM", "name": "else", "value": value},
        {**recovered, "value": value, "timestamp": 7},
        {**recovered, "value": {**value, "attempt": 3}, "timestamp": 9},
        {**recovered, "value": "nonsense"},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
    ]
    rows = [row for row in rows_of(outlined(run(*events))) if row["kind"] == "attempt"]
    assert [(row["name"], row["seq0"], row["seq1"], row["status"]) for row in rows] == [
        ("", 1, 3, "unfinished"),
        ("attempt 2", 3, 4, "unfinished"),
        ("attempt 3", 4, 6, "succeeded"),
    ]
    assert (rows[1]["t0"], rows[1]["t1"], rows[1]["gist"]) == (7, 9, "worker_lost")
    assert rows_of(resumed(outlined(run(*events)))) == rows_of(outlined(run(*events)))


def test_an_activity_says_what_its_newest_snapshot_does() -> None:
    """A snapshot of the messages that redacts it leaves none of its text behind."""
    plan = {"messageId": "p", "activityType": "PLAN"}
    message = {"id": "p", "role": "activity", "activityType": "PLAN", "content": {"title": "Now"}}
    events = [
        {"type": "ACTIVITY_SNAPSHOT", **plan, "content": {"title": "SECRET"}},
        {"type": "MESSAGES_SNAPSHOT", "messages": [message]},
        {"type": "ACTIVITY_SNAPSHOT", **plan, "content": {"title": "No"}, "replace": False},
    ]
    (row,) = rows_of(outlined(run(*events)))[2:]
    assert (row["kind"], row["gist"]) == ("activity", "Now")
