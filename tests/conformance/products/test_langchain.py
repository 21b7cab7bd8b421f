"""LangChain's approvals behind ag-ui-langgraph, as it comes and with its option for questions."""

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from a2a.types.a2a_pb2 import GetTaskRequest, TaskState
from mcp.client import ClientRequestContext
from mcp.types import ElicitRequestParams, ElicitResult
from playwright.sync_api import Browser, expect

from tests.acceptance.browser.test_inbox import no_undo
from tests.acceptance.host import Host
from tests.acceptance.screenshots import signed_in
from tests.chromium import browser
from tests.conformance.dialects import test_a2a, test_mcp
from tests.conformance.node import Answers, answering, ready_packages
from tests.conformance.products.conftest import served
from tests.dialects.test_repeated_starts import mcp as mcp_request
from tests.needs import need_module

__all__ = ["browser"]
need_module("langchain.agents.middleware")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
SLUGS = {"pay-default": "/default", "pay-outcome": "/outcome"}
PROPOSED = {"amount": 5, "to": "Ann"}
NO = "User rejected the tool call for `pay` with reason: "


@pytest.fixture(scope="module")
def payer(desk: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    app = "tests.conformance.products.agents.langchain_agents:app"
    with served(desk, app, tmp_path_factory.mktemp("langchain"), SLUGS):
        yield desk


def asked(host: Host, slug: str) -> dict[str, Any]:
    """The run that proposes to pay, and waits for a decision."""
    run = host.begin(slug, messages=[{"id": "u", "role": "user", "content": "pay Ann"}])
    assert host.wait_status(run["id"], "interrupted", "failed")["status"] == "interrupted"
    return run


def question_of(host: Host, run: dict[str, Any]) -> dict[str, Any]:
    with host.client() as client:
        listed = client.get("/api/v1/interrupts", params={"run": run["id"]}).json()
    (question,) = listed["results"]
    return dict(question)


def spoken_after(host: Host, run: dict[str, Any]) -> str:
    """What the run that continued this one has said, when it has ended."""
    with host.client() as client:
        listed = client.get("/api/v1/runs", params={"thread_id": run["thread_id"]}).json()
    next_id = listed["results"][0]["id"]
    assert next_id != run["id"]
    assert host.wait_status(next_id, "succeeded", "failed")["status"] == "succeeded"
    return answer_of(host, next_id)


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
    run = asked(payer, slug)
    with payer.client() as client:
        path = f"/api/v1/interrupts/{question_of(payer, run)['id']}/answer"
        answered = client.post(path, json=answer)
    assert answered.status_code == 200, answered.text
    assert spoken_after(payer, run).endswith(text)


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


DECISIONS: list[tuple[Any, str]] = [
    ({"approved": True}, "Paid 5 to Ann."),
    ({"approved": False, "reason": "no"}, f"{NO}no."),
    ({"approved": True, "arguments": {"amount": 4, "to": "Bob"}}, "Paid 4 to Bob."),
]


@pytest.fixture(scope="module")
def chats() -> Iterator[Answers]:
    ready_packages()
    with answering("approvals.mjs") as chats:
        yield chats


@pytest.mark.parametrize("slug", SLUGS)
def test_a_decision_in_the_ai_sdks_chat(payer: Host, chats: Answers, slug: str) -> None:
    for decision, text in DECISIONS[:2]:  # A chat cannot change arguments.
        question = {"agent": slug, "text": "pay Ann", "decision": decision}
        reading = chats({"url": payer.url, "key": payer.key, **question})
        assert reading["errors"] == []
        assert reading["text"].endswith(text)


@pytest.mark.parametrize("slug", SLUGS)
async def test_a_decision_by_a2as_client(payer: Host, slug: str) -> None:
    for decision, text in DECISIONS:
        async with test_a2a.client(payer, f"/a2a/{slug}") as agent:
            first = await test_a2a.play(agent, test_a2a.request({"text": "pay Ann"}))
            task_id = first[0].task.id
            asked = first[-1].status_update.status
            assert asked.state == TaskState.TASK_STATE_INPUT_REQUIRED
            await test_a2a.play(agent, test_a2a.request({"data": decision}, taskId=task_id))
            task = await agent.get_task(GetTaskRequest(id=task_id))
        assert task.status.state == TaskState.TASK_STATE_COMPLETED
        assert test_a2a.text(task).endswith(text)


@pytest.mark.parametrize("slug", SLUGS)
async def test_a_decision_in_a_form_of_mcps_client(payer: Host, slug: str) -> None:
    with payer.client() as client:
        client.patch(f"/api/v1/agents/{slug}", json={"is_tool": True}).raise_for_status()
    for decision, text in DECISIONS[:2]:  # A form has no members that are objects.

        async def fill(
            context: ClientRequestContext, params: ElicitRequestParams, content: Any = decision
        ) -> ElicitResult:
            return ElicitResult(action="accept", content=content)

        async with test_mcp.client(payer, elicitation_callback=fill) as mcp:
            result = await mcp.call_tool(slug, {"message": "pay Ann"})
        assert test_mcp.text(result).endswith(text)


@pytest.mark.parametrize("slug", SLUGS)
def test_a_decision_about_a_task_of_mcp(payer: Host, slug: str) -> None:
    """A client of the Tasks extension, which no package has yet, sends objects as well."""
    for decision, text in DECISIONS:
        run = asked(payer, slug)
        question = question_of(payer, run)["interrupt_id"]
        content = {question: {"action": "accept", "content": decision}}
        body = mcp_request("", "tasks/update", taskId=run["id"], inputResponses=content)
        with payer.client() as client:
            answered = client.post("/mcp", json=body)
        assert answered.status_code == 200, answered.text
        assert spoken_after(payer, run).endswith(text)


def test_decisions_in_the_inbox(payer: Host, browser: Browser) -> None:
    """Approve, Reject with a reason, and Approve with changes, in Chromium, as people come."""
    state: Any = signed_in(browser, payer)
    page = browser.new_page(base_url=payer.url, storage_state=state)
    for decision, text in DECISIONS:
        run = asked(payer, "pay-default")
        page.goto("/inbox/")
        its_run = page.locator(f"a[href='/runs/{run['id']}/']")
        form = page.get_by_role("main").get_by_role("article").filter(has=its_run)
        button = "Approve" if decision["approved"] else "Reject"
        if "reason" in decision:
            form.get_by_label("Reason").fill(decision["reason"])
        if arguments := decision.get("arguments"):
            form.get_by_text("Edit the arguments").click()
            for name, value in arguments.items():
                form.get_by_label(name, exact=True).fill(str(value))
            button = "Approve with changes"
        with no_undo(page):
            form.get_by_role("button", name=button, exact=True).click()
        expect(page.get_by_role("status").first).to_contain_text("Answered. ")
        assert spoken_after(payer, run).endswith(text)
