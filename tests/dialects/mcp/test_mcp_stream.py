"""A call of MCP as a stream: what comes before the answer, and how it fails."""

import asyncio
import json
from typing import Any

import pytest
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from agui_host.dialects.mcp import stream as mcp_stream
from agui_host.runtimes import registry
from agui_host.runtimes.models import Agent
from events.writer import JournalWriter
from runs.models import Run
from tests.asgi import Exchange, ask, ask_now
from tests.cast import Cast, start
from tests.dialects.mcp.test_mcp_requests import HEAD, MODERN, call
from tests.web.resets.rewinding import started
from tests.web.test_streams import revoke

pytestmark = pytest.mark.django_db(transaction=True)

BOTH = {"accept": "application/json, text/event-stream"}
AFTER = {"2026-07-28": {**MODERN}, "2025-06-18": {}}


@pytest.fixture(autouse=True)
def _tools(cast: Cast, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    Agent.objects.update(is_tool=True)
    settings.AGUI_SSE_HEARTBEAT = settings.AGUI_HUB_TICK = 0.1
    monkeypatch.setattr(mcp_stream, "PROGRESS_EVERY", 0.05)


def messages(body: bytes) -> list[Any]:
    """The messages of a stream: each block has one."""
    blocks = body.decode().split("\n\n")
    assert blocks.pop() == ""
    return [json.loads(block.rpartition("data: ")[2]) for block in blocks]


def calling(version: str, **meta: Any) -> Any:
    return call(_meta={**AFTER[version], **meta})


@pytest.mark.parametrize("version", AFTER)
@pytest.mark.parametrize("token", ["p1", 3])
async def test_progress_until_the_answer(
    cast: Cast, writer: JournalWriter, version: str, token: Any
) -> None:
    headers = {**cast.alice.headers, **BOTH}
    body = calling(version, progressToken=token)
    async with Exchange("POST", "/mcp", headers, json=body) as exchange:
        assert exchange.headers["content-type"].startswith("text/event-stream")
        assert exchange.headers["cache-control"] == "no-cache, no-transform"
        live = await started(writer)
        received = await exchange.until(b'"progress":3')
        await live.end()
        *progress, last = messages(received + await exchange.rest())
    numbers = [each["params"]["progress"] for each in progress]
    assert numbers == list(range(1, len(numbers) + 1))
    assert {each["method"] for each in progress} == {"notifications/progress"}
    assert {each["params"]["progressToken"] for each in progress} == {token}
    assert (last["id"], last["result"]["isError"]) == (1, False)
    assert last["result"]["_meta"]["agui"]["runId"] == live.run.run_id
    assert ("resultType" in last["result"]) == (version == "2026-07-28")


@pytest.mark.parametrize("token", [None, True, 1.5, {}])
async def test_comments_without_a_token(cast: Cast, writer: JournalWriter, token: Any) -> None:
    headers, body = {**cast.alice.headers, **BOTH}, calling("2025-06-18", progressToken=token)
    async with Exchange("POST", "/mcp", headers, json=body) as exchange:
        live = await started(writer)
        received = await exchange.until(b": heartbeat\n: heartbeat\n: heartbeat\n")
        await live.end()
        (answer,) = messages(received + await exchange.rest())
    assert "result" in answer


async def test_events_without_a_pause_do_not_keep_the_comments_away(
    cast: Cast, writer: JournalWriter
) -> None:
    headers = {**cast.alice.headers, **BOTH}
    async with Exchange("POST", "/mcp", headers, json=calling("2025-06-18")) as exchange:
        live = await started(writer)
        for number in range(100):
            await live.say(str(number))
        await live.end()
        assert (await exchange.rest()).count(b": heartbeat\n") >= 2


async def test_a_revoked_key(cast: Cast, writer: JournalWriter) -> None:
    headers = {**cast.bob.headers, **BOTH}
    async with Exchange("POST", "/mcp", headers, json=calling("2025-06-18")) as exchange:
        live = await started(writer)
        await db(revoke, cast.bob.key)
        (answer,) = messages(await exchange.rest())
    assert answer["error"]["data"]["code"] == "unauthenticated"
    await live.end()


async def test_a_refused_call_is_no_stream(cast: Cast) -> None:
    headers = {**cast.alice.headers, **BOTH}
    answer = await ask("POST", "/mcp", headers, json=call("nobody"))
    assert (answer.status, answer.json["error"]["code"]) == (400, -32602)


async def test_a_client_of_json_alone_gets_json(cast: Cast, writer: JournalWriter) -> None:
    headers = {**cast.alice.headers, "accept": "application/json"}
    asking = asyncio.create_task(ask("POST", "/mcp", headers, json=calling("2025-06-18")))
    await (await started(writer)).end()
    answer = await asking
    assert "result" in answer.json
    assert answer.headers["content-type"] == "application/json"


def test_lists(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    """There are no prompts; of the runs there is one page with the newest."""

    def ask_for(method: str, **params: Any) -> Any:
        body = HEAD | {"method": method, "params": {"_meta": MODERN, **params}}
        return ask_now("POST", "/mcp", cast.alice.headers, json=body).json

    assert ask_for("prompts/list")["result"]["prompts"] == []
    assert ask_for("prompts/get", name="x")["error"]["code"] == -32602
    monkeypatch.setattr("agui_host.dialects.mcp.verbs.MOST_RESOURCES", 2)
    runs = [start(cast.alice) for _ in range(3)]
    page = ask_for("resources/list")["result"]
    assert [row["name"] for row in page["resources"]] == [str(run.pk) for run in runs[:0:-1]]
    assert "nextCursor" not in page
    assert ask_for("resources/list", cursor="x")["error"]["code"] == -32602


OWN = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
    "required": ["city"],
    "additionalProperties": False,
}


def test_an_agents_own_schema(cast: Cast) -> None:
    """Of its row or its code; the agent gets what fits it, as it is and as a message."""
    Agent.objects.filter(slug="echo").update(settings={"input_schema": OWN})
    body = HEAD | {"method": "tools/list", "params": {"_meta": MODERN}}
    tools = ask_now("POST", "/mcp", cast.alice.headers, json=body).json["result"]["tools"]
    schema = next(tool["inputSchema"] for tool in tools if tool["name"] == "echo")
    assert schema["required"] == ["city"]
    assert schema["properties"].keys() == {"city", "days", "thread_id"}
    tasks = {"io.modelcontextprotocol/tasks": {}}
    meta = {**MODERN, "io.modelcontextprotocol/clientCapabilities": {"extensions": tasks}}
    for arguments in ({}, {"city": 7}, {"city": "x", "days": 0}, {"message": "Hi."}, None, []):
        answer = ask_now("POST", "/mcp", cast.alice.headers, json=call(arguments=arguments or {}))
        assert answer.json["error"]["code"] == -32602, arguments
    assert not Run.objects.exists()
    for arguments, text in (
        ({"city": "Basel"}, "Basel"),
        ({"city": "Basel", "days": 2}, '{"city":"Basel","days":2}'),
    ):
        outgoing = call(arguments={**arguments, "thread_id": "t"}, _meta=meta)
        answer = ask_now("POST", "/mcp", cast.alice.headers, json=outgoing)
        run = Run.objects.get(pk=answer.json["result"]["taskId"])
        body = json.loads(run.input)
        assert run.thread.thread_id == "t"
        assert body["forwardedProps"]["arguments"] == arguments
        assert body["messages"][-1]["content"] == text
        run.delete()


def test_the_schema_of_an_agent_in_code(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = registry.Registered("echo", "Echo", "", None, None, False, None, input_schema=OWN)
    monkeypatch.setitem(registry._agents, "echo", entry)
    row = Agent.objects.filter(slug="echo").first()
    assert row is not None
    row.kind, row.target, row.settings = "python", "echo", {}
    row.save()
    body = HEAD | {"method": "tools/list", "params": {"_meta": MODERN}}
    tools = ask_now("POST", "/mcp", cast.alice.headers, json=body).json["result"]["tools"]
    assert next(tool for tool in tools if tool["name"] == "echo")["inputSchema"]["required"]


@pytest.mark.parametrize("schema", [7, {}, {"type": "string"}, {"type": "object", "minimum": "x"}])
def test_a_schema_that_cannot_be_checked_is_refused(cast: Cast, schema: Any) -> None:
    new = {"slug": "far", "url": "https://93.184.216.34/", "settings": {"input_schema": schema}}
    answer = ask_now("POST", "/api/v1/agents", cast.alice.headers, json=new)
    assert (answer.status, answer.json["error"]["details"]["path"]) == (
        422, "settings.input_schema"
    )  # fmt: skip
    new["settings"] = {"input_schema": OWN}
    made = ask_now("POST", "/api/v1/agents", cast.alice.headers, json=new)
    assert (made.status, made.json["settings"]) == (201, {"input_schema": OWN})
