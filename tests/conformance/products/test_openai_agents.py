"""OpenAI's Agents SDK: an agent of the host is its model, by two environment variables."""

from typing import Any
from uuid import UUID

import pytest

from tests.acceptance.host import Host
from tests.conformance.products.conftest import play

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
TALK = ["You said my name is Ada.", "The sum is 5."]
WHOLE = "You said my name is Ada, then add 2 and 3, then who am I?."
CALLED = ["function_call", "function_call_output", "message"]


@pytest.fixture(scope="module")
def records(concierge: Host) -> dict[str, Any]:
    """What each case of the program saw; they run at once."""
    env = {"OPENAI_BASE_URL": f"{concierge.url}/v1", "OPENAI_API_KEY": concierge.key}
    return play("openai-agents", OPENAI_AGENTS_DISABLE_TRACING="1", **env)


@pytest.mark.parametrize("wire", ["responses", "chat"])
def test_its_session_with_tools_and_streams(records: dict[str, Any], wire: str) -> None:
    record = records[f"sqlite-{wire}"]
    last = "You said my name is Ada, then add 2 and 3, then add 4 and 5, then who am I?."
    assert record["texts"] == [*TALK, "The sum is 9.", last]
    assert record["deltas"] == ["The ", "sum ", "is ", "9."]
    assert record["kinds"] == ["message"] * 2 + (["message", *CALLED] * 2) + ["message"] * 2


def test_turns_by_the_response_before_are_one_thread(
    concierge: Host, records: dict[str, Any]
) -> None:
    record = records["chained"]
    assert record["texts"] == [*TALK, WHOLE]
    runs = [concierge.run(str(UUID(each.removeprefix("resp_")))) for each in record["responses"]]
    assert [each["status"] for each in runs] == ["succeeded"] * 4
    assert len({each["thread_id"] for each in runs}) == 1


def test_turns_in_a_conversation_are_its_thread(concierge: Host, records: dict[str, Any]) -> None:
    record = records["conversation"]
    assert record["texts"] == [*TALK, WHOLE]
    assert record["kinds"] == ["message"] * 3 + CALLED + ["message"] * 2
    with concierge.client() as client:
        listed = client.get("/api/v1/runs", params={"thread_id": record["conversation"]}).json()
    assert len(listed["results"]) == 4


def test_its_session_over_conversations(records: dict[str, Any]) -> None:
    record = records["conversations-session"]
    assert record["texts"] == [*TALK, WHOLE]
    assert record["kinds"] == ["message"] * 3 + CALLED + ["message"] * 2
    assert record["popped"]["content"][0]["text"] == WHOLE
    assert record["left"] == len(record["kinds"]) - 1


@pytest.mark.parametrize("wire", ["responses", "chat"])
def test_its_own_approval_of_its_tool(records: dict[str, Any], wire: str) -> None:
    record = records[f"approval-{wire}"]
    assert record["texts"] == ["The sum is 5.", "The sum is Tool execution was not approved.."]


@pytest.mark.parametrize(
    ("how", "decision"),
    [("yes", '{"approved": true}'), ("no", '{"approved": false, "reason": "too dear"}')],
)
def test_a_question_of_the_agent(records: dict[str, Any], how: str, decision: str) -> None:
    """Whether the SDK sends the newest or all it has, the agent gets each message once."""
    *one_turn, second = records[f"question-{how}"]["texts"]
    assert one_turn == [f"You said ask, and decided {decision}."] * 3
    assert second == f"You said ask, then ask, and decided {decision}."
