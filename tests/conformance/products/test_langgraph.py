"""LangGraph behind ag-ui-langgraph: answers that only a snapshot brings, questions of both kinds.

Its questions are answered by CopilotKit's own core, as the hook ``useInterrupt`` does it.
"""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests.acceptance.host import Host, wait_for
from tests.conformance.node import Answers, answering, ready_packages
from tests.conformance.products.conftest import served
from tests.conformance.products.readers import last_answers, responses, runs
from tests.conformance.test_copilotkit import FRONT_END, visits
from tests.needs import need_module

need_module("langgraph.graph")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
APP = "tests.conformance.products.agents.langgraph_agents:app"
SLUGS = {"graph-plain": "/plain", "graph-default": "/default", "graph-outcome": "/outcome"}
WEATHER = "It is sunny in Basel."
USER = {"id": "u", "role": "user", "content": "weather?"}


@pytest.fixture(scope="module")
def graphs(desk: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with served(desk, APP, tmp_path_factory.mktemp("langgraph"), SLUGS):
        yield desk


@pytest.fixture(scope="module")
def front_ends() -> Iterator[Answers]:
    ready_packages()
    with answering(FRONT_END) as front_ends:
        yield front_ends


async def test_readers_of_an_answer_that_only_a_snapshot_brings(graphs: Host) -> None:
    thread = str(uuid4())
    run = graphs.begin("graph-plain", messages=[USER], threadId=thread)
    assert graphs.wait_status(run["id"], "succeeded", "failed")["status"] == "succeeded"
    types = {entry["event"]["type"] for entry in graphs.events(run["id"])}
    assert "MESSAGES_SNAPSHOT" in types
    assert "TEXT_MESSAGE_CONTENT" not in types, "a snapshot alone brings it"
    answers = await last_answers(graphs, "graph-plain", thread)
    assert answers == dict.fromkeys(answers, WEATHER)
    place = f"/api/v1/runs/{run['id']}"
    with graphs.client() as client:
        pages = {
            "outline": client.get(f"{place}/outline"),
            "export": client.get(f"{place}/export", params={"format": "messages"}),
            "TanStack": client.get("/agui/agent/graph-plain/run", params={"threadId": thread}),
            "Alpine": client.get(
                f"/runs/{run['id']}/events", headers={"accept": "text/event-stream"}
            ),
        }
    assert [name for name, page in pages.items() if WEATHER not in page.text] == []
    wait_for(lambda: is_found(graphs, run["id"]), "the run by its words")


def test_who_starts_a_run_in_another_format_has_that_answer(graphs: Host) -> None:
    slug, words = "graph-plain", [{"role": "user", "content": "weather?"}]
    with graphs.client() as client:
        client.patch(f"/api/v1/agents/{slug}", json={"is_tool": True}).raise_for_status()
    with responses(graphs) as openai:
        made = openai.responses.create(model=slug, input="weather?")
        chat: Any = openai.chat.completions.create(model=slug, messages=words)  # type: ignore[call-overload]
        chunks = openai.chat.completions.create(model=slug, messages=words, stream=True)  # type: ignore[call-overload]
        streamed = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    parts = [{"type": "text", "text": "weather?"}]
    question = {"id": str(uuid4()), "messages": [{"id": "u", "role": "user", "parts": parts}]}
    with graphs.client() as client:
        ai_sdk = client.post(f"/api/chat/{slug}", json=question).text
        message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "weather?"}]}
        answer = client.post(f"/a2a/{slug}/message:send", json={"message": message})
        params = {"name": slug, "arguments": {"message": "weather?"}}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        tool = client.post("/mcp", json=call).json()["result"]
    deltas = [json.loads(line[6:]) for line in ai_sdk.splitlines() if line.startswith("data: {")]
    assert {
        "Responses": made.output_text,
        "Chat Completions": chat.choices[0].message.content,
        "Chat Completions, streamed": streamed,
        "AI SDK": "".join(each["delta"] for each in deltas if each["type"] == "text-delta"),
        "A2A": "".join(
            part["text"] for each in answer.json()["task"]["artifacts"] for part in each["parts"]
        ),
        "MCP": "".join(part["text"] for part in tool["content"]),
    } == dict.fromkeys(
        ("Responses", "Chat Completions", "Chat Completions, streamed", "AI SDK", "A2A", "MCP"),
        WEATHER,
    )


COMMAND = {"resume": "yes", "interruptEvent": {"question": "Approve 5 EUR?"}}
ANSWERS: dict[str, Any] = {
    "graph-default": {"forwardedProps": {"command": COMMAND}},
    "graph-outcome": {"resolve": {"status": "resolved", "payload": "yes"}},
}


@pytest.mark.parametrize("same_run", [True, False], ids=["the run that asked", "a new run"])
@pytest.mark.parametrize("slug", ANSWERS)
def test_copilotkit_answers(graphs: Host, front_ends: Answers, slug: str, same_run: bool) -> None:
    """Its hook resolves a legacy question with ``command``, and both by the run that asked."""
    visit, thread = visits(front_ends, graphs), str(uuid4())
    ask = {"say": {"id": "u", "content": "pay"}}
    reading = visit(thread, ask, {**ANSWERS[slug], "sameRun": same_run}, agent=slug)
    asking, answering = reading["steps"]
    assert "CUSTOM" in asking["types"]
    assert answering["types"][-1] == "RUN_FINISHED"
    contents = [each["content"] for each in reading["messages"] if each["role"] == "assistant"]
    assert contents == ['You said "yes".']
    assert not reading["pendingInterrupts"]
    first, second = runs(graphs, thread)
    assert second["status"] == "succeeded"
    assert (first["run_id"] == second["run_id"]) is same_run
    assert not any(each["type"] == "CUSTOM" for each in log_of(graphs, second))


def is_found(host: Host, run_id: str) -> bool:
    with host.client() as client:
        page = client.get("/api/v1/runs", params={"q": "sunny Basel"}).json()
    return run_id in [row["id"] for row in page["results"]]


def log_of(host: Host, run: dict[str, Any]) -> list[dict[str, Any]]:
    return [entry["event"] for entry in host.events(run["id"])]
