"""Ids that are used again by the thousand cost no more than they are."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.protocol.intake import reused_ids
from tests.protocol.fold.test_reused_ids import RESULT
from tests.protocol.intake.test_intake import CALL, CALLED, Log

Wire = dict[str, Any]


@pytest.mark.parametrize(
    "message",
    [
        lambda number: {"id": "", "role": "assistant", "content": ""},
        lambda number: {"id": f"a{number // 2}", "role": ("assistant", "system")[number % 2],
                        "content": ""},
        lambda number: {"id": f"t{number}", "role": "tool", "toolCallId": "call", "content": ""},
    ],
    ids=["no id", "two roles", "one call's results"],
)  # fmt: skip
def test_thousands_of_reused_ids_cost_as_much_as_they_are(
    message: Callable[[int], Wire],
) -> None:
    result = {**RESULT, "messageId": "t", "toolCallId": "call"}
    log = Log().take({**CALL, "toolCallId": "call"}, {**CALLED, "toolCallId": "call"}, result)
    began = time.process_time()
    log.take({"type": "MESSAGES_SNAPSHOT", "messages": list(map(message, range(20_000)))})
    assert time.process_time() - began < 10  # when each was compared with each: minutes
    ids = [each["id"] for each in log.events[-1]["messages"]]
    assert len(set(ids)) == 20_000
    assert max(map(len, ids)) < 30


def test_thousands_of_calls_with_one_id() -> None:
    log = Log().take({"type": "RUN_STARTED", "threadId": "t", "runId": "r1"})
    began = time.process_time()
    for number in range(10_000):
        log.take({**CALL, "toolCallName": f"n{number}"}, CALLED)
    for number in range(10_000):
        log.take({**RESULT, "messageId": f"t{number}", "toolCallId": CALL["toolCallId"]})
    assert time.process_time() - began < 20
    starts, results = ([e["toolCallId"] for e in log.events if e["type"] == kind]
                       for kind in ("TOOL_CALL_START", "TOOL_CALL_RESULT"))  # fmt: skip
    assert starts == results
    assert len(set(starts)) == 10_000


def test_what_snapshots_bring_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reused_ids, "MAX_BROUGHT", 2_000)
    log = Log()
    for number in range(8):
        log.take({"type": "MESSAGES_SNAPSHOT", "messages": [
            {"id": f"m{number}", "role": "assistant", "content": ""},
        ]})  # fmt: skip
    again = {"type": "MESSAGES_SNAPSHOT", "messages": []}
    with pytest.raises(RunFailed) as failed:
        log.take(again)
    assert failed.value.reason is RunErrorCode.EVENT_TOO_LARGE
