"""TanStack AI's own client against ``/agui/agent/{slug}/run``: nothing but the address is ours.

All cases are played by one process (``js/tanstack.mjs``), over server-sent events and over lines,
by its connections and by its ``ChatClient``, which holds its thread on the server.
"""

import json
from typing import Any

import pytest

from tests.acceptance.host import Host
from tests.conformance.node import ready_packages, run_node

Json = dict[str, Any]


@pytest.fixture(scope="module")
def cases(packages: None, host: Host) -> dict[str, Json]:
    task = {"url": host.url, "key": host.key, "thread": "tanstack"}
    done = run_node([str(ready_packages() / "tanstack.mjs")], json.dumps(task))
    assert done.returncode == 0, done.stderr
    outcomes: dict[str, Json] = json.loads(done.stdout)
    for name, outcome in outcomes.items():
        assert "broke" not in outcome, (name, outcome["broke"])
    return outcomes


def log_of(host: Host, run_id: str) -> list[Json]:
    with host.client() as client:
        rows = client.get("/api/v1/runs", params={"limit": 200}).json()["results"]
    (key,) = [row["id"] for row in rows if row["run_id"] == run_id]
    return [row["event"] for row in host.events(key)]


def texts(messages: list[Json], role: str = "assistant") -> list[str]:
    parts = [part for each in messages if each["role"] == role for part in each["parts"]]
    return [part["content"] for part in parts if part["type"] == "text"]


def part_of(messages: list[Json], kind: str) -> Json:
    (part,) = [part for each in messages for part in each["parts"] if part["type"] == kind]
    return dict(part)


@pytest.mark.parametrize("case", ["cut", "lines"])
def test_lost_connections_in_a_text(cases: dict[str, Json], host: Host, case: str) -> None:
    outcome = cases[case]
    log = log_of(host, outcome["runId"])
    assert outcome["chunks"] == log
    assert outcome["joined"] == log
    for calls, method, lost in ((outcome["calls"], "POST", 2), (outcome["joins"], "GET", 1)):
        assert [call["method"] for call in calls] == [method] * (lost + 1)
        assert [call["after"] is None for call in calls] == [True, *[False] * lost]


def test_a_lost_connection_in_a_call(cases: dict[str, Json], host: Host) -> None:
    outcome = cases["cut_in_a_tool"]
    assert len(outcome["calls"]) == 2, "it was cut"
    log = log_of(host, outcome["runId"])
    # The client adds members of its own, such as toolName.
    pairs = zip(outcome["chunks"], log, strict=True)
    assert [{name: chunk[name] for name in event} for chunk, event in pairs] == log


def test_a_second_tab(cases: dict[str, Json]) -> None:
    assert cases["second_tab"]["joined"] == cases["second_tab"]["chunks"]


def test_a_page_that_loads_has_what_the_live_page_has(cases: dict[str, Json]) -> None:
    outcome = cases["everything"]
    assert outcome["errors"] == []
    for messages in (outcome["live"], outcome["late"]):
        assert part_of(messages, "thinking")["content"] == "Hm."
        assert part_of(messages, "tool-call")["input"] == {"word": "run"}
        assert part_of(messages, "tool-result")["content"] == "a run"
        assert texts(messages) == ["There."]


def test_a_reload_in_mid_answer(cases: dict[str, Json]) -> None:
    outcome = cases["reload"]
    assert outcome["errors"] == []
    assert [call["method"] for call in outcome["calls"]] == ["GET", "GET"]
    assert [each["role"] for each in outcome["late"]] == ["user", "assistant"] * 2
    assert texts(outcome["late"]) == texts(outcome["live"])
    assert [each["id"] for each in outcome["late"]] == [each["id"] for each in outcome["live"]]


def test_a_question_answered_by_a_later_page(cases: dict[str, Json]) -> None:
    outcome = cases["approval"]
    assert (outcome["message"], outcome["canResolve"]) == ("Approve: delete report.txt", True)
    assert outcome["errors"] == []
    assert [run["status"] for run in outcome["runs"]] == ["succeeded", "interrupted"]
    for messages in (outcome["later"], outcome["fresh"]):
        assert texts(messages)[-1].startswith("Done, in the ledger")
        assert json.loads(part_of(messages, "tool-result")["content"])["done"] is True
    assert outcome["left"] == 0


def test_a_tool_of_the_client(cases: dict[str, Json]) -> None:
    outcome = cases["client_tool"]
    assert outcome["errors"] == []
    assert len(outcome["runs"]) == 2
    assert part_of(outcome["live"], "tool-call")["output"] == {"at": "Basel"}
    assert texts(outcome["live"]) == ["Basel, then."]


def test_a_page_that_loads_can_parse_a_call_without_arguments(cases: dict[str, Json]) -> None:
    outcome = cases["no_arguments"]
    assert outcome["errors"] == []
    assert outcome["parsed"] == [[{}, {}]]
    assert part_of(outcome["late"], "tool-call")["output"] == {"at": "Basel"}
    assert texts(outcome["late"]) == ["Basel, then."]


def test_an_error_is_one(cases: dict[str, Json]) -> None:
    outcome = cases["error"]
    assert len(outcome["errors"]) == 1
    assert texts(outcome["live"]) == ["So far."]
    assert outcome["joined"][-1]["type"] == "RUN_ERROR"


def test_leaving_stops_nothing_and_the_address_stops(cases: dict[str, Json]) -> None:
    outcome = cases["stop"]
    assert (outcome["before"], outcome["stopped"]) == ("running", True)
    assert [run["status"] for run in outcome["runs"]] == ["cancelled"]
    assert outcome["last"]["type"] == "RUN_FINISHED"
    assert outcome["last"]["outcome"]["type"] == "cancelled"


def test_refusals_write_nothing(cases: dict[str, Json]) -> None:
    outcome = cases["refusals"]
    assert "404" in outcome["agent"]["errors"][0]
    assert "401" in outcome["key"]["errors"][0]
    assert outcome["agent"]["runs"] == outcome["key"]["runs"] == []
    assert "404" in outcome["join"]
    assert outcome["empty"]["messages"] == []
    assert outcome["empty"]["activeRun"] is None
