"""Which events set a place in the state."""

from typing import Any

from agui_host.protocol.fold.blame import Blame


def snapshot(value: Any) -> dict[str, Any]:
    return {"type": "STATE_SNAPSHOT", "snapshot": value}


def delta(*operations: tuple[str, str]) -> dict[str, Any]:
    return {"type": "STATE_DELTA", "delta": [{"op": op, "path": path} for op, path in operations]}


def changes(path: str, *events: dict[str, Any]) -> list[tuple[int, str, str]]:
    blame = Blame(path)
    return [
        (change.seq, change.op, change.path)
        for seq, event in enumerate(events, 1)
        for change in blame.feed(seq, event)
    ]


def test_an_operation_counts_at_the_place_above_it_and_below_it() -> None:
    events = [
        delta(("add", "/a")),
        delta(("replace", "/a/b/c"), ("test", "/a/b"), ("add", "/a/bc")),
        delta(("remove", "/a/b"), ("add", "/x")),
        delta(("replace", "")),
        {"type": "STATE_DELTA", "delta": [{"op": "move", "from": "/a/b", "path": "/y"}]},
    ]
    assert changes("/a/b", *events) == [
        (1, "add", "/a"),
        (2, "replace", "/a/b/c"),
        (3, "remove", "/a/b"),
        (4, "replace", ""),
        (5, "move", "/y"),
    ]
    assert changes("/a~1b", delta(("add", "/a~1b"), ("add", "/a/b"))) == [(1, "add", "/a~1b")]


def test_a_snapshot_counts_if_the_value_is_another_or_was_patched() -> None:
    same, other = {"a": {"b": [1]}}, {"a": {"b": [2]}}
    events = [snapshot(same), snapshot(same), snapshot(other), delta(("add", "/a/b/0"))]
    changed = changes("/a/b", *events, snapshot(other), snapshot({}), snapshot([]))
    assert [seq for seq, _, _ in changed] == [1, 3, 4, 5, 6]
