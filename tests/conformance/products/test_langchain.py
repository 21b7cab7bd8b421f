"""LangChain's approvals behind ag-ui-langgraph, as it comes and with its option for questions."""

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from tests.acceptance.host import Host
from tests.conformance.products.conftest import served
from tests.needs import need_module

need_module("langchain.agents.middleware")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
SLUGS = {"pay-default": "/default", "pay-outcome": "/outcome"}
PROPOSED = {"amount": 5, "to": "Ann"}
NO = "User rejected the tool call for `pay` with reason: "


@pytest.fixture(scope="module")
def payer(desk: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    app = "tests.conformance.products.langchain_agents:app"
    with served(desk, app, tmp_path_factory.mktemp("langchain"), SLUGS):
        yield desk


def answer_of(host: Host, run_id: str) -> str:
    """The text that a run streamed; of changed arguments LangChain tells before the result."""
    events = [entry["event"] for entry in host.events(run_id)]
    return "".join(each["delta"] for each in events if each["type"] == "TEXT_MESSAGE_CONTENT")


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"approved": True}, "Paid 5 to Ann."),
        ({"approved": False, "reason": "too dear"}, f"{NO}too dear."),
        ({"approved": True, "arguments": {"amount": 4, "to": "Bob"}}, "Paid 4 to Bob."),
        ({"decisions": [{"type": "approve"}]}, "Paid 5 to Ann."),
    ],
    ids=str,
)
@pytest.mark.parametrize("slug", SLUGS)
def test_a_decision_by_the_api(payer: Host, slug: str, answer: Any, text: str) -> None:
    message = {"id": "u", "role": "user", "content": "pay Ann"}
    run = payer.begin(slug, messages=[message])
    assert payer.wait_status(run["id"], "interrupted", "failed")["status"] == "interrupted"
    with payer.client() as client:
        (question,) = client.get("/api/v1/interrupts", params={"run": run["id"]}).json()["results"]
        answered = client.post(f"/api/v1/interrupts/{question['id']}/answer", json=answer)
        assert answered.status_code == 200, answered.text
    next_id = answered.json()["run"]["id"]
    assert payer.wait_status(next_id, "succeeded", "failed")["status"] == "succeeded"
    assert answer_of(payer, next_id).endswith(text)


@pytest.mark.parametrize(
    ("decision", "text"),
    [({"approve": True}, "Paid 5 to Ann."), ({"approve": False, "reason": "no"}, f"{NO}no.")],
    ids=["yes", "no"],
)
@pytest.mark.parametrize("slug", SLUGS)
def test_a_decision_by_responses(payer: Host, slug: str, decision: Any, text: str) -> None:
    with openai.OpenAI(base_url=f"{payer.url}/v1", api_key=payer.key, max_retries=0) as client:
        first = client.responses.create(model=slug, input="pay Ann")
        (request,) = [item for item in first.output if item.type == "mcp_approval_request"]
        assert json.loads(request.arguments) == PROPOSED
        answer = {"type": "mcp_approval_response", "approval_request_id": request.id, **decision}
        done = client.responses.create(model=slug, previous_response_id=first.id, input=[answer])
    assert (done.status, done.output_text) == ("completed", text)
