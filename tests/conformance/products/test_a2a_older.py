"""A2A's Python SDK of 0.3 with an agent of the host: the card leads it to JSON-RPC."""

from typing import Any

import pytest

from tests.acceptance.host import Host
from tests.conformance.products.conftest import play

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
STREAMING = pytest.mark.parametrize("streaming", [True, False], ids=["stream", "whole"])


@pytest.fixture(scope="module")
def records(concierge: Host) -> dict[str, Any]:
    """What each case of the program saw."""
    return play("a2a-sdk", A2A_AGENT=f"{concierge.url}/a2a/concierge", AGUI_KEY=concierge.key)


@STREAMING
def test_turns_are_tasks_of_one_context(
    concierge: Host, records: dict[str, Any], streaming: bool
) -> None:
    record = records[f"turns-{streaming}"]
    second = "You said my name is Ada, then who am I?."
    assert record["texts"] == ["You said my name is Ada.", second, second]
    assert record["states"] == ["completed"] * 3
    assert len(set(record["contexts"])) == 1
    threads = {concierge.run(each)["thread_id"] for each in record["tasks"]}
    assert threads == set(record["contexts"])


@STREAMING
def test_a_question_and_its_answer_are_one_task(records: dict[str, Any], streaming: bool) -> None:
    record = records[f"question-{streaming}"]
    assert record["question"] == "Shall I?"
    assert record["states"] == ["input-required", "completed"]
    assert len(set(record["tasks"])) == 1
    assert record["text"] == 'You said ask, and decided {"approved": true}.'


def test_cancel_and_refusals(records: dict[str, Any]) -> None:
    record = records["cancel-True"]
    assert (record["cancelled"], record["last"]) == ("canceled", "canceled")
    assert record["refusals"] == [-32002, -32001]
