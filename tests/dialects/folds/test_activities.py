"""An activity sent whole: a small one follows each delta, a large one its snapshots."""

from typing import Any

from agui_host.protocol.wire.fold import MOST_FOLLOWED, Activities


def snapshot(content: Any) -> dict[str, Any]:
    return {
        "type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "PLAN", "content": content
    }  # fmt: skip


def delta(path: str, value: Any) -> dict[str, Any]:
    patch = [{"op": "add", "path": path, "value": value}]
    return {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "PLAN", "patch": patch}


def test_a_small_one_follows_its_deltas() -> None:
    activities = Activities()
    assert activities.feed(snapshot({"n": 0})) == (
        "a",
        {"activityType": "PLAN", "content": {"n": 0}},
    )
    change = activities.feed(delta("/n", 1))
    assert change is not None
    assert change[1]["content"] == {"n": 1}


def test_deltas_on_a_large_one_cost_next_to_nothing() -> None:
    """Ten thousand of them on a megabyte would be ten gigabytes for each reader."""
    activities = Activities()
    large = {"text": "x" * 1_000_000}
    assert activities.feed(snapshot(large)) is not None, "the snapshot is in the log as it is"
    assert not any(activities.feed(delta("/n", number)) for number in range(10_000))
    assert activities.feed({**snapshot({}), "replace": False}) is None, "it stays as it is"


def test_one_that_grows_is_followed_up_to_the_bound() -> None:
    activities = Activities()
    activities.feed(snapshot({}))
    frames = [activities.feed(delta(f"/{number}", "x" * 1_000)) for number in range(100)]
    contents = [change[1]["content"] for change in frames if change]
    assert 1 < len(contents) <= MOST_FOLLOWED // 1_000
    assert not any(frames[len(contents) :])
    assert activities.feed(snapshot({"again": 1})) is not None
    assert activities.feed(delta("/more", 1)) is not None
