"""An outline as Chrome's trace format: what a parser of that format asks for."""

from typing import Any

from agui_host.protocol.views.chrome_trace import ChromeTrace


def row(n: int, kind: str, t0: int | None, t1: int | None, *lane: str) -> dict[str, Any]:
    return {
        "n": n, "kind": kind, "id": f"id-{n}", "lane": list(lane), "name": f"{kind} {n}",
        "t0": t0, "t1": t1, "seq0": n, "seq1": None, "status": "succeeded", "bytes": 1, "gist": "",
    }  # fmt: skip


def traced(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    return list(ChromeTrace().events(rows))


def test_times_are_microseconds_and_details_stand_beside_them() -> None:
    name, event = traced(row(1, "tool", 1_000, 1_250))
    assert name == {
        "ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "run"}
    }  # fmt: skip
    assert (event["ph"], event["ts"], event["dur"], event["tid"]) == ("X", 1_000_000, 250_000, 1)
    assert event["name"] == "tool 1"
    assert event["cat"] == "tool"
    assert event["args"] == {"id": "id-1", "status": "succeeded", "seq0": 1, "bytes": 1}


def test_what_overlaps_has_a_track_of_its_own_and_gives_it_back() -> None:
    rows = [
        row(1, "tool", 0, 100), row(2, "tool", 50, 60), row(3, "tool", 70, 90),
        row(4, "tool", 0, 5, "billing"), row(5, "tool", 100, 110),
    ]  # fmt: skip
    events = [event for event in traced(*rows) if event["ph"] == "X"]
    assert [event["tid"] for event in events] == [1, 2, 2, 3, 2]


def test_without_times_a_row_is_where_the_one_before_began_and_never_ends_before() -> None:
    rows = [row(1, "tool", 10, 20), row(2, "step", None, None), row(3, "tool", 30, 25)]
    events = [event for event in traced(*rows) if event["ph"] == "X"]
    assert [(event["ts"], event["dur"]) for event in events] == [
        (10_000, 10_000), (10_000, 0), (30_000, 0)
    ]  # fmt: skip
