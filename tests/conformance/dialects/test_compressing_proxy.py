"""Streams behind a proxy that compresses: Express with npm's ``compression`` before the host."""

import json
import subprocess
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.acceptance.host import Host
from tests.conformance.node import JS, ready_packages
from tests.conformance.scenarios.parts import more, text
from tests.needs import need

Json = dict[str, Any]
FIRST, LAST = "the first words", "the last words"
MCP = "2025-06-18"


def hello(host: Host, script: list[Any]) -> dict[str, Json]:
    """A request of each wire that starts a run, or follows one, and what it has at once."""
    props = {"forwardedProps": {"script": script}}
    message: Json = {"role": "user", "content": "go"}
    spoken = json.dumps(script)
    run = host.begin(script=script)
    text_part = [{"type": "text", "text": "go"}]
    a2a = {"role": "ROLE_USER", "messageId": str(uuid4()), "parts": [{"text": spoken}]}
    tool = {"name": "scripted", "arguments": {"message": spoken}, "_meta": {"progressToken": "p"}}
    progress, chat = "notifications/progress", str(uuid4())
    bodies: dict[str, tuple[str, Json]] = {
        "AG-UI": ("/agui/agent/scripted/run", {"messages": [{"id": "u1", **message}], **props}),
        "AI SDK": (
            "/api/chat/scripted",
            {"id": chat, "messages": [{"id": "u1", "role": "user", "parts": text_part}], **props},
        ),
        "Responses": (
            "/v1/responses",
            {"model": "scripted", "input": "go", "stream": True, **props},
        ),
        "Chat Completions": (
            "/v1/chat/completions",
            {"model": "scripted", "messages": [message], "stream": True, **props},
        ),
        "A2A": ("/a2a/scripted", rpc("SendStreamingMessage", message=a2a)),
        "MCP": ("/mcp", rpc("tools/call", **tool)),
    }
    requests: dict[str, Json] = {
        name: {"path": path, "body": body} for name, (path, body) in bodies.items()
    }
    requests["MCP"]["headers"] = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": MCP,
    }
    requests["A2A"]["headers"] = {"a2a-version": "1.0"}
    events = {"path": run["events_url"], "method": "GET"}
    durable = {"path": f"{run['stream_url']}?offset=-1&live=sse", "method": "GET"}
    requests |= {"a run's events": events, "Durable Streams": durable}
    return {
        name: {**request, "until": progress if name == "MCP" else FIRST}
        for name, request in requests.items()
    }


def rpc(method: str, **params: Any) -> Json:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def test_the_first_event_comes_before_the_run_may_end(
    packages: None, host: Host, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    script = [*text("m", FIRST, end=False), {"until": str(gate)}, *more("m", LAST)]
    with host.client() as client:
        client.patch("/api/v1/agents/scripted", json={"is_tool": True}).raise_for_status()
    requests = hello(host, script)
    task = {"url": host.url, "key": host.key, "requests": requests}
    task["again"] = requests["a run's events"]
    with subprocess.Popen(
        [need("node"), str(ready_packages() / "compressing.mjs")], cwd=JS, encoding="utf-8",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin
        assert process.stdout
        try:
            print(json.dumps(task), file=process.stdin, flush=True)
            assert process.stdout.readline().strip() == "begun"
            gate.touch()
            print(file=process.stdin, flush=True)
            answers = json.loads(process.stdout.read())
        finally:
            process.kill()
    # What the proxy does to an answer that lacks the host's rule: it is a compressor indeed.
    assert answers.pop("stripped")["encoding"] == "gzip"
    assert answers.keys() == requests.keys()
    for name, answer in answers.items():
        assert (answer["status"], answer["encoding"]) == (200, "none"), name
        assert answer["text"].count(LAST) >= 1, name
