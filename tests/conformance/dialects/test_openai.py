"""OpenAI's own JavaScript client against ``/v1``.

A stream that is cut resumes behind the last number, and adds up to what is stored.
"""

import json
from typing import Any

import pytest

from tests.acceptance.host import Host
from tests.conformance.node import ready_packages, run_node

Json = dict[str, Any]


@pytest.fixture(scope="module")
def cases(packages: None, host: Host) -> dict[str, Json]:
    task = {"url": host.url, "key": host.key}
    done = run_node([str(ready_packages() / "openai.mjs")], json.dumps(task))
    assert done.returncode == 0, done.stderr
    outcomes: dict[str, Json] = json.loads(done.stdout)
    for name, outcome in outcomes.items():
        assert "broke" not in outcome, (name, outcome["broke"])
    return outcomes


def stored(response: Json) -> Json:
    """A response without what the client adds."""
    return {name: value for name, value in response.items() if not name.startswith("output_")}


def text(events: list[Json]) -> str:
    return "".join(e["delta"] for e in events if e["type"] == "response.output_text.delta")


def spoken(response: Json) -> list[str]:
    """The texts of a response's messages."""
    messages = [item for item in response["output"] if item["type"] == "message"]
    return [message["content"][0]["text"] for message in messages]


def numbers(events: list[Json]) -> list[int]:
    return [event["sequence_number"] for event in events]


def test_models_are_the_agents(cases: dict[str, Json]) -> None:
    outcome = cases["models"]
    assert {"docs", "slow", "approval", "table", "scripted"} <= set(outcome["slugs"])
    assert (outcome["one"]["id"], outcome["one"]["object"]) == ("docs", "model")


def test_a_response_and_its_stream_say_the_same(cases: dict[str, Json]) -> None:
    outcome = cases["whole"]
    made = outcome["made"]
    assert (made["status"], made["model"]) == ("completed", "scripted")
    assert (made["instructions"], made["metadata"]) == ("Be brief.", {"a": "b"})
    reasoning, message, call = made["output"]
    assert reasoning["summary"] == [{"type": "summary_text", "text": "Hm."}]
    assert message["content"][0]["text"] == made["output_text"] == "I look it up."
    assert call["type"] == "mcp_call", "no client takes it for a call that it has to run"
    assert (call["name"], call["output"]) == ("look_up", "a run")
    assert stored(outcome["again"]) == stored(made)
    events = outcome["events"]
    assert events[0]["type"] == "response.created"
    assert events[-1]["type"] == "response.completed"
    assert events[-1]["response"] == stored(made)
    done = [each["item"] for each in events if each["type"] == "response.output_item.done"]
    assert done == made["output"]
    (item,) = outcome["items"]
    assert item["content"] == [{"type": "input_text", "text": "hello"}]


def test_a_cut_stream_resumes_behind_its_last_number(cases: dict[str, Json]) -> None:
    outcome = cases["cut"]
    frames = [*outcome["first"], *outcome["rest"]]
    assert numbers(frames) == numbers(outcome["whole"])
    assert outcome["second"] == outcome["whole"]
    assert numbers(frames) == sorted(set(numbers(frames)))
    assert text(frames) == text(outcome["whole"]) == "".join(spoken(outcome["final"]))
    assert 0 < len(text(outcome["first"])) < len(text(frames)), "it was not cut"


def test_a_stream_that_is_cut_in_a_call(cases: dict[str, Json]) -> None:
    outcome = cases["cut_in_a_tool"]
    kinds = [event["type"] for event in outcome["first"]]
    assert kinds[-1] == "response.mcp_call_arguments.delta", "it was not cut"
    frames = [*outcome["first"], *outcome["rest"]]
    assert numbers(frames) == sorted(set(numbers(frames)))
    pieces = [each["delta"] for each in frames if each["type"] == kinds[-1]]
    (call,) = outcome["final"]["output"]
    assert "".join(pieces) == call["arguments"] == " " * 20 + "{}"
    assert call["output"] == "ok"


def test_the_helper_adds_up_what_is_stored(cases: dict[str, Json]) -> None:
    final, stored_response = cases["helper"]["final"], cases["helper"]["stored"]
    for item in final["output"]:
        for part in item.get("content") or ():
            part.pop("parsed", None)
    assert final["output"] == stored_response["output"]
    assert final["output_text"] == "I look it up."


def test_background_and_cancel(cases: dict[str, Json]) -> None:
    outcome = cases["background"]
    assert outcome["queued"]["status"] in ("queued", "in_progress")
    assert outcome["cancelled"]["status"] == outcome["again"]["status"] == "cancelled"


def test_a_tool_of_the_client(cases: dict[str, Json]) -> None:
    first, second = cases["client_tool"]["first"], cases["client_tool"]["second"]
    (call,) = first["output"]
    assert (call["type"], call["call_id"], call["arguments"]) == (
        "function_call", "c1", '{"of":"me"}',
    )  # fmt: skip
    assert second["previous_response_id"] == first["id"]
    assert spoken(second) == ["Basel, then."]


def test_a_question_and_its_answer(cases: dict[str, Json]) -> None:
    outcome = cases["approval"]
    (request,) = [
        item for item in outcome["asked"]["output"] if item["type"] == "mcp_approval_request"
    ]
    assert json.loads(request["arguments"]) == {"action": "delete", "target": "report.txt"}
    assert spoken(outcome["done"])[0].startswith("Done, in the ledger")


def test_a_conversation_is_a_thread_that_other_dialects_read(cases: dict[str, Json]) -> None:
    outcome = cases["conversation"]
    assert outcome["known"]["id"] == outcome["first"]["conversation"]["id"] == outcome["id"]
    (item,) = outcome["items"]
    assert [part["type"] for part in item["content"]] == ["input_text", "input_image"]
    parts = [part for message in outcome["chat"] for part in message["parts"]]
    assert [part["text"] for part in parts if part["type"] == "text"] == [
        "what is this?", "A dot.", "sure?", "Yes.",
    ]  # fmt: skip
    assert outcome["deleted"]["deleted"] is True
    assert outcome["gone"]["status"] == 404


def test_an_error_of_the_agent(cases: dict[str, Json]) -> None:
    outcome = cases["error"]
    assert outcome["refused"]["status"] == 500
    assert outcome["last"]["type"] == "response.failed"
    made = outcome["last"]["response"]
    assert (made["status"], made["error"]["code"]) == ("failed", "server_error")
    assert spoken(made) == ["So far."]


def test_chat_completions(cases: dict[str, Json]) -> None:
    outcome = cases["chat"]
    message = outcome["made"]["choices"][0]["message"]
    assert (message["role"], message["content"]) == ("assistant", "I look it up.")
    deltas = [chunk["choices"][0]["delta"] for chunk in outcome["chunks"] if chunk["choices"]]
    assert "".join(delta.get("content") or "" for delta in deltas) == message["content"]
    assert not [delta for delta in deltas if "tool_calls" in delta], "the agent runs its own tools"
    assert outcome["chunks"][-1]["choices"] == []
    choice = outcome["calls"]["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    (call,) = choice["message"]["tool_calls"]
    assert call["function"] == {"name": "place", "arguments": '{"of":"me"}'}
    streamed = outcome["streamed"]["choices"][0]["message"]["tool_calls"][0]
    assert streamed["function"]["arguments"] == '{"of":"me"}'
    assert outcome["after"]["choices"][0]["message"]["content"] == "Basel, then."
    assert outcome["broken"]["status"] == 500
    assert "stopped with an error" in outcome["midway"]["message"]


def test_refusals(cases: dict[str, Json]) -> None:
    outcome = cases["refusals"]
    for name, (status, kind) in {
        "model": (404, "not_found_error"),
        "chat": (404, "not_found_error"),
        "response": (404, "not_found_error"),
        "previous": (404, "not_found_error"),
        "nonsense": (404, "not_found_error"),
        "address": (404, "not_found_error"),
        "key": (401, "authentication_error"),
        "body": (422, "invalid_request_error"),
    }.items():
        refusal = outcome[name]
        assert (refusal["status"], refusal["type"]) == (status, kind), name
        assert refusal["error"]["message"]
