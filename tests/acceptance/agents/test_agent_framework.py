"""docs/examples/agent-framework: a peer whose packages cannot live beside the host's.

It is the real SDK of AG-UI 0.x at the other end of the wire, in an environment of its own.
"""

import subprocess
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.host import ROOT, Host
from tests.acceptance.neighbour import Neighbour
from tests.needs import missing
from tests.suite import locked

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
EXAMPLE = ROOT / "docs" / "examples" / "agent-framework"
PLACE = ROOT / ".venv" / "peers" / "agent-framework"


def ready_environment() -> Path:
    """The Python of the peer, with what its lock file pins; made once."""
    lock, stamp, python = EXAMPLE / "requirements.lock", PLACE / ".stamp", PLACE / "bin" / "python"
    if not locked.is_installed(stamp, lock):
        venv.create(PLACE, clear=True, with_pip=True)
        done = subprocess.run(
            [python, "-m", "pip", "install", "-q", "--no-input", "--no-compile",
             "--require-hashes", "-r", lock],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        if done.returncode:
            missing(f"needs the packages of {lock.name}: {done.stderr.strip()[-400:]}")
        locked.note(stamp, lock)
    return python


@pytest.fixture
def neighbour(tmp_path: Path) -> Iterator[Neighbour]:
    peer = Neighbour("app:app", tmp_path, python=str(ready_environment()), cwd=EXAMPLE)
    yield peer
    peer.stop()


def user(words: str) -> dict[str, Any]:
    return {"messages": [{"id": words, "role": "user", "content": words}]}


def text_of(host: Host, run_id: str) -> str:
    log = [entry["event"] for entry in host.events(run_id)]
    return "".join(each["delta"] for each in log if each["type"] == "TEXT_MESSAGE_CONTENT")


def test_text_and_a_tool_that_waits_for_an_answer(
    neighbour: Neighbour, new_host: Callable[..., Host]
) -> None:
    host = new_host(AGUI_OUTBOUND_ALLOW="127.0.0.1")
    with host.client() as client:
        made = client.post("/api/v1/agents", json={"slug": "booking", "url": neighbour.url})
        assert made.status_code == 201, made.text

        for words in ("hello", "again"):
            run = host.begin("booking", threadId="talk", **user(words))
            assert host.wait_status(run["id"], "succeeded", "failed")["status"] == "succeeded"
            assert text_of(host, run["id"]) == f"You said {words}."

        waiting_run = host.begin("booking", threadId="dinner", **user("book a table"))
        assert (
            host.wait_status(waiting_run["id"], "interrupted", "failed")["status"] == "interrupted"
        )
        assert text_of(host, waiting_run["id"]) == "One moment. "
        (question,) = client.get("/api/v1/interrupts?status=open").json()["results"]
        assert question["message"] == "Approve running book?"
        answer = {"status": "resolved", "payload": {"approved": True}}
        client.post(f"/api/v1/interrupts/{question['id']}/answer", json=answer)
        (newest, *_) = client.get("/api/v1/runs").json()["results"]
    assert host.wait_status(newest["id"], "succeeded", "failed")["status"] == "succeeded"
    log = [entry["event"] for entry in host.events(newest["id"])]
    (result,) = [each["content"] for each in log if each["type"] == "TOOL_CALL_RESULT"]
    assert result == "booked for 4"
    assert text_of(host, newest["id"]) == "It is booked for 4."
