"""Somebody else's AG-UI server in a process of its own, hosted by a real host."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.host import ROOT, Host, free_port, wait_for

pytest.importorskip("ag_ui_langgraph")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


class Neighbour:
    """The peer's process and its log."""

    def __init__(self, folder: Path) -> None:
        self.port, self.log = free_port(), folder / "peer.log"
        command = [
            sys.executable, "-m", "granian", "--interface", "asgi", "--host", "127.0.0.1",
            "--port", str(self.port), "tests.acceptance.langgraph_peer:app",
        ]  # fmt: skip
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
        wait_for(self.is_up, "the peer")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/agent"

    def is_up(self) -> bool:
        try:
            return httpx.get(f"{self.url}/health", timeout=2).status_code == 200
        except httpx.HTTPError:
            return False

    def said(self, words: str) -> bool:
        return words in self.log.read_text()


@pytest.fixture
def neighbour(tmp_path: Path) -> Iterator[Neighbour]:
    found = Neighbour(tmp_path)
    yield found
    found.process.terminate()
    found.process.wait(20)


def user(words: str) -> dict[str, Any]:
    return {"messages": [{"id": words, "role": "user", "content": words}]}


def test_text_tool_call_an_answer_after_a_restart_and_a_cancel(
    neighbour: Neighbour, new_host: Callable[..., Host]
) -> None:
    host = new_host(AGUI_OUTBOUND_ALLOW="127.0.0.1")
    with host.client() as client:
        made = client.post("/api/v1/agents", json={"slug": "booking", "url": neighbour.url})
    assert made.status_code == 201, made.text

    asked = host.begin("booking", threadId="dinner", **user("book a table"))
    assert host.wait_status(asked["id"], "interrupted", "failed")["status"] == "interrupted"
    log = [entry["event"] for entry in host.events(asked["id"])]
    assert "".join(e["delta"] for e in log if e["type"] == "TEXT_MESSAGE_CONTENT") == "One moment. "
    arguments = [e["delta"] for e in log if e["type"] == "TOOL_CALL_ARGS"]
    assert "".join(arguments) == '{"seats": 4}'
    assert len(log[-1]["outcome"]["interrupts"]) == 1

    host.restart(host.worker)
    host.restart(host.web)
    with host.client() as client:
        (question,) = client.get("/api/v1/interrupts?status=open").json()["results"]
        answer = {"status": "resolved", "payload": {"approved": True}}
        client.post(f"/api/v1/interrupts/{question['id']}/answer", json=answer)
        (newest, *_) = client.get("/api/v1/runs").json()["results"]
    assert newest["id"] != asked["id"]
    assert host.wait_status(newest["id"], "succeeded", "failed")["status"] == "succeeded"
    log = [entry["event"] for entry in host.events(newest["id"])]
    said = "".join(e["delta"] for e in log if e["type"] == "TEXT_MESSAGE_CONTENT")
    assert said == "The table is booked."
    assert neighbour.said("answered {'approved': True}")

    talk = host.begin("booking", threadId="chat", **user("talk"))
    wait_for(lambda: neighbour.said("peer: talking"), "the peer to talk")
    wait_for(lambda: host.run(talk["id"])["events"] > 5, "its words")
    cancelled = f"run {talk['run_id']} cancelled"
    assert not neighbour.said(cancelled)
    with host.client() as client:
        client.post(f"/api/v1/runs/{talk['id']}/cancel")
    assert host.wait_status(talk["id"], "cancelled", "failed")["status"] == "cancelled"
    wait_for(lambda: neighbour.said(cancelled), "the peer to hear of it")
