"""A2A's own client against ``/a2a``: the card leads it to the interface, as it leads anybody."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.client.card_resolver import parse_agent_card
from a2a.client.errors import A2AClientError
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskState,
)
from a2a.utils.errors import (
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a.utils.proto_utils import parse_lenient

from tests.acceptance.host import Host
from tests.conformance.scenarios.parts import args, call, result

Json = dict[str, Any]
bindings: list[str] = []
"""Those that a client asks for: by default JSON-RPC."""
older = False
"""Whether it reads the card as a client of 0.3 does."""
TEXT = "One\u2028two\x85three \U0001f600."


@pytest.fixture(autouse=True, params=["JSON-RPC", "JSON-RPC of 0.3", "HTTP+JSON"])
def _binding(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "HTTP+JSON":
        monkeypatch.setitem(globals(), "bindings", [request.param])
    monkeypatch.setitem(globals(), "older", request.param == "JSON-RPC of 0.3")


def request(*parts: Json, script: list[Json] | None = None, **members: Any) -> SendMessageRequest:
    """A message of these parts; ``script`` is for the scripted agent."""
    message = {"messageId": "m1", "role": "ROLE_USER", "parts": list(parts), **members}
    if script is not None:
        message["metadata"] = {"forwardedProps": {"script": script}}
    return parse_lenient({"message": message}, SendMessageRequest())


def hello(*script: Json, **members: Any) -> SendMessageRequest:
    return request({"text": "hello"}, script=list(script), **members)


@asynccontextmanager
async def client(host: Host, path: str = "", *, streaming: bool = True) -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {host.key}"}
    async with httpx.AsyncClient(headers=headers, timeout=60) as http:
        config = ClientConfig(
            httpx_client=http, streaming=streaming, supported_protocol_bindings=bindings
        )
        if not older:
            yield await ClientFactory(config).create_from_url(host.url + path)
            return
        answer = await http.get(f"{host.url}{path}/.well-known/agent-card.json")
        if answer.is_error:
            raise A2AClientError(answer.text)
        card = answer.json()
        assert card.pop("supportedInterfaces"), "a member that 0.3 does not know"
        yield ClientFactory(config).create(parse_agent_card(card))


async def play(agent: Client, outgoing: SendMessageRequest) -> list[StreamResponse]:
    return [frame async for frame in agent.send_message(outgoing)]


def streamed(frames: list[StreamResponse]) -> str:
    """The text of artifact updates; the first of an artifact begins it, the others append."""
    texts: dict[str, str] = {}
    for frame in frames:
        if frame.HasField("artifact_update"):
            update = frame.artifact_update
            assert update.append == (update.artifact.artifact_id in texts)
            texts.setdefault(update.artifact.artifact_id, "")
            texts[update.artifact.artifact_id] += update.artifact.parts[0].text
    return "".join(texts.values())


def piece(frame: StreamResponse) -> str:
    """The text that a frame adds."""
    return "".join(part.text for part in frame.artifact_update.artifact.parts)


def text(task: Task) -> str:
    return "".join(part.text for artifact in task.artifacts for part in artifact.parts)


async def test_a_stream_is_the_task_and_its_pieces(host: Host) -> None:
    context = f"a2a-{uuid4()}"
    async with client(host, "/a2a/scripted") as agent:
        frames = await play(agent, hello({"text": TEXT}, {"text": "x", "n": 3}, contextId=context))
        first = frames[0].task
        assert first.context_id == context
        assert frames[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
        task = await agent.get_task(GetTaskRequest(id=first.id))
        assert task.status.state == TaskState.TASK_STATE_COMPLETED
        assert text(task) == streamed(frames)
        assert text(task).startswith(TEXT)
        assert [message.parts[0].text for message in task.history] == ["hello"]
        assert not (await agent.get_task(GetTaskRequest(id=first.id, history_length=0))).history
        run = httpx.get(
            f"{host.url}/api/v1/runs/{first.id}", headers={"authorization": f"Bearer {host.key}"}
        ).json()
        assert (run["thread_id"], run["status"]) == (context, "succeeded")
        with pytest.raises(UnsupportedOperationError):
            await anext(agent.subscribe(SubscribeToTaskRequest(id=first.id)))
        with pytest.raises(UnsupportedOperationError):
            await play(agent, hello(taskId=first.id))
        second = (await play(agent, hello({"text": "Again."}, contextId=context)))[0].task
        assert second.id != first.id
        if older:
            return  # It has no list of tasks.
        listed = await agent.list_tasks(ListTasksRequest(context_id=context, page_size=1))
        assert ([task.id for task in listed.tasks], listed.total_size) == ([second.id], 2)
        rest = await agent.list_tasks(
            ListTasksRequest(
                context_id=context, page_token=listed.next_page_token, include_artifacts=True
            )
        )
        assert [text(task) for task in rest.tasks] == [text(task)]
        assert not rest.next_page_token


async def test_the_teams_card_and_whole_answers(host: Host) -> None:
    async with client(host, streaming=False) as team:
        (frame,) = await play(team, request({"text": "What is a journal?"}))
        assert frame.task.status.state == TaskState.TASK_STATE_COMPLETED
        assert text(frame.task)
    async with httpx.AsyncClient() as http:
        for path in ("", "/a2a/docs"):
            answer = await http.get(f"{host.url}{path}/.well-known/agent-card.json")
            assert answer.status_code == 401
    async with client(host, "/a2a/scripted", streaming=False) as agent:
        outgoing = hello({"text": "So far."}, {"raise": "no"})
        (frame,) = await play(agent, outgoing)
        assert frame.task.status.state == TaskState.TASK_STATE_FAILED
        assert frame.task.status.message.parts[0].text
        assert text(frame.task) == "So far."


async def test_a_question_and_its_answer_are_one_task(host: Host) -> None:
    async with client(host, "/a2a/approval") as agent:
        frames = await play(agent, request({"text": "delete report.txt"}))
        task, status = frames[0].task, frames[-1].status_update.status
        assert status.state == TaskState.TASK_STATE_INPUT_REQUIRED
        asks, data = status.message.parts
        assert asks.text == "Approve: delete report.txt"
        assert "approved" in data.data.struct_value["responseSchema"]["properties"]
        with pytest.raises(InvalidParamsError):
            await play(agent, request({"data": {"approved": "?"}}, taskId=task.id))
        again = await play(agent, request({"data": {"approved": True}}, taskId=task.id))
        assert again[0].task.id == task.id
        assert again[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
        whole = await agent.get_task(GetTaskRequest(id=task.id))
        assert "Done, in the ledger" in text(whole)
        assert text(whole) == text(again[0].task) + streamed(again)
        roles = [message.role for message in whole.history]
        assert len(roles) == 3, "the wish, the question, the answer"


async def test_a_stream_that_is_cut_is_subscribed_to_again(host: Host) -> None:
    async with client(host, "/a2a/scripted") as agent:
        outgoing = hello({"text": "x", "n": 5}, {"sleep": 0.5}, {"text": "y", "n": 40, "rate": 100})
        begun = []
        async with aclosing(agent.send_message(outgoing)) as frames:
            async for frame in frames:
                begun.append(frame)
                if len(begun) == 6:
                    break
        task_id = begun[0].task.id
        rest = [frame async for frame in agent.subscribe(SubscribeToTaskRequest(id=task_id))]
        assert rest[0].HasField("task")
        assert rest[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
        whole = await agent.get_task(GetTaskRequest(id=task_id))
        pieces = {artifact.artifact_id: "" for artifact in whole.artifacts}
        for artifact in rest[0].task.artifacts:
            pieces[artifact.artifact_id] = artifact.parts[0].text
        for frame in rest[1:]:
            if frame.HasField("artifact_update"):
                artifact = frame.artifact_update.artifact
                pieces[artifact.artifact_id] += artifact.parts[0].text
        assert "".join(pieces.values()) == text(whole)


async def test_two_readers_and_a_cut_while_the_agent_uses_a_tool(
    host: Host, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    tool = [*call("c", "{", end=False), {"until": str(gate)}, *args("c", "}"), result("c")]
    outgoing = hello({"text": "So far."}, *tool, {"text": "There."})
    async with client(host, "/a2a/scripted") as agent, client(host, "/a2a/scripted") as other:
        async with aclosing(agent.send_message(outgoing)) as frames:
            task_id = (await anext(frames)).task.id
            while piece(await anext(frames)) != "So far.":
                pass
            readers = [other.subscribe(SubscribeToTaskRequest(id=task_id))]
            texts = [text((await anext(readers[0])).task)]
        readers.append(agent.subscribe(SubscribeToTaskRequest(id=task_id)))
        texts.append(text((await anext(readers[1])).task))
        assert texts == ["So far.", "So far."]
        gate.touch()
        for at, reader in enumerate(readers):
            texts[at] += "".join([piece(frame) async for frame in reader])
        assert texts == ["So far.There.", "So far.There."]
        assert text(await agent.get_task(GetTaskRequest(id=task_id))) == texts[0]


async def test_cancel(host: Host) -> None:
    async with client(host, "/a2a/scripted") as agent:
        frames = agent.send_message(hello({"text": "So far."}, {"forever": True}))
        task_id = (await anext(frames)).task.id
        task = await agent.cancel_task(CancelTaskRequest(id=task_id))
        assert task.status.state == TaskState.TASK_STATE_CANCELED
        last = [frame async for frame in frames][-1]
        assert last.status_update.status.state == TaskState.TASK_STATE_CANCELED
        with pytest.raises(TaskNotCancelableError):
            await agent.cancel_task(CancelTaskRequest(id=task_id))


async def test_refusals(host: Host) -> None:
    nobody = "01890000-0000-7000-8000-000000000000"
    async with client(host, "/a2a/scripted") as agent:
        for task_id in (nobody, "nonsense"):
            for refused in (
                agent.get_task(GetTaskRequest(id=task_id)),
                agent.cancel_task(CancelTaskRequest(id=task_id)),
                anext(agent.subscribe(SubscribeToTaskRequest(id=task_id))),
                play(agent, hello(taskId=task_id)),
            ):
                with pytest.raises(TaskNotFoundError):
                    await refused
        pushed = hello()
        pushed.configuration.task_push_notification_config.url = "http://10.0.0.1/"
        with pytest.raises(InvalidParamsError):
            await play(agent, pushed)
        for task_id in (await asyncio.gather(play(agent, hello({"text": "Hi."}))))[0][:1]:
            async with client(host, "/a2a/docs") as other:
                with pytest.raises(TaskNotFoundError):
                    await other.get_task(GetTaskRequest(id=task_id.task.id))
    with pytest.raises(A2AClientError):
        async with client(host, "/a2a/nobody"):
            pass
