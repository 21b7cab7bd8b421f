"""TanStack's own WebSocket connection drives the host: turns, a join, an abort."""

import json

from tests.acceptance.host import Host
from tests.conformance.node import ready_packages, run_node


def test_turns_join_and_abort(host: Host) -> None:
    script = str(ready_packages() / "tanstack-socket.mjs")
    url = host.url.replace("http", "ws") + "/agui/agent/scripted/ws"
    done = run_node(["--experimental-websocket", script, url, host.key])
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["sockets"] == 2, "one for the conversation, one for the join"
    chunks = report["whole"]["chunks"]
    deltas = [chunk["delta"] for chunk in chunks if chunk["type"] == "TEXT_MESSAGE_CONTENT"]
    assert [int(delta.split()[1]) for delta in deltas] == list(range(50))
    assert chunks[-1]["type"] == "RUN_FINISHED"
    assert report["joined"] == chunks
    with host.client() as client:
        rows = {run["run_id"]: run for run in client.get("/api/v1/runs").json()["results"]}
    stored = [event["event"] for event in host.events(rows[report["whole"]["runId"]]["id"])]
    assert stored == chunks
    assert rows[report["stopped"]["runId"]]["status"] == "cancelled"
    assert len(report["stopped"]["chunks"]) < 1_000
