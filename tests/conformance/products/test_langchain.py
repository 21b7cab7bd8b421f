"""LangChain's approvals behind ag-ui-langgraph, as it comes and with its option for questions."""

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from playwright.sync_api import Browser, expect

from tests.acceptance.host import Host
from tests.acceptance.screenshots import signed_in
from tests.chromium import browser
from tests.conformance.products.conftest import served
from tests.dialects.test_repeated_starts import a2a, mcp
from tests.needs import need_module

__all__ = ["browser"]
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


def by_ai_sdk(run: dict[str, Any], question: str, decision: Any) -> tuple[str, Any]:
    approval = {"id": question, **decision}
    part = {"type": "dynamic-tool", "toolName": "pay", "toolCallId": "c", "approval": approval}
    parts = [{**part, "state": "approval-responded", "input": PROPOSED}]
    message = {"id": run["id"], "role": "assistant", "parts": parts}
    return f"/api/chat/{run['agent']}", {"id": run["thread_id"], "messages": [message]}


def by_a2a(run: dict[str, Any], question: str, decision: Any) -> tuple[str, Any]:
    body = a2a("", taskId=run["id"], parts=[{"data": decision}])
    return f"/a2a/{run['agent']}/message:send", body


def by_mcp(run: dict[str, Any], question: str, decision: Any) -> tuple[str, Any]:
    content = {question: {"action": "accept", "content": decision}}
    return "/mcp", mcp("", "tasks/update", taskId=run["id"], inputResponses=content)


@pytest.mark.parametrize("dialect", [by_ai_sdk, by_a2a, by_mcp], ids=lambda each: each.__name__)
@pytest.mark.parametrize("slug", SLUGS)
def test_decisions_by_a_dialect(payer: Host, slug: str, dialect: Any) -> None:
    """A yes, a no with its reason and, where clients can send them, changed arguments."""
    for decision, text in DECISIONS[:2] if dialect is by_ai_sdk else DECISIONS:
        run = asked(payer, slug)
        path, body = dialect(run, question_of(payer, run)["interrupt_id"], decision)
        with payer.client() as client:
            answered = client.post(path, json=body)
        assert answered.status_code == 200, answered.text
        assert spoken_after(payer, run).endswith(text)


def test_decisions_in_the_inbox(payer: Host, browser: Browser) -> None:
    """Approve, Reject with a reason, and Approve with changes, in Chromium."""
    state: Any = signed_in(browser, payer)
    page = browser.new_page(base_url=payer.url, storage_state=state)
    for decision, text in DECISIONS:
        run = asked(payer, "pay-default")
        page.goto(f"/runs/{run['id']}/")
        form = page.get_by_role("main").get_by_role("article").filter(has_text="pay")
        button = "Approve" if decision["approved"] else "Reject"
        if "reason" in decision:
            form.get_by_label("Reason").fill(decision["reason"])
        if arguments := decision.get("arguments"):
            form.get_by_text("Edit the arguments").click()
            for name, value in arguments.items():
                form.get_by_label(name, exact=True).fill(str(value))
            button = "Approve with changes"
        form.get_by_role("button", name=button, exact=True).click()
        expect(page.get_by_role("status").first).to_contain_text("Answered. ")
        assert spoken_after(payer, run).endswith(text)
