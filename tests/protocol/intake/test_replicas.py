"""What a run's events add up to is bounded: copies count, and so do many small events."""

from typing import Any

import pytest

from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.protocol.intake.intake import Intake
from agui_host.protocol.patch import PatchFailed, apply

COPY = {"op": "copy", "from": "/a", "path": "/b/-"}


def started(**bounds: int) -> Intake:
    intake = Intake("t", "r", **bounds)
    intake.start()
    return intake


def snapshot(value: Any) -> dict[str, Any]:
    return {"type": "STATE_SNAPSHOT", "snapshot": value}


def delta(*operations: dict[str, Any]) -> dict[str, Any]:
    return {"type": "STATE_DELTA", "delta": list(operations)}


def refused(intake: Intake, event: dict[str, Any]) -> RunFailed:
    with pytest.raises(RunFailed) as failed:
        intake.accept(event)
    assert failed.value.reason is RunErrorCode.EVENT_TOO_LARGE
    return failed.value


def test_a_patch_that_copies_too_much_fails_and_changes_nothing() -> None:
    document = {"a": "x" * 1_000_000, "b": []}
    with pytest.raises(PatchFailed, match="copies too much"):
        apply(document, [COPY] * 150)
    assert document["b"] == []


def test_many_patches_that_copy_end_the_run() -> None:
    intake = started(max_state=100_000)
    intake.accept(snapshot({"a": "x" * 10_000, "b": []}))
    for _ in range(8):
        intake.accept(delta(COPY))
    with pytest.raises(RunFailed, match="larger than 100,000 bytes"):  # noqa: PT012
        for _ in range(3):  # the bound may be passed by an eighth
            intake.accept(delta(COPY))
    assert [record.type for record in intake.fail(RunErrorCode.EVENT_TOO_LARGE, "no")] == [
        "RUN_ERROR"
    ]


def test_activities_count_too() -> None:
    intake = started(max_state=100_000)
    event = {"type": "ACTIVITY_SNAPSHOT", "activityType": "x", "content": {"a": "x" * 20_000}}
    for number in range(4):
        intake.accept({**event, "messageId": str(number)})
    refused(intake, {**event, "messageId": "one more"})


def test_what_is_replaced_does_not_add_up() -> None:
    intake = started(max_state=100_000)
    for number in range(100):
        intake.accept(snapshot({"a": "x" * 50_000, "n": number}))
        intake.accept(delta({"op": "replace", "path": "/a", "value": "y" * 50_000}))


def test_texts_add_up() -> None:
    intake = started(max_text=1_000)
    intake.accept({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"})
    content = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x" * 500}
    intake.accept(content)
    intake.accept(content)
    assert "more than 1,000 characters" in refused(intake, content).message
    intake.accept({"type": "CUSTOM", "name": "x", "value": 1})
    assert [record.type for record in intake.fail(RunErrorCode.EVENT_TOO_LARGE, "no")] == [
        "TEXT_MESSAGE_END",
        "RUN_ERROR",
    ]


def test_no_patch_nests_without_end() -> None:
    document: Any = {"a": []}
    for _ in range(95):
        document["a"] = [document["a"]]
    deeper = {"op": "copy", "from": "", "path": "/a" + "/0" * 90}
    document = apply(document, [deeper])
    with pytest.raises(PatchFailed, match="nested too deep"):
        apply(document, [deeper])
    with pytest.raises(PatchFailed, match="100 steps"):
        apply({}, [{"op": "remove", "path": "/a" * 101}])


def test_a_large_state_is_restated_a_few_times_only() -> None:
    intake = started(max_state=100_000)
    intake.accept(snapshot({"a": "x" * 50_000, "n": 0}))
    size = 0
    for number in range(100):
        intake.accept(delta({"op": "replace", "path": "/n", "value": number}))
        size += sum(len(r.payload) for r in intake.accept(delta({"op": "remove", "path": "/z"})))
    assert 50_000 < size < 400_000


def test_pushing_elements_along_is_bounded() -> None:
    with pytest.raises(PatchFailed, match="shifts too many"):
        apply([0] * 300_000, [{"op": "add", "path": "/0", "value": 0}] * 300)


def test_the_state_comes_before_its_first_change() -> None:
    """A log then says by itself what its deltas change; one that has the state gets no second."""
    change = {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a", "value": 1}]}
    state = {"type": "STATE_SNAPSHOT", "snapshot": {"b": 2}}
    for events, types in (
        ([change, change], ["STATE_SNAPSHOT", "STATE_DELTA", "STATE_DELTA"]),
        ([state, change], ["STATE_SNAPSHOT", "STATE_DELTA"]),
        ([{**change, "delta": [{"op": "remove", "path": "/x"}]}], ["STATE_SNAPSHOT"]),
    ):
        intake = Intake("t", "r", states=True)
        intake.start()
        records = [record for event in events for record in intake.accept(dict(event))]
        assert [record.type for record in records] == types
