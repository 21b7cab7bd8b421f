"""MCP's JavaScript clients against ``/mcp``: version 2 of 2026-07-28, and version 1, the older.

All cases are played by one process (``js/mcp.mjs``), each by four clients.
"""

import json
from typing import Any

import pytest

from tests.acceptance.host import Host
from tests.conformance.node import ready_packages, run_node

Json = dict[str, Any]
CLIENTS = ("2026-07-28", "auto", "legacy", "sdk")
MODERN = CLIENTS[:2]

each = pytest.mark.parametrize("client", CLIENTS)


@pytest.fixture(scope="module")
def cases(packages: None, host: Host, tmp_path_factory: Any) -> dict[str, Json]:
    with host.client() as client:
        client.patch("/api/v1/agents/scripted", json={"is_tool": True}).raise_for_status()
    task = {"url": host.url, "key": host.key, "gates": str(tmp_path_factory.mktemp("gates"))}
    done = run_node([str(ready_packages() / "mcp.mjs")], json.dumps(task))
    assert done.returncode == 0, done.stderr
    outcomes: dict[str, Json] = json.loads(done.stdout)
    for name, outcome in outcomes.items():
        assert "broke" not in outcome, (name, outcome["broke"])
    return outcomes


@each
def test_agents_are_tools_and_threads_resources(cases: dict[str, Json], client: str) -> None:
    outcome = cases[f"talk, {client}"]
    assert {"docs", "approval", "slow", "table"} <= set(outcome["tools"])
    messages = outcome["messages"]
    words = [each["content"] for each in messages if each["role"] == "user"]
    assert words == ["What is a journal?", "And a hub?"]
    answers = [each.get("content") or "" for each in messages if each["role"] == "assistant"]
    assert "".join(answers) == "".join(outcome["texts"])
    assert outcome["unknown"]["code"] == -32602


@each
@pytest.mark.parametrize("action", ["accept", "decline"])
def test_a_question_is_a_form(cases: dict[str, Json], client: str, action: str) -> None:
    outcome = cases[f"{action}, {client}"]
    if client not in MODERN:
        assert outcome["forms"] == []
        assert outcome["text"].startswith("Approve: delete report.txt")
        return
    (form,) = outcome["forms"]
    assert form["message"] == "Approve: delete report.txt"
    assert form["requestedSchema"]["properties"]["approved"]["type"] == "boolean"
    done = "Done, in the ledger" if action == "accept" else "I did not do it"
    assert outcome["text"].startswith(done)


@each
def test_an_error_is_a_result(cases: dict[str, Json], client: str) -> None:
    outcome = cases[f"error, {client}"]
    assert outcome["isError"] is True
    assert outcome["text"].startswith("So far.")
    assert "stopped with an error" in outcome["text"]


@each
def test_a_call_that_is_lost_has_left_its_run(cases: dict[str, Json], client: str) -> None:
    outcome = cases[f"lost, {client}"]
    assert outcome["message"], "the call was not lost"
    assert outcome["whole"] == "So far.\n\nAnd the rest."


@each
def test_progress_outlasts_the_clients_timeout(cases: dict[str, Json], client: str) -> None:
    outcome = cases[f"long, {client}"]
    assert outcome["impatient"], "the call takes longer than the timeout"
    assert outcome["text"] == "So far.And the rest."
    assert outcome["progress"] >= 2


@each
def test_tasks_cancel(cases: dict[str, Json], client: str) -> None:
    outcome = cases[f"cancel, {client}"]
    assert "cancelled" in outcome["title"]
    assert outcome["text"].startswith("So far.")
    if client not in MODERN:
        assert outcome["task"]["status"] == "cancelled"


@each
def test_without_a_key(cases: dict[str, Json], client: str) -> None:
    assert cases[f"refused, {client}"]
