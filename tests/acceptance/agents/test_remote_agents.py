"""Somebody else's AG-UI server in a process of its own, hosted by a real host."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.host import Host, wait_for
from tests.acceptance.neighbour import Neighbour
from tests.needs import need_module

need_module("ag_ui_langgraph")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture
def neighbour(tmp_path: Path) -> Iterator[Neighbour]:
    peer = Neighbour("tests.acceptance.agents.langgraph_peer:app", tmp_path)
    yield peer
    peer.stop()


def user(words: str) -> dict[str, Any]:
    return {"messages": [{"id": words, "role": "user", "content": words}]}


def test_text_tool_call_an_answer_after_a_restart_and_a_cancel(
    neighbour: Neighbour, new_host: Callable[..., Host]
) -> None:
    host = new_host(AGUI_OUTBOUND_ALLOW="127.0.0.1")
    with host.client() as client:
        made = client.post("/api/v1/agents", json={"slug": "booking", "url": neighbour.url})
    assert made.status_code == 201, made.text

    waiting_run = host.begin("booking", threadId="dinner", **user("book a table"))
    assert host.wait_status(waiting_run["id"], "interrupted", "failed")["status"] == "interrupted"
    log = [entry["event"] for entry in host.events(waiting_run["id"])]
    assert "".join(e["delta"] for e in log if e["type"] == "TEXT_MESSAGE_CONTENT") == "One moment. "
    arguments = [e["delta"] for e in log if e["type"] == "TOOL_CALL_ARGS"]
    assert "".join(arguments) == '{"seats": 4}'
    (asked_for,) = log[-1]["outcome"]["interrupts"]
    assert asked_for["message"] == "Book 4 seats?"

    host.restart(host.worker)
    host.restart(host.web)
    with host.client() as client:
        (question,) = client.get("/api/v1/interrupts?status=open").json()["results"]
        answer = {"status": "resolved", "payload": {"approved": True}}
        client.post(f"/api/v1/interrupts/{question['id']}/answer", json=answer)
        (newest, *_) = client.get("/api/v1/runs").json()["results"]
    assert newest["id"] != waiting_run["id"]
    assert host.wait_status(newest["id"], "succeeded", "failed")["status"] == "succeeded"
    log = [entry["event"] for entry in host.events(newest["id"])]
    words = "".join(e["delta"] for e in log if e["type"] == "TEXT_MESSAGE_CONTENT")
    assert words == "The table is booked."
    assert neighbour.logged("answered {'approved': True}")

    talk = host.begin("booking", threadId="chat", **user("talk"))
    wait_for(lambda: neighbour.logged("peer: talking"), "the peer to talk")
    wait_for(lambda: host.run(talk["id"])["events"] > 5, "its words")
    cancelled = f"run {talk['run_id']} cancelled"
    assert not neighbour.logged(cancelled)
    with host.client() as client:
        client.post(f"/api/v1/runs/{talk['id']}/cancel")
    assert host.wait_status(talk["id"], "cancelled", "failed")["status"] == "cancelled"
    wait_for(lambda: neighbour.logged(cancelled), "the peer to hear of it")
