"""A2A's own JavaScript client against ``/a2a``: the card leads it to JSON-RPC, its default.

All cases are played by one process (``js/a2a.mjs``). The host may call the receiver of pushes.
"""

import json
from typing import Any

import pytest

from tests.acceptance.host import Host
from tests.conformance.node import ready_packages, run_node

Json = dict[str, Any]


@pytest.fixture(scope="module")
def cases(packages: None, desk: Host, tmp_path_factory: Any) -> dict[str, Json]:
    host, gates = desk, str(tmp_path_factory.mktemp("gates"))
    task = {"url": host.url, "key": host.key, "gates": gates}
    done = run_node([str(ready_packages() / "a2a.mjs")], json.dumps(task))
    assert done.returncode == 0, done.stderr
    outcomes: dict[str, Json] = json.loads(done.stdout)
    for name, outcome in outcomes.items():
        assert "broke" not in outcome, (name, outcome["broke"])
    return outcomes


def test_the_cards(cases: dict[str, Json]) -> None:
    agent, team = cases["card"]["names"]
    assert agent == {"name": "Docs", "skills": ["docs"]}
    assert {"docs", "approval", "scripted"} <= set(team["skills"])
    assert "401" in cases["card"]["refused"]["message"]


def test_every_address_of_an_agent(cases: dict[str, Json]) -> None:
    outcome = cases["addresses"]
    name = outcome["slash"][0]
    assert name != cases["card"]["names"][1]["name"], "the agent's card, not the team's"
    ways = ("slash", "no path", "card", "host")
    assert outcome == {way: [name, "Hi."] for way in ways}


def test_whole_answers_and_a_second_turn(cases: dict[str, Json]) -> None:
    outcome = cases["send"]
    completed = "TASK_STATE_COMPLETED"
    assert outcome["first"] == {"state": completed, "text": "Hi.", "history": ["hello"]}
    assert outcome["second"] == {"state": completed, "text": "Hi again.", "same": True}
    assert outcome["listed"] == {"texts": ["Hi again.", "Hi."], "totalSize": 2}
    failed = outcome["failed"]
    assert (failed["state"], failed["text"]) == ("TASK_STATE_FAILED", "So far.")
    assert failed["message"]


def test_a_stream_adds_up_to_the_task(cases: dict[str, Json]) -> None:
    outcome = cases["stream"]
    assert outcome["text"] == outcome["whole"]
    assert outcome["text"].startswith("One\u2028two\x85three \U0001f600.")
    assert outcome["states"] == ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]
    assert outcome["late"]["name"] == "UnsupportedOperationError"


def test_two_readers_subscribe_again(cases: dict[str, Json]) -> None:
    outcome = cases["resubscribe"]
    assert outcome["begun"] == "So far."
    assert [*outcome["texts"], outcome["whole"]] == ["So far. And the rest."] * 3


def test_cancel(cases: dict[str, Json]) -> None:
    outcome = cases["cancel"]
    assert (outcome["cancelled"], outcome["text"]) == ("TASK_STATE_CANCELED", "So far.")
    assert outcome["states"][-1] == "TASK_STATE_CANCELED"
    assert outcome["again"]["name"] == "TaskNotCancelableError"


def test_a_question_and_its_answer_are_one_task(cases: dict[str, Json]) -> None:
    outcome = cases["question"]
    assert outcome["asked"]["states"][-1] == "TASK_STATE_INPUT_REQUIRED"
    text, question = outcome["asked"]["question"]
    assert text == "Approve: delete report.txt"
    assert "approved" in question["responseSchema"]["properties"]
    assert outcome["wrong"]["name"] == "RequestMalformedError"
    assert outcome["done"]["states"][-1] == "TASK_STATE_COMPLETED"
    assert outcome["done"]["same"]
    assert outcome["done"]["text"] == outcome["whole"]
    assert "Done, in the ledger" in outcome["whole"]


def test_push_notifications(cases: dict[str, Json]) -> None:
    outcome = cases["push"]
    assert outcome["known"]
    assert outcome["ids"] == ["mine", "second"]
    assert outcome["last"] == {"token": "secret", "login": "Bearer theirs", "text": "So far."}
    assert outcome["second"]
    assert outcome["ours"]
    assert outcome["refused"]["name"] == "RequestMalformedError"


@pytest.mark.parametrize("method", ["get", "cancel", "subscribe", "send"])
def test_an_unknown_task(cases: dict[str, Json], method: str) -> None:
    assert cases["refusals"][method]["name"] == "TaskNotFoundError"
