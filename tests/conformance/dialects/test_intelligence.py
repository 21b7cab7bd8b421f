"""CopilotKit's Intelligence client reads through channels and resumes with its own cursor.

All cases are played by one process (``js/intelligence.mjs``).
"""

import json
from typing import Any

import pytest

from tests.acceptance.host import Host
from tests.conformance.node import ready_packages, run_node

Json = dict[str, Any]


@pytest.fixture(scope="module")
def cases(packages: None, host: Host) -> dict[str, Json]:
    task = {"url": host.url, "key": host.key, "thread": "intelligence"}
    script = str(ready_packages() / "intelligence.mjs")
    done = run_node(["--experimental-websocket", script], json.dumps(task))
    assert done.returncode == 0, done.stderr
    outcomes: dict[str, Json] = json.loads(done.stdout)
    for name, outcome in outcomes.items():
        assert "broke" not in outcome, (name, outcome["broke"])
    return outcomes


def texts(messages: list[Json]) -> list[str]:
    contents = [each.get("content") for each in messages if each["role"] == "assistant"]
    return [content for content in contents if content]


def bare(messages: list[Json]) -> list[Json]:
    """Without the cursor, which the client keeps on what it has read event by event."""
    return [
        {
            name: bare(value) if name == "toolCalls" else value
            for name, value in each.items()
            if name != "metadata"
        }
        for each in messages
    ]


def test_turns_and_a_page_that_loads(cases: dict[str, Json]) -> None:
    outcome = cases["turns"]
    assert texts(outcome["live"]) == ["One hello.", "One again."]
    assert bare(outcome["late"]) == bare(outcome["live"])
    assert outcome["calls"] == [{"verb": "connect", "status": 200, "after": None}]
    assert outcome["again"] == 0, "a page that has seen everything gets nothing again"
    assert outcome["last"]["after"]


@pytest.mark.parametrize("case", ["cut", "cut_in_a_tool"])
def test_a_lost_socket_resumes_behind_the_cursor(
    case: str, cases: dict[str, Json], host: Host
) -> None:
    outcome = cases[case]
    assert outcome["rejected"] is None
    assert [call["verb"] for call in outcome["calls"]] == ["run", "connect"]
    with host.client() as client:
        query = {"thread_id": outcome["threadId"]}
        (row,) = client.get("/api/v1/runs", params=query).json()["results"]
    log = [each["event"] for each in host.events(row["id"])]
    names = [event["type"] for event in log]
    assert [event["type"] for event in outcome["events"]] == names
    deltas = [event.get("delta") for event in log]
    assert [event.get("delta") for event in outcome["events"]] == deltas


def test_a_page_that_joins_late(cases: dict[str, Json]) -> None:
    assert bare(cases["late"]["late"]) == bare(cases["late"]["live"])


def test_stop(cases: dict[str, Json]) -> None:
    assert [run["status"] for run in cases["stop"]["runs"]] == ["cancelled"]


def test_a_question_and_its_answer(cases: dict[str, Json]) -> None:
    outcome = cases["question"]
    assert outcome["rejected"] is None
    assert [run["status"] for run in outcome["runs"]] == ["succeeded", "interrupted"]
    assert texts(outcome["messages"])[-1].startswith("Done, in the ledger")


def test_thoughts_and_tools(cases: dict[str, Json]) -> None:
    outcome = cases["tools"]
    assert outcome["rejected"] == [None, None]
    assert bare(outcome["late"]) == bare(outcome["live"])
    kinds = [message["role"] for message in outcome["late"]]
    assert kinds == ["user", "reasoning", "assistant", "tool", "assistant", "tool", "assistant"]
    results = [each["content"] for each in outcome["late"] if each["role"] == "tool"]
    assert results == ["ok", '"Basel"']
    assert texts(outcome["late"]) == ["Basel, then."]


def test_an_error_is_one(cases: dict[str, Json]) -> None:
    assert "stopped with an error" in cases["error"]["rejected"]


def test_nothing_to_read_and_nobody_to_ask(cases: dict[str, Json]) -> None:
    outcome = cases["nothing"]
    assert outcome["calls"] == [{"verb": "connect", "status": 204, "after": None}]
    assert outcome["messages"] == []
    assert "unknown_agent" in outcome["refused"]


def test_the_core_makes_the_agent_from_the_runtimes_info(cases: dict[str, Json]) -> None:
    assert texts(cases["core"]["messages"]) == ["One."]
    assert [run["status"] for run in cases["core"]["runs"]] == ["succeeded"]
