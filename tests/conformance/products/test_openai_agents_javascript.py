"""OpenAI's Agents SDK, whose model is an agent of the host, by Responses and by Chat Completions.

All cases are played by one process (``js/openai-agents.mjs``). Its tracing, which goes to OpenAI,
is off.
"""

import json
from typing import Any

import pytest

from tests.acceptance.host import Host
from tests.conformance.node import ready_packages, run_node

Json = dict[str, Any]
ANSWERS = ["First.", "Second.", "Third."]

each = pytest.mark.parametrize("api", ["responses", "chat"])


@pytest.fixture(scope="module")
def cases(packages: None, host: Host) -> dict[str, Json]:
    done = run_node(
        [str(ready_packages() / "openai-agents.mjs")],
        json.dumps({"url": host.url, "key": host.key}),
        OPENAI_BASE_URL=f"{host.url}/v1",
        OPENAI_API_KEY=host.key,
    )
    assert done.returncode == 0, done.stderr
    outcomes: dict[str, Json] = json.loads(done.stdout)
    for name, outcome in outcomes.items():
        assert "broke" not in outcome, (name, outcome["broke"])
    return outcomes


def conversation(name: str) -> list[str]:
    return [f"One, {name}.", "First.", f"Two, {name}.", "Second.", f"Three, {name}.", "Third."]


@each
def test_an_agent_of_the_host_is_a_model(cases: dict[str, Json], api: str) -> None:
    outcome = cases[f"plain, {api}"]
    assert "journal" in outcome["output"]
    assert "message_output_item" in outcome["kinds"]
    assert cases["environment, responses"]["output"] == outcome["output"]


@each
@pytest.mark.parametrize("name", ["history", "session", "conversations"])
def test_turns_with_a_history_of_the_client(cases: dict[str, Json], api: str, name: str) -> None:
    """The agent has all of it; by Responses, each turn is a thread of its own."""
    outcome = cases[f"{name}, {api}"]
    assert outcome["outputs"] == ANSWERS
    instructions = ["Be brief."] if api == "chat" else []
    assert outcome["said"] == instructions + conversation(name)
    assert outcome["threads"] == (1 if api == "chat" else 3)
    if name == "conversations":
        assert (outcome["items"], outcome["last"], outcome["left"]) == (6, "assistant", 5)


@pytest.mark.parametrize("name", ["previous", "conversation"])
def test_turns_with_the_hosts_history(cases: dict[str, Json], name: str) -> None:
    outcome = cases[f"{name}, responses"]
    assert (outcome["outputs"], outcome["threads"]) == (ANSWERS, 1)
    assert outcome["said"] == conversation(name)


@each
def test_a_stream(cases: dict[str, Json], api: str) -> None:
    streamed, whole = cases[f"stream, {api}"], cases[f"whole, {api}"]
    assert streamed["streamed"] == streamed["output"] == whole["output"] == "A run is a run."
    assert "message_output_created" in streamed["events"]
    assert streamed["kinds"] == whole["kinds"]
    if api == "responses":
        assert whole["kinds"] == ["reasoning_item", "tool_call_item", "message_output_item"]
    for usage in (streamed["usage"], whole["usage"]):
        assert (usage["inputTokens"], usage["outputTokens"]) == (3, 5)
    assert whole["next"] == "Yes.", "what it got goes back as history"


@each
def test_a_tool_of_the_application(cases: dict[str, Json], api: str) -> None:
    whole, streamed = cases[f"tool, {api}"], cases[f"streamed tool, {api}"]
    assert whole["output"] == streamed["output"] == "Basel, then."
    kinds = ["tool_call_item", "tool_call_output_item", "message_output_item"]
    assert whole["kinds"] == streamed["kinds"] == kinds
    assert (whole["requests"], streamed["requests"], streamed["next"]) == (2, 3, "Yes.")


@each
def test_a_tool_that_needs_approval(cases: dict[str, Json], api: str) -> None:
    outcome = cases[f"needs approval, {api}"]
    assert {each["name"] for each in outcome.values()} == {"place"}
    assert {each["output"] for each in outcome.values()} == {"Fine."}
    assert outcome["approve"]["result"]["text"] == "Basel, Ann"
    assert "not approved" in outcome["reject"]["result"]["text"]


@each
def test_a_tool_called_without_arguments(cases: dict[str, Json], api: str) -> None:
    outcome = cases[f"no arguments, {api}"]
    assert len(outcome) == (4 if api == "chat" else 2)
    assert set(map(tuple, outcome.values())) == {("noon", "Noon, then.")}


def test_a_question_of_the_agent(cases: dict[str, Json]) -> None:
    """It is one of the hosted tool ``host``, which the application has to name."""
    outcome = cases["approval, responses"]
    assert {each["question"] for each in outcome.values()} == {"Approve: delete report.txt"}
    assert outcome["approve"]["output"].startswith("Done, in the ledger")
    assert outcome["reject"]["output"].startswith("I did not do it")


@each
def test_an_answer_of_a_type(cases: dict[str, Json], api: str) -> None:
    assert cases[f"structured, {api}"]["output"] == {"city": "Basel"}


@each
def test_an_error_starts_no_second_run(cases: dict[str, Json], api: str) -> None:
    outcome = cases[f"error, {api}"]
    assert "stopped with an error" in outcome["message"]
    assert outcome["streamed"]
    assert (outcome["requests"], outcome["again"]) == (1, 1)
