"""The approval agent in a real host: it asks, and acts once on one answer, whoever restarts."""

from typing import Any

import pytest

from tests.acceptance.host import Host

ASKED = "delete report.txt"
DONE = ("succeeded", "failed", "cancelled", "interrupted")


def proposed(host: Host) -> tuple[str, dict[str, Any]]:
    """A thread that waits for an answer, and the question."""
    run = host.begin("approval", messages=[{"id": "m", "role": "user", "content": ASKED}])
    assert host.wait_status(run["id"], *DONE)["status"] == "interrupted"
    with host.client() as client:
        answer = client.get("/api/v1/interrupts", params={"run": run["id"], "status": "open"})
    (question,) = answer.json()["results"]
    return run["thread_id"], question


def answer(host: Host, thread: str, question: dict[str, Any], **decision: Any) -> dict[str, Any]:
    """Resume as a client does; the ended run."""
    entry = {"interruptId": question["interrupt_id"], "status": "resolved", **decision}
    run = host.begin("approval", threadId=thread, resume=[entry])
    return host.wait_status(run["id"], *DONE)


def ledger(host: Host, run: dict[str, Any]) -> list[tuple[str, str]]:
    """What the agent did in this run."""
    events = [item["event"] for item in host.events(run["id"])]
    changes = [change for event in events for change in event.get("delta", [])
               if event["type"] == "STATE_DELTA"]  # fmt: skip
    added = [change["value"] for change in changes if change["path"].startswith("/ledger")]
    return [(entry["action"], entry["target"]) for entry in added]


@pytest.mark.parametrize(
    ("decision", "acted"),
    [
        ({"payload": {"approved": True}}, [("delete", "report.txt")]),
        ({"payload": {"approved": False}}, []),
        ({"payload": {"approved": True, "edited": "archive it"}}, [("archive", "it")]),
        ({"status": "cancelled"}, []),
    ],
    ids=["approve", "reject", "edited", "cancelled"],
)
def test_each_answer(host: Host, decision: dict[str, Any], acted: list[Any]) -> None:
    thread, question = proposed(host)
    run = answer(host, thread, question, **decision)
    assert run["status"] == "succeeded"
    assert ledger(host, run) == acted
    types = [item["event"]["type"] for item in host.events(run["id"])]
    assert types.count("TOOL_CALL_RESULT") == 1
    assert "TOOL_CALL_START" not in types


def test_it_acts_once_on_an_answer_that_comes_twice(host: Host) -> None:
    thread, question = proposed(host)
    approve = {"payload": {"approved": True}}
    first = answer(host, thread, question, **approve)
    assert answer(host, thread, question, **approve)["id"] == first["id"]
    entry = {"interruptId": question["interrupt_id"], "status": "cancelled"}
    body = {"agent": "approval", "input": {"threadId": thread, "resume": [entry]}}
    with host.client() as client:
        refused = client.post("/api/v1/runs", json=body)
        runs = client.get("/api/v1/runs", params={"thread_id": thread}).json()["results"]
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "interrupt_answered")
    assert len(runs) == 2


def test_a_message_is_no_answer(host: Host) -> None:
    thread, question = proposed(host)
    run = host.begin("approval", threadId=thread, messages=[{"role": "user", "content": "yes"}])
    assert host.wait_status(run["id"], *DONE)["status"] == "interrupted"
    ending = host.events(run["id"])[-1]["event"]
    (again,) = ending["outcome"]["interrupts"]
    assert again["id"] == question["interrupt_id"]
    assert ledger(host, run) == []
    done = answer(host, thread, question, payload={"approved": True})
    assert ledger(host, done) == [("delete", "report.txt")]


def test_from_the_inbox_after_a_restart(tough_host: Host) -> None:
    host = tough_host
    _, question = proposed(host)
    host.restart(host.worker)
    with host.client() as client:
        url = f"/api/v1/interrupts/{question['id']}/answer"
        body = {"status": "resolved", "payload": {"approved": True}}
        answered = client.post(url, json=body).json()
        assert client.post(url, json=body).json()["run"]["id"] == answered["run"]["id"]
    run = host.wait_status(answered["run"]["id"], *DONE)
    assert run["status"] == "succeeded"
    assert ledger(host, run) == [("delete", "report.txt")]
