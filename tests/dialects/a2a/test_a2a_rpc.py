"""A2A over JSON-RPC: one address for the words of 1.0 and of 0.3."""

import json
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.models import Agent
from events.writer import JournalWriter
from runs.models import Run, Thread
from tests.asgi import Exchange, ask_now
from tests.cast import Cast, start
from tests.dialects.a2a.test_a2a_requests import BODIES
from tests.web.resets.rewinding import started

pytestmark = pytest.mark.django_db(transaction=True)

NEWER = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Hi."}]}
OLDER = {
    "kind": "message", "messageId": "m", "role": "user",
    "parts": [
        {"kind": "text", "text": "Hi."},
        {"kind": "file", "file": {"uri": "https://x/y.png", "mimeType": "image/png", "name": "y"}},
        {"kind": "data", "data": {"a": 1}},
    ],
}  # fmt: skip
NONE = "01890000-0000-7000-8000-000000000000"


def call(method: Any, key: Any = 7, **params: Any) -> Any:
    return {"jsonrpc": "2.0", "id": key, "method": method, "params": params}


def answer_of(cast: Cast, method: Any, **params: Any) -> Any:
    answer = ask_now("POST", "/a2a/echo", cast.alice.headers, json=call(method, **params))
    assert (answer.status, answer.json["jsonrpc"], answer.json["id"]) == (200, "2.0", 7)
    return answer.json


def code(cast: Cast, method: Any, **params: Any) -> int:
    error = answer_of(cast, method, **params)["error"]
    (info,) = error["data"]
    assert (info["@type"], bool(error["message"])) == (
        "type.googleapis.com/google.rpc.ErrorInfo", True,
    )  # fmt: skip
    return int(error["code"])


@pytest.mark.parametrize("slash", ["", "/"])
@pytest.mark.parametrize("place", ["/a2a/echo", "/a2a"])
def test_the_address_itself_with_and_without_a_slash(cast: Cast, place: str, slash: str) -> None:
    card = ask_now("GET", place + slash, cast.alice.headers)
    other = ask_now("GET", f"{place}/.well-known/agent-card.json", cast.alice.headers)
    assert (card.status, card.json) == (200, other.json)
    answer = ask_now("POST", place + slash, cast.alice.headers, json=call("ListTasks"))
    assert answer.json["result"]["tasks"] == []
    assert ask_now("GET", place + slash).status == 401
    assert ask_now("GET", f"/a2a/nobody{slash}", cast.alice.headers).status == 404


def test_cards(cast: Cast) -> None:
    """JSON-RPC first, and what a client of 0.3 looks for."""
    for place in ("/a2a/echo", "/a2a", ""):
        card = ask_now("GET", f"{place}/.well-known/agent-card.json", cast.alice.headers).json
        first, second = card["supportedInterfaces"]
        assert (first["protocolBinding"], second["protocolBinding"]) == ("JSONRPC", "HTTP+JSON")
        assert first["protocolVersion"] == second["protocolVersion"] == "1.0"
        assert card["url"] == first["url"] == f"http://localhost{place or '/a2a'}"
        assert (card["preferredTransport"], card["protocolVersion"]) == ("JSONRPC", "0.3.0")
        scheme = card["securitySchemes"]["key"]
        assert (scheme["type"], scheme["scheme"]) == ("http", "Bearer")
        assert scheme["httpAuthSecurityScheme"] == {"scheme": "Bearer"}


def test_refusals_write_nothing(cast: Cast) -> None:
    for get, cancel, again in (
        ("GetTask", "CancelTask", "SubscribeToTask"),
        ("tasks/get", "tasks/cancel", "tasks/resubscribe"),
    ):
        for method in (get, cancel, again):
            for task in (NONE, "nonsense"):
                assert code(cast, method, id=task) == -32001, method
            assert code(cast, method) == code(cast, method, id=7) == -32602
    for method in ("no/method", "sendmessage", "", "agent/getAuthenticatedExtendedCard"):
        assert code(cast, method) == -32601
    for method in ("SendMessage", "message/send", "SendStreamingMessage", "message/stream"):
        for body in BODIES:
            if isinstance(body, dict):
                assert code(cast, method, **body) in (-32600, -32602), body
        assert code(cast, method, message={**NEWER, "taskId": NONE}) == -32001
    for body in (
        None,
        [],
        [call("GetTask")],
        {"id": 1, "method": "GetTask"},
        call(7),
        call("", None),
        call("SendStreamingMessage", "k" * 1_001, message=NEWER),
    ):
        answer = ask_now("POST", "/a2a/echo", cast.alice.headers, body=json.dumps(body).encode())
        assert (answer.status, answer.json["error"]["code"]) == (200, -32600), body
    answer = ask_now("POST", "/a2a/echo", cast.alice.headers, body=b"{")
    assert answer.json["error"]["code"] == -32700
    headers = {**cast.alice.headers, "a2a-version": "2.0"}
    answer = ask_now("POST", "/a2a/echo", headers, json=call("GetTask", id=NONE))
    assert answer.json["error"]["code"] == -32009
    assert not Run.objects.exists()
    assert not Thread.objects.exists()


def test_who_may(cast: Cast) -> None:
    """A wrong key is 401 before anything else; another team's task is none."""
    run = start(cast.alice, threadId="t", messages=[{"role": "user", "content": "Hi."}])
    for headers in ({}, {"authorization": "Bearer wrong"}):
        for body in (call("GetTask", id=str(run.pk)), call("no/method"), {}):
            answer = ask_now("POST", "/a2a/echo", headers, json=body)
            assert (answer.status, "error" in answer.json) == (401, True)
    answer = ask_now("POST", "/a2a", cast.charlie.headers, json=call("GetTask", id=str(run.pk)))
    assert answer.json["error"]["code"] == -32001
    answer = ask_now("POST", "/a2a", cast.vera.headers, json=call("SendMessage", message=NEWER))
    assert answer.status == 403
    foreign = {**cast.alice.cookie, "origin": "https://evil.example"}
    assert ask_now("POST", "/a2a", foreign, json=call("SendMessage", message=NEWER)).status == 403
    assert Run.objects.count() == 1


def test_tasks_in_both_languages(cast: Cast) -> None:
    task = answer_of(cast, "SendMessage", message=NEWER, configuration={"returnImmediately": True})[
        "result"
    ]["task"]
    assert task["status"]["state"] == "TASK_STATE_SUBMITTED"
    older = answer_of(
        cast, "message/send", message=OLDER, configuration={"blocking": False}
    )["result"]  # fmt: skip
    assert (older["kind"], older["status"]["state"]) == ("task", "submitted")
    body = json.loads(Run.objects.get(pk=older["id"]).input)
    assert [part["type"] for part in body["messages"][-1]["content"]] == ["text", "image", "text"]
    assert answer_of(cast, "GetTask", id=older["id"])["result"]["status"]["state"].isupper()
    assert answer_of(cast, "tasks/get", id=task["id"])["result"]["kind"] == "task"
    listed = answer_of(cast, "ListTasks", pageSize=1)["result"]
    assert [each["id"] for each in listed["tasks"]] == [older["id"]]
    assert answer_of(cast, "CancelTask", id=task["id"])["result"]["status"]["state"].endswith("LED")
    cancelled = answer_of(cast, "tasks/cancel", id=older["id"])["result"]
    assert cancelled["status"]["state"] == "canceled"
    assert code(cast, "tasks/cancel", id=older["id"]) == -32002
    assert code(cast, "tasks/resubscribe", id=older["id"]) == -32004


def test_push_configs_in_both_languages(cast: Cast) -> None:
    run = str(start(cast.alice, threadId="t").pk)
    config = {"id": "one", "url": "https://93.184.216.34/"}
    made = answer_of(cast, "CreateTaskPushNotificationConfig", taskId=run, **config)["result"]
    assert made == {"taskId": run, **config}
    prefix = "tasks/pushNotificationConfig/"
    other = {**config, "id": "two"}
    older = answer_of(cast, f"{prefix}set", taskId=run, pushNotificationConfig=other)["result"]
    assert older == {"taskId": run, "pushNotificationConfig": other}
    listed = answer_of(cast, f"{prefix}list", id=run)["result"]
    assert [each["pushNotificationConfig"]["id"] for each in listed] == ["one", "two"]
    page = answer_of(cast, "ListTaskPushNotificationConfigs", taskId=run)["result"]
    assert [each["id"] for each in page["configs"]] == ["one", "two"]
    name = {"id": run, "pushNotificationConfigId": "one"}
    got = answer_of(cast, f"{prefix}get", **name)["result"]
    assert got["pushNotificationConfig"] == config
    assert answer_of(cast, f"{prefix}delete", **name)["result"] is None
    second = answer_of(cast, "GetTaskPushNotificationConfig", taskId=run, id="two")["result"]
    assert second["url"] == config["url"]
    assert answer_of(cast, "DeleteTaskPushNotificationConfig", taskId=run, id="two")["result"] == {}


@pytest.mark.parametrize("method", ["message/stream", "SendStreamingMessage"])
async def test_a_stream(cast: Cast, writer: JournalWriter, method: str) -> None:
    is_older = method == "message/stream"
    message = OLDER if is_older else NEWER
    body = call(method, message=message)
    async with Exchange("POST", "/a2a/echo", cast.alice.headers, json=body) as exchange:
        assert exchange.headers["content-type"].startswith("text/event-stream")
        live = await started(writer)
        await live.ask("q")
        frames = [
            json.loads(block.rpartition(b"data: ")[2])
            for block in (await exchange.rest()).split(b"\n\n")[:-1]
        ]
    assert {(frame["jsonrpc"], frame["id"]) for frame in frames} == {("2.0", 7)}
    first, *_, last = (frame["result"] for frame in frames)
    if is_older:
        assert (first["kind"], first["id"]) == ("task", str(live.run.pk))
        assert (last["kind"], last["final"]) == ("status-update", True)
        assert last["status"]["state"] == "input-required"
        parts = last["status"]["message"]["parts"]
        assert {part["kind"] for part in parts} <= {"text", "data"}
    else:
        assert first["task"]["id"] == str(live.run.pk)
        assert last["statusUpdate"]["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"


async def test_an_agent_that_is_not_there(cast: Cast) -> None:
    await db(Agent.objects.filter(slug="echo").update, enabled=False)
    body = call("message/stream", message=OLDER)
    async with Exchange("POST", "/a2a/echo", cast.alice.headers, json=body) as exchange:
        assert json.loads(await exchange.rest())["error"]["code"] == -32602
