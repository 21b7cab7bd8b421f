"""Push notifications of A2A's tasks: its own client sets them, and a receiver hears of the task."""

import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.types.a2a_pb2 import (
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    SendMessageRequest,
    StreamResponse,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError
from a2a.utils.proto_utils import parse_lenient

from agui_host.backends.postgres.bridge import db
from agui_host.dialects.a2a import push_verbs as a2a_push
from agui_host.protocol.input.run_agent_input import OnBusy
from agui_host.runtimes.models import Agent
from events.writer import JournalWriter
from runs.models import Run, Webhook
from runs.models.webhook import Stop
from tests.asgi import application, ask, ask_now
from tests.cast import Actor, Cast, LiveRun, bell, cast, perform, start, writer
from tests.runs.webhooks.conftest import quick
from tests.runs.webhooks.receiver import BROKEN, Message, delivering, receiving, statuses, until

__all__ = ["bell", "cast", "quick", "writer"]

pytestmark = pytest.mark.django_db(transaction=True)
LOGIN = {"scheme": "Bearer", "credentials": "theirs"}


@asynccontextmanager
async def client(actor: Actor) -> AsyncIterator[Client]:
    transport = httpx.ASGITransport(app=application)
    async with httpx.AsyncClient(transport=transport, headers=actor.headers) as http:
        config = ClientConfig(
            httpx_client=http, streaming=False, supported_protocol_bindings=["HTTP+JSON"]
        )
        yield await ClientFactory(config).create_from_url("http://localhost/a2a/echo")


def outgoing(url: str, **message: Any) -> SendMessageRequest:
    """A message whose task is to be told of at ``url``."""
    config = {"id": "mine", "url": url, "token": "secret token", "authentication": LOGIN}
    parts = [{"text": "Hi."}]
    body = {
        "message": {"messageId": "m1", "role": "ROLE_USER", "parts": parts, **message},
        "configuration": {"returnImmediately": True, "taskPushNotificationConfig": config},
    }
    return parse_lenient(body, SendMessageRequest())


def read(message: Message) -> StreamResponse:
    """What arrived, as A2A's own receivers read it; unknown members would fail."""
    assert message.headers["x-a2a-notification-token"] == "secret token"
    assert message.headers["authorization"] == "Bearer theirs"
    assert message.headers["content-type"] == "application/a2a+json"
    return parse_lenient(json.loads(message.body), StreamResponse())


async def test_a_task_is_told_of_to_its_end(cast: Cast, writer: JournalWriter) -> None:
    """Through a question and its answer, but not of the thread's other tasks; retried."""
    await db(Agent.objects.filter(team=cast.team).update, on_busy=OnBusy.ENQUEUE)
    async with client(cast.alice) as agent, receiving(BROKEN) as receiver, delivering():
        message_request = outgoing(receiver.url, contextId="t")
        task = (await anext(agent.send_message(message_request))).task
        first = await db(Run.objects.get, pk=task.id)
        live = await LiveRun.begin(await db(reloaded, first), writer)
        await live.ask("i")
        await until(lambda: statuses() == ["delivered"] * 2)
        question = outgoing(receiver.url, taskId=task.id)
        question.configuration.ClearField("task_push_notification_config")
        question.message.parts[0].text = "Yes."
        answered = (await anext(agent.send_message(question))).task
        assert answered.id == task.id
        last = await db(lambda: Run.objects.order_by("pk").last())
        assert last is not None
        assert last.pk != first.pk
        other = await db(start, cast.alice, threadId="t")
        await db(ask_now, "POST", f"/api/v1/runs/{other.pk}/cancel", cast.alice.headers)
        await perform(last, writer)
        await until(lambda: "pending" not in statuses())
        await until(lambda: Webhook.objects.get().stopped == Stop.ENDED)
    frames = [read(message) for message in receiver.messages]
    states = [
        (frame.task if frame.HasField("task") else frame.status_update).status.state
        for frame in frames
    ]
    # In any order: a retry may come behind the next message.
    expected = Counter([TaskState.TASK_STATE_WORKING] * 2)
    expected.update([TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_COMPLETED])
    repeated = Counter(states) - expected
    assert Counter(states) - repeated == expected, "of two runs, and not of another task"
    assert repeated.total() == 1, "the first try failed"
    end = next(
        frame.task
        for frame in frames
        if frame.HasField("task") and frame.task.status.state == TaskState.TASK_STATE_COMPLETED
    )
    assert (end.id, end.context_id) == (task.id, "t")
    assert {frame.task.id or frame.status_update.task_id for frame in frames} == {task.id}


def reloaded(run: Run) -> Run:
    return Run.objects.select_related("thread", "agent", "journal").get(pk=run.pk)


async def test_configs_of_a_task(cast: Cast, writer: JournalWriter) -> None:
    """Set, replaced, listed and removed by their maker; one that is set late hears of the end."""
    run = await perform(await db(start, cast.alice, threadId="t"), writer)
    task = str(run.pk)
    async with client(cast.alice) as agent, client(cast.bob) as bobs, receiving() as receiver:
        members = {"taskId": task, "url": receiver.url, "token": "x", "authentication": LOGIN}
        config = parse_lenient({**members, "id": "mine"}, TaskPushNotificationConfig())
        made = await agent.create_task_push_notification_config(config)
        assert (made.id, made.task_id, made.url, made.token) == ("mine", task, receiver.url, "x")
        assert (made.authentication.scheme, made.authentication.credentials) == ("Bearer", "")
        await agent.create_task_push_notification_config(config)
        unnamed = parse_lenient(members, TaskPushNotificationConfig())
        named_by_us = await agent.create_task_push_notification_config(unnamed)
        everything = ListTaskPushNotificationConfigsRequest(task_id=task)
        listed = await agent.list_task_push_notification_configs(everything)
        assert [each.id for each in listed.configs] == ["mine", named_by_us.id]
        assert not (await bobs.list_task_push_notification_configs(everything)).configs
        one = GetTaskPushNotificationConfigRequest(task_id=task, id="mine")
        assert await agent.get_task_push_notification_config(one) == made
        gone = DeleteTaskPushNotificationConfigRequest(task_id=task, id=named_by_us.id)
        await agent.delete_task_push_notification_config(gone)
        assert len((await agent.list_task_push_notification_configs(everything)).configs) == 1
        async with delivering():
            await until(lambda: statuses() == ["delivered"])
        (message,) = receiver.messages
        state = json.loads(message.body)["task"]["status"]["state"]
        assert state == "TASK_STATE_COMPLETED"
        config.url = "http://10.0.0.1/"
        with pytest.raises(InvalidParamsError):
            await agent.create_task_push_notification_config(config)
        config.task_id = "nonsense"
        with pytest.raises(TaskNotFoundError):
            await agent.create_task_push_notification_config(config)
    log = await ask("GET", "/api/v1/webhooks", cast.alice.headers)
    assert log.json["results"] == [], "the team's webhooks are others"


def test_who_may_set_what(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    """No viewer, no other team, no address inside, no second header, and no more than some."""
    monkeypatch.setattr(a2a_push, "MOST", 2)
    run = start(cast.alice, threadId="t")
    url = f"/a2a/tasks/{run.pk}/pushNotificationConfigs"
    good = {"url": "https://hooks.example.com/a"}
    for actor, body, status in (
        (cast.vera, good, 403),
        (cast.charlie, good, 404),
        (cast.alice, [], 400),
        (cast.alice, {}, 422),
        (cast.alice, {"url": 7}, 422),
        (cast.alice, {"url": "https://hooks.example.com/" + "a" * 2_000}, 422),
        (cast.alice, {"url": "http://169.254.169.254/latest"}, 422),
        (cast.alice, {**good, "id": "a" * 65}, 422),
        (cast.alice, {**good, "token": "a\r\nx: b"}, 422),
        (cast.alice, {**good, "authentication": 7}, 422),
        (cast.alice, {**good, "authentication": {"scheme": "a b"}}, 422),
        (cast.alice, {**good, "authentication": {"credentials": "a"}}, 422),
    ):
        answer = ask_now("POST", url, actor.headers, json=body)
        assert answer.status == status, (body, answer.body)
    inside = {"url": "http://10.0.0.1/"}
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Hi."}]}
    request_body = {"message": message, "configuration": {"taskPushNotificationConfig": inside}}
    refused = ask_now("POST", "/a2a/echo/message:send", cast.alice.headers, json=request_body)
    assert refused.status == 422
    assert Run.objects.count() == 1, "a refusal starts nothing"
    assert not Webhook.objects.exists()
    answers = [ask_now("POST", url, cast.bob.headers, json=good).status for _ in range(3)]
    assert answers == [200, 200, 409]
    (own, *_) = ask_now("GET", url, cast.bob.headers).json["configs"]
    assert ask_now("GET", f"{url}/{own['id']}", cast.alice.headers).status == 404
    assert ask_now("DELETE", f"{url}/{own['id']}", cast.alice.headers).status == 404
    assert ask_now("DELETE", f"{url}/{own['id']}", cast.bob.headers).status == 200


def test_a_page_of_configs_leads_to_the_next(cast: Cast) -> None:
    run = start(cast.alice, threadId="t")
    url = f"/a2a/tasks/{run.pk}/pushNotificationConfigs"
    names = [f"c{number}" for number in range(5)]
    for name in names:
        body = {"url": "https://hooks.example.com/a", "id": name}
        assert ask_now("POST", url, cast.alice.headers, json=body).status == 200
    listed, token, sizes = [], "", []
    while True:
        page = ask_now("GET", f"{url}?pageSize=2&pageToken={token}", cast.alice.headers).json
        sizes.append(len(page["configs"]))
        listed += [config["id"] for config in page["configs"]]
        if not (token := page["nextPageToken"]):
            break
    assert (listed, sizes) == (names, [2, 2, 1])
    assert len(ask_now("GET", url, cast.alice.headers).json["configs"]) == 5


def test_a_list_of_tasks_has_at_most_100(cast: Cast) -> None:
    for number in range(102):
        start(cast.alice, threadId=f"t{number}")
    page = ask_now("GET", "/a2a/tasks?pageSize=100", cast.alice.headers).json
    assert len(page["tasks"]) == 100
    assert page["nextPageToken"]
    assert len(ask_now("GET", "/a2a/tasks", cast.alice.headers).json["tasks"]) == 50
