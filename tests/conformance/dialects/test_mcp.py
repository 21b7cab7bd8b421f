"""MCP's own client against ``/mcp``: of 2026-07-28, and as those that shake hands first."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp.client import Client, ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError
from mcp.types import (
    CallToolResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    InputRequiredResult,
    Request,
    Result,
)

from tests.acceptance.host import Host
from tests.conformance.scenarios.parts import args, call, result

Json = dict[str, Any]
TASKS = "io.modelcontextprotocol/tasks"


@asynccontextmanager
async def client(host: Host, **options: Any) -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {host.key}"}
    async with create_mcp_http_client(headers) as http:
        transport = streamable_http_client(f"{host.url}/mcp", http_client=http)
        async with Client(transport, **options) as connected:
            yield connected


def text(result: CallToolResult) -> str:
    return "".join(block.text for block in result.content if block.type == "text")


async def run_in(client: Client, thread: str) -> Any:
    """The resource of the run in a thread, or None."""
    rows = (await client.list_resources()).resources
    return next((row for row in rows if f" {thread}." in (row.description or "")), None)


async def read(client: Client, uri: str) -> str:
    (contents,) = (await client.read_resource(uri)).contents
    return str(contents.text)


def stored(host: Host, result: CallToolResult) -> str:
    """The text in the journal of a call's run."""
    assert result.meta is not None
    run_id = result.meta["agui"]["runId"]
    headers = {"authorization": f"Bearer {host.key}"}
    runs = httpx.get(f"{host.url}/api/v1/runs?limit=50", headers=headers).json()["results"]
    (run,) = [run for run in runs if run["run_id"] == run_id]
    page = httpx.get(f"{host.url}/api/v1/runs/{run['id']}/events", headers=headers).json()
    events = [each["event"] for each in page["events"]]
    return "".join(e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT")


@pytest.mark.parametrize("mode", ["2026-07-28", "auto", "legacy"])
async def test_agents_are_tools_and_runs_resources(host: Host, mode: str) -> None:
    async with client(host, mode=mode) as mcp:
        modern = mcp.protocol_version == "2026-07-28"
        assert modern == (mode != "legacy")
        tools = {tool.name: tool for tool in (await mcp.list_tools()).tools}
        assert {"docs", "approval", "slow", "table"} <= set(tools)
        assert "strict" not in tools, "nobody has marked it as a tool"
        result = await mcp.call_tool("docs", {"question": "What is a journal?"})
        assert not result.is_error
        assert text(result) == stored(host, result)
        listed = (await mcp.list_resources()).resources
        newest = str(listed[0].uri)
        contents = (await mcp.read_resource(newest)).contents
        assert contents[0].text == text(result)
        thread = result.meta["agui"]["threadId"] if result.meta else ""
        again = await mcp.call_tool("docs", {"message": "And a hub?", "thread_id": thread})
        (page,) = (await mcp.read_resource(f"agui://threads/{thread}")).contents
        messages = json.loads(page.text)
        words = [each["content"] for each in messages if each["role"] == "user"]
        assert words == ["What is a journal?", "And a hub?"]
        answers = [each.get("content") or "" for each in messages if each["role"] == "assistant"]
        assert "".join(answers) == text(result) + text(again)
        assert str((await mcp.list_resources()).resources[0].uri) != newest
        with pytest.raises(MCPError):
            await mcp.call_tool("nobody", {"message": "Hi."})
        with pytest.raises(MCPError):
            await mcp.read_resource("agui://runs/01890000-0000-7000-8000-000000000000")


@pytest.mark.parametrize("action", ["accept", "decline"])
async def test_a_question_is_a_form(host: Host, action: str) -> None:
    forms: list[ElicitRequestFormParams] = []

    async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        forms.append(params)
        content = {"approved": True} if action == "accept" else None
        return ElicitResult(action=action, content=content)

    async with client(host, elicitation_callback=answer) as mcp:
        result = await mcp.call_tool("approval", {"message": "delete report.txt"})
    (form,) = forms
    assert form.message == "Approve: delete report.txt"
    assert form.requested_schema["properties"]["approved"]["type"] == "boolean"
    done = "Done, in the ledger" if action == "accept" else "I did not do it"
    assert text(result).startswith(done)


async def test_a_call_that_fails_and_one_that_is_lost(host: Host, tmp_path: Path) -> None:
    """A call that is lost has left its run: another client reads it while it goes on."""
    gate = tmp_path / "gate"
    with host.client() as http:
        http.patch("/api/v1/agents/scripted", json={"is_tool": True}).raise_for_status()
    tool = [*call("c", "{", end=False), {"until": str(gate)}, *args("c", "}"), result("c")]
    async with client(host) as mcp, client(host) as other:
        script: list[Json] = [{"text": "So far."}, {"raise": "no"}]
        failed = await mcp.call_tool("scripted", {"message": json.dumps(script)})
        assert failed.is_error
        assert text(failed).startswith("So far.")
        script = [{"text": "So far."}, *tool, {"text": "There."}]
        arguments = {"message": json.dumps(script), "thread_id": "mcp-lost"}
        calling = asyncio.create_task(mcp.call_tool("scripted", arguments))
        async with asyncio.timeout(60):
            while not (row := await run_in(other, "mcp-lost")) or not await read(other, row.uri):
                await asyncio.sleep(0.05)
            assert await read(other, row.uri) == "So far."
            assert calling.cancel()
            with suppress(asyncio.CancelledError):
                await calling
            gate.touch()
            while "succeeded" not in (await run_in(other, "mcp-lost")).title:
                await asyncio.sleep(0.05)
        assert await read(other, row.uri) == "So far.\n\nThere."


@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
async def test_tasks_cancel(host: Host, mode: str) -> None:
    """A call's run is a task by its own id, to clients without the Tasks extension, too."""
    with host.client() as http:
        http.patch("/api/v1/agents/scripted", json={"is_tool": True}).raise_for_status()
    thread, script = f"mcp-cancel-{mode}", [{"text": "So far."}, {"forever": True}]
    async with client(host, mode=mode) as mcp, client(host, mode=mode) as other:
        arguments = {"message": json.dumps(script), "thread_id": thread}
        calling = asyncio.create_task(mcp.call_tool("scripted", arguments))
        async with asyncio.timeout(60):
            while not (row := await run_in(other, thread)) or not await read(other, row.uri):
                await asyncio.sleep(0.05)
            cancel = Request[Json, str](method="tasks/cancel", params={"taskId": row.name})
            await other.session.send_request(cancel, Result)
            assert text(await calling).startswith("So far.")
        assert "cancelled" in (await run_in(other, thread)).title


async def test_a_call_by_hand_and_one_of_older_clients(host: Host) -> None:
    async with client(host) as mcp:
        asks = await mcp.session.call_tool(
            "approval", {"message": "delete report.txt"}, allow_input_required=True
        )
        assert isinstance(asks, InputRequiredResult)
        assert asks.input_requests
        again = await mcp.session.call_tool(
            "approval", {}, request_state=asks.request_state, allow_input_required=True
        )
        assert isinstance(again, InputRequiredResult)
        assert again.input_requests == asks.input_requests
        with pytest.raises(MCPError):
            await mcp.session.call_tool("docs", {}, request_state=asks.request_state)
    async with client(host, mode="legacy") as mcp:
        result = await mcp.call_tool("approval", {"message": "delete report.txt"})
        assert text(result).startswith("Approve: delete report.txt")


async def test_tasks_and_refusals(host: Host) -> None:
    headers = {"authorization": f"Bearer {host.key}"}
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {TASKS: {}}},
    }
    async with httpx.AsyncClient(base_url=host.url, headers=headers, timeout=60) as http:

        async def ask(method: str, **params: Any) -> Json:
            body = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": method,
                "params": {"_meta": meta, **params},
            }
            return dict((await http.post("/mcp", json=body)).json())

        async def until(task_id: str, status: str) -> Json:
            async with asyncio.timeout(30):
                while (task := (await ask("tasks/get", taskId=task_id))["result"])[
                    "status"
                ] != status:
                    await asyncio.sleep(0.05)
            return task

        async def begin(name: str, message: str) -> str:
            created = await ask("tools/call", name=name, arguments={"message": message})
            assert created["result"]["resultType"] == "task"
            return str(created["result"]["taskId"])

        task_id = await begin("approval", "delete report.txt")
        asks = await until(task_id, "input_required")
        (key,) = asks["inputRequests"]
        answers = {key: {"action": "accept", "content": {"approved": True}}}
        await ask("tasks/update", taskId=task_id, inputResponses=answers)
        done = await until(task_id, "completed")
        assert "Done, in the ledger" in done["result"]["content"][0]["text"]

        changed = await http.patch("/api/v1/agents/scripted", json={"is_tool": True})
        assert changed.json()["is_tool"] is True
        slow = await begin("slow", "hello")
        assert (await ask("tasks/cancel", taskId=slow))["result"]["resultType"] == "complete"
        await until(slow, "cancelled")

        unknown = "01890000-0000-7000-8000-000000000000"
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            assert (await ask(method, taskId=unknown))["error"]["code"] == -32602
        assert (await ask("no/method"))["error"]["code"] == -32601
        refused = await http.post("/mcp", json={}, headers={"authorization": "Bearer wrong"})
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"].startswith("Bearer ")
        assert (await http.get("/mcp")).status_code == 405
