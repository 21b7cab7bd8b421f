"""CopilotKit's own client, by ``runtimeUrl`` alone: each visit makes a core of its own.

A reload loses all that a page holds, so one conversation is visited by a new process each time. The
other tests share a process: a core is told nothing by those before it.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests.acceptance.host import Host, wait_for
from tests.conformance.node import Answers, answering, ready_packages, run_node

Wire = dict[str, Any]
Visit = Callable[..., Wire]
"""``visit(thread, *steps)``: what the front end holds after these steps."""
FRONT_END = "copilot.mjs"
SNAPSHOTS = ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"]
SLOWLY = {"text": "word ", "n": 250, "rate": 50}


@pytest.fixture(scope="module")
def front_ends(packages: None) -> Iterator[Answers]:
    with answering(FRONT_END) as front_ends:
        yield front_ends


@pytest.fixture
def visit(front_ends: Answers, host: Host) -> Visit:
    return visits(front_ends, host)


def visits(front_ends: Answers, host: Host) -> Visit:
    """Visits by this process; they had nothing to complain about."""

    def visit(thread: str, *steps: Wire, agent: str = "scripted", **more: Any) -> Wire:
        scenario = {
            "runtimeUrl": f"{host.url}/agui", "headers": host.headers,
            "agent": agent, "threadId": thread, "steps": steps, **more,
        }  # fmt: skip
        report = front_ends(scenario)
        assert report["errors"] == []
        assert report["console"] == []
        return report

    return visit


def say(*script: Wire, text: str = "go", **more: Any) -> Wire:
    message = {"id": str(uuid4()), "content": text}
    return {"say": message, "forwardedProps": {"script": list(script)}, **more}


CONNECT = {"connect": True}


@pytest.fixture
def thread() -> str:
    return str(uuid4())


def test_it_discovers_the_agents(visit: Visit, host: Host, thread: str) -> None:
    report = visit(thread, agent="default")
    with host.client() as client:
        agents = client.get("/agui/info").json()["agents"]
    assert {"docs", "scripted", "default"} <= set(agents) == set(report["agents"])
    assert all(
        agent["capabilities"] == agents[slug]["capabilities"]
        for slug, agent in report["agents"].items()
    )
    assert report["endpoints"]["list"]


def test_a_reload_finds_the_same_conversation(packages: None, host: Host, thread: str) -> None:
    def visit(*args: Any) -> Wire:
        with answering(FRONT_END) as reloaded:
            return visits(reloaded, host)(*args)

    first = visit(
        thread,
        say({"text": "one"}, {"state": {"n": 1}}), say({"text": "two"}, text="more"),
    )  # fmt: skip
    assert [message["role"] for message in first["messages"]] == ["user", "assistant"] * 2
    again = visit(thread, CONNECT)
    assert again["steps"][0]["types"] == [*SNAPSHOTS, "RUN_FINISHED"]
    assert again["messages"] == first["messages"]
    assert again["state"] == first["state"] == {"n": 1}
    third = visit(thread, CONNECT, say({"text": "three"}))
    assert third["messages"][:4] == first["messages"]
    assert visit(thread, CONNECT)["messages"] == third["messages"]


def test_an_answer_is_told_anew(visit: Visit, thread: str) -> None:
    visit(thread, say({"text": "one"}), say({"text": "worse"}))
    visit(thread, CONNECT, {**say({"text": "better"}), "say": None, "keep": 3})
    again = visit(thread, CONNECT)
    answers = [message["content"] for message in again["messages"]][1::2]
    assert answers == ["one", "better"]


def test_an_old_tab_takes_nobodys_turn_away(visit: Visit, thread: str) -> None:
    visit(thread, say({"text": "one"}), say({"text": "two"}))
    visit(thread, CONNECT, say({"text": "three"}, keep=2))
    again = visit(thread, CONNECT)
    assert [message["content"] for message in again["messages"]][1::2] == ["one", "two", "three"]


def test_a_new_thread_is_empty(visit: Visit, thread: str) -> None:
    report = visit(thread, CONNECT)
    assert (report["messages"], report["steps"][0]["types"]) == ([], [])


def test_it_joins_a_live_run(visit: Visit, host: Host, thread: str) -> None:
    run = host.begin(script=[SLOWLY], threadId=thread)["id"]
    wait_for(lambda: host.run(run)["events"] > 10, "some words")
    report = visit(thread, CONNECT)
    assert report["steps"][0]["types"][:4] == [*SNAPSHOTS, "TEXT_MESSAGE_START"]
    assert "TEXT_MESSAGE_CONTENT" in report["steps"][0]["types"], "it was still live"
    whole = [e["event"]["delta"] for e in host.events(run) if "delta" in e["event"]]
    assert report["messages"][-1]["content"] == "".join(whole)


def test_it_stops_a_run(visit: Visit, host: Host, thread: str) -> None:
    report = visit(thread, say(SLOWLY, stopAfter=5))
    assert report["steps"][0]["types"][-2:] == ["TEXT_MESSAGE_END", "RUN_ERROR"]
    with host.client() as client:
        (run,) = client.get("/api/v1/runs", params={"thread_id": thread}).json()["results"]
    assert run["status"] == "cancelled"
    assert 5 < run["events"] < 100, "soon, not at its end"
    again = visit(thread, CONNECT)
    assert again["messages"] == report["messages"]
    assert again["steps"][0]["types"] == [*SNAPSHOTS, "RUN_ERROR"]


def test_it_runs_a_tool_of_the_application(visit: Visit, thread: str) -> None:
    call = {"toolCallId": str(uuid4())}
    report = visit(
        thread,
        say(
            {"emit": {"type": "TOOL_CALL_START", **call, "toolCallName": "pick"}},
            {"emit": {"type": "TOOL_CALL_ARGS", **call, "delta": '{"at": 7}'}},
            {"emit": {"type": "TOOL_CALL_END", **call}},
        ),
        tool="pick",
    )  # fmt: skip
    assert report["steps"][0]["types"][-1] == "RUN_FINISHED"
    assert json.loads(report["messages"][-1]["content"]) == {"picked": {"at": 7}}


def test_a_question_survives_a_reload(visit: Visit, thread: str) -> None:
    first_visit = visit(thread, say({"interrupt": {"reason": "confirm", "message": "Sure?"}}))
    again = visit(thread, CONNECT)
    assert again["pendingInterrupts"] == first_visit["pendingInterrupts"]
    (question,) = again["pendingInterrupts"]
    answer = [{"interruptId": question["id"], "status": "resolved"}]
    after = visit(thread, CONNECT, {**say({"text": "done"}), "say": None, "resume": answer})
    assert after["pendingInterrupts"] == []
    assert visit(thread, CONNECT)["pendingInterrupts"] == []


def test_a_question_of_an_older_adapter_survives_a_reload(visit: Visit, thread: str) -> None:
    asking = {"type": "CUSTOM", "name": "on_interrupt", "value": '"Sure?"'}
    visit(thread, say({"emit": asking}))
    types = visit(thread, CONNECT)["steps"][0]["types"]
    assert types == [*SNAPSHOTS, "CUSTOM", "RUN_FINISHED"]
    answer = {"script": [{"text": "done"}], "command": {"resume": "yes"}}
    visit(thread, CONNECT, {"forwardedProps": answer})
    assert "CUSTOM" not in visit(thread, CONNECT)["steps"][0]["types"]


def test_the_list_of_threads(visit: Visit, host: Host) -> None:
    names = [str(uuid4()) for _ in range(3)]
    for name in names:
        host.wait_status(host.begin(script=[], threadId=name)["id"], "succeeded")
    report = visit(names[0], {"threads": True})
    assert report["steps"][0]["ids"][:3] == names[::-1]


@pytest.fixture(scope="module")
def cases(packages: None, host: Host) -> dict[str, Wire]:
    """What one process makes of ``js/copilot-cases.mjs``."""
    task = {"runtimeUrl": f"{host.url}/agui", "headers": host.headers, "thread": "copilot"}
    done = run_node([str(ready_packages() / "copilot-cases.mjs")], json.dumps(task))
    assert done.returncode == 0, done.stderr
    outcomes: dict[str, Wire] = json.loads(done.stdout)
    for name, outcome in outcomes.items():
        assert "broke" not in outcome, (name, outcome["broke"])
        assert outcome["late"] == outcome["live"], name
    return outcomes


def test_thoughts_and_a_tool_of_the_agent(cases: dict[str, Wire]) -> None:
    outcome = cases["tools"]
    assert outcome["errors"] == []
    _, thought, call, result, answer = outcome["live"]
    assert (thought["role"], thought["content"]) == ("reasoning", "Hm.")
    assert call["toolCalls"][0]["function"]["name"] == "look"
    assert (result["role"], result["content"], answer["content"]) == ("tool", "ok", "There.")


def test_an_error_is_one(cases: dict[str, Wire]) -> None:
    outcome = cases["error"]
    assert outcome["errors"]
    assert outcome["live"][-1]["content"] == "So far."


def test_a_lost_connection_in_a_text(cases: dict[str, Wire]) -> None:
    outcome = cases["cut"]
    assert outcome["errors"], "it was not cut"
    whole = outcome["live"][-1]["content"]
    half = outcome["lost"][-1]["content"]
    assert whole.startswith(half)
    assert len(half) < len(whole)
    assert whole.count("x") == 40


def test_a_lost_connection_in_a_call(cases: dict[str, Wire]) -> None:
    outcome = cases["cut_in_a_tool"]
    assert outcome["errors"], "it was not cut"
    call, result = outcome["live"][-2:]
    assert call["toolCalls"][0]["function"]["arguments"] == " " * 20 + "{}"
    assert result["content"] == "ok"


@pytest.mark.slow
def test_after_a_restart_of_web_and_worker(
    front_ends: Answers, tough_host: Host, thread: str
) -> None:
    host = tough_host
    visit = visits(front_ends, host)
    before = visit(thread, say({"text": "kept"}, {"state": {"n": 1}}), say({"text": "too"}))
    host.restart(host.web)
    host.restart(host.worker)
    after = visit(thread, CONNECT)
    assert (after["messages"], after["state"]) == (before["messages"], before["state"])
    assert [message["content"] for message in after["messages"]][1::2] == ["kept", "too"]
    assert visit(thread, CONNECT, say({"text": "on"}))["messages"][:-2] == after["messages"]
