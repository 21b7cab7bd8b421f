"""The AI SDK's own client against the host: ``DefaultChatTransport`` needs ``api`` and ``headers``.

All cases are played by one process (``js/ai-sdk.mjs``). In each, a page that loads afterwards gets
the ids and parts that the live page holds.
"""

import json
from typing import Any

import pytest

from tests.acceptance.host import Host
from tests.conformance.node import ready_packages, run_node

Json = dict[str, Any]
USERS = {"id", "role", "parts"}


@pytest.fixture(scope="module")
def cases(packages: None, host: Host, tmp_path_factory: Any) -> dict[str, Json]:
    task = {"url": host.url, "key": host.key, "thread": "ai-sdk"}
    task["gates"] = str(tmp_path_factory.mktemp("gates"))
    done = run_node([str(ready_packages() / "ai-sdk.mjs")], json.dumps(task))
    assert done.returncode == 0, done.stderr
    outcomes: dict[str, Json] = json.loads(done.stdout)
    for name, outcome in outcomes.items():
        assert "broke" not in outcome, (name, outcome["broke"])
    return outcomes


def texts(message: Json) -> list[str]:
    return [part["text"] for part in message["parts"] if part["type"] == "text"]


def tools(message: Json) -> list[Json]:
    return [part for part in message["parts"] if "toolCallId" in part]


def check_hydrated(outcome: Json) -> None:
    """The live page and one that loads now hold the same."""
    assert outcome["hydrated"] == outcome["messages"]


def test_text_and_a_second_turn(cases: dict[str, Json]) -> None:
    outcome = cases["text"]
    assert (outcome["status"], outcome["errors"]) == ("ready", [])
    assert [message["role"] for message in outcome["messages"]] == ["user", "assistant"] * 2
    assert [texts(message) for message in outcome["messages"]] == [
        ["hello"], ["One."], ["again"], ["One."],
    ]  # fmt: skip
    check_hydrated(outcome)
    post, _, resume = outcome["calls"]
    assert post == "POST /api/chat/scripted 200"
    assert resume.startswith("GET /api/chat/scripted/ai-sdk-")
    assert resume.endswith("/stream 204"), "nothing runs any more"


def test_all_that_the_stream_can_say(cases: dict[str, Json]) -> None:
    outcome = cases["everything"]
    assert outcome["errors"] == []
    user, message = outcome["messages"]
    assert [part["type"] for part in user["parts"]] == ["file", "text"]
    kinds = [part["type"] for part in message["parts"]]
    assert kinds == [
        "step-start", "reasoning", "text", "dynamic-tool", "dynamic-tool", "data-agui-activity",
        "data-mark",
    ]  # fmt: skip
    reasoning, text, look_up, broken, activity, mark = message["parts"][1:]
    assert (reasoning["text"], reasoning["state"]) == ("Hm.", "done")
    assert text["text"] == "I look\u2028it up."
    assert (look_up["state"], look_up["input"], look_up["output"]) == (
        "output-available", {"word": "run"}, "a run",
    )  # fmt: skip
    assert (broken["state"], broken["input"], broken["output"]) == ("output-available", "{oh", "no")
    assert activity["data"] == {"activityType": "plan", "content": {"steps": ["one"]}}
    assert mark["data"] == {"at": 7}
    state = [part["data"] for part in outcome["data"] if part["type"] == "data-agui-state"]
    assert {"snapshot": {"n": 1}} in state
    assert {"delta": [{"op": "replace", "path": "/n", "value": 2}]} in state
    assert message["metadata"]["runId"]
    check_hydrated(outcome)


def test_a_cut_connection_and_a_late_page(cases: dict[str, Json]) -> None:
    outcome = cases["cut"]
    whole = texts(outcome["messages"][1])
    assert len(whole) == 3
    assert "".join(whole).startswith(outcome["lost"])
    assert outcome["lost"] != "".join(whole), "it was not cut"
    assert [call.split()[0] + call[-4:] for call in outcome["calls"]] == ["POST 200", "GET 200"]
    assert outcome["late"] == outcome["messages"]
    check_hydrated(outcome)


def test_a_transport_that_names_no_chat(cases: dict[str, Json]) -> None:
    """``WorkflowChatTransport`` as it comes: cut, back by itself, then a second turn."""
    outcome = cases["workflow"]
    assert (outcome["status"], outcome["errors"]) == ("ready", [])
    contents = [texts(message) for message in outcome["messages"]]
    assert contents == [["hello"], ["One.", "Two and more", "Three."], ["again"], ["Five."]]
    first, back, *turns = outcome["calls"]
    address, _, count = back["address"].partition("?startIndex=")
    assert address == f"/api/chat/scripted/{first['run']}/stream"
    assert int(count) > 0, "it began again"
    assert [call["method"] for call in (first, *turns)] == ["POST"] * 3
    check_hydrated(outcome)


def test_a_page_of_that_transport_loads(cases: dict[str, Json]) -> None:
    outcome = cases["workflow_loads"]
    assert outcome["errors"] == []
    assert outcome["others"] == [outcome["messages"]] * 2
    (message,) = outcome["near"]
    assert texts(message)[-1] == "Three.", "what came after the frame that it named"
    assert "One." not in texts(message)
    check_hydrated(outcome)


def test_that_transport_waits_for_no_end_that_never_comes(cases: dict[str, Json]) -> None:
    outcome = cases["workflow_fails"]
    assert texts(outcome["messages"][1]) == ["So far."]
    check_hydrated(outcome)


def test_a_page_that_missed_the_end_loads_it(cases: dict[str, Json]) -> None:
    """204 says that nothing runs, not that the page has all of it."""
    outcome = cases["missed"]
    assert [call.split()[0] + call[-4:] for call in outcome["calls"]] == ["POST 200", "GET 204"]
    (whole,) = texts(outcome["messages"][1])
    assert whole.startswith(outcome["lost"])
    assert len(outcome["lost"]) < len(whole)
    assert whole.count("x") == 40


def test_a_cut_connection_in_a_call(cases: dict[str, Json]) -> None:
    outcome = cases["cut_in_a_tool"]
    assert outcome["lost"]["state"] == "input-streaming", "it was not cut"
    (part,) = tools(outcome["messages"][1])
    assert (part["state"], part["input"], part["output"]) == ("output-available", {}, "ok")
    check_hydrated(outcome)


def test_stop_cancels_the_run(cases: dict[str, Json]) -> None:
    outcome = cases["stop"]
    assert outcome["stop"] == 202
    assert [run["status"] for run in outcome["runs"]] == ["cancelled"]
    assert outcome["errors"] == []
    check_hydrated(outcome)


def test_an_error_is_one(cases: dict[str, Json]) -> None:
    outcome = cases["error"]
    assert outcome["status"] == "error"
    assert len(outcome["errors"]) == 1
    assert texts(outcome["messages"][1]) == ["So far."]
    check_hydrated(outcome)


def test_a_tool_of_the_client(cases: dict[str, Json]) -> None:
    outcome = cases["client_tool"]
    (message,) = outcome["messages"][1:]
    (part,) = tools(message)
    assert (part["type"], part["state"]) == ("tool-place", "output-available")
    assert part["output"] == {"at": "Basel"}
    assert texts(message) == ["Basel, then."]
    check_hydrated(outcome)


def test_a_question_and_its_answer_are_one_message(cases: dict[str, Json]) -> None:
    outcome = cases["approval"]
    check_hydrated(outcome["asked"])
    (part,) = tools(outcome["asked"]["messages"][1])
    assert (part["type"], part["state"]) == ("dynamic-tool", "approval-requested")
    (message,) = outcome["messages"][1:]
    (part,) = tools(message)
    assert part["state"] == "output-available"
    assert part["approval"]["approved"] is True
    assert part["output"]["done"] is True
    assert texts(message)[-1].startswith("Done, in the ledger")
    check_hydrated(outcome)


def test_regenerate_replaces_the_answer(cases: dict[str, Json]) -> None:
    outcome = cases["regenerate"]
    assert [message["role"] for message in outcome["messages"]] == ["user", "assistant"]
    assert texts(outcome["messages"][1]) != outcome["before"]
    check_hydrated(outcome)


def test_refusals_write_nothing(cases: dict[str, Json]) -> None:
    outcome = cases["refusals"]
    assert outcome["agent"]["calls"] == ["POST /api/chat/nobody 404"]
    assert outcome["key"]["calls"] == ["POST /api/chat/scripted 401"]
    assert outcome["agent"]["runs"] == outcome["key"]["runs"] == []
    assert outcome["agent"]["errors"]
    assert outcome["nothing"]["calls"][0].endswith("/stream 204")
    assert outcome["nothing"]["hydrated"] == []


def test_the_stream_alone(cases: dict[str, Json]) -> None:
    outcome = cases["bare"]
    assert texts(outcome["message"])
    assert outcome["hydrated"][1] == outcome["message"]
    states = {part["type"]: part["state"] for part in tools(outcome["message"])}
    assert states == {"dynamic-tool": "output-available"}
