"""What ``/a2a`` refuses, in A2A's shape, and that a refusal writes nothing."""

from typing import Any

import pytest

from runs.models import Run, Thread
from tests.asgi import ask_now
from tests.cast import Cast, start

pytestmark = pytest.mark.django_db(transaction=True)

HI = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Hi."}]}
BODIES: list[Any] = [
    None,
    [],
    {},
    {"message": "Hi."},
    {"message": {**HI, "role": "ROLE_AGENT"}},
    {"message": {**HI, "messageId": 7}},
    {"message": {**HI, "parts": []}},
    {"message": {**HI, "parts": ["Hi."]}},
    {"message": {**HI, "parts": [{}]}},
    {"message": {**HI, "parts": [{"text": 7}]}},
    {"message": {**HI, "parts": [{"raw": "!"}]}},
    {"message": {**HI, "parts": [{"url": "x", "mediaType": 7}]}},
    {"message": {**HI, "contextId": 7}},
    {"message": {**HI, "contextId": "c" * 256}},
    {"message": {**HI, "metadata": 7}},
    {"message": {**HI, "metadata": {"forwardedProps": 7}}},
    {"message": HI, "configuration": 7},
    {"message": HI, "configuration": {"historyLength": "x"}},
    {"message": HI, "configuration": {"historyLength": True}},
    {"message": HI, "configuration": {"taskPushNotificationConfig": {"url": 7}}},
]


def refused(cast: Cast, method: str, url: str, statuses: tuple[int, ...], **outgoing: Any) -> str:
    """The reason of a refusal."""
    headers = {**cast.alice.headers, **outgoing.pop("headers", {})}
    answer = ask_now(method, f"/a2a/{url}", headers, **outgoing)
    assert answer.status in statuses, (url, outgoing, answer.body)
    error = answer.json["error"]
    assert (error["code"], bool(error["message"])) == (answer.status, True)
    (info,) = error["details"]
    assert info["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"
    return str(info["reason"])


def test_a_malformed_body_writes_nothing(cast: Cast) -> None:
    for body in BODIES:
        for method in ("send", "stream"):
            refused(cast, "POST", f"echo/message:{method}", (400, 422), json=body)
    refused(cast, "POST", "echo/message:send", (400,), body=b"{")
    refused(cast, "POST", "nobody/message:send", (404,), json={"message": HI})
    refused(cast, "GET", "echo/message:send", (405,))
    refused(cast, "POST", "echo/nowhere", (404,), json={})
    old = {"a2a-version": "0.3"}
    outgoing = {"json": {"message": HI}, "headers": old}
    assert refused(cast, "POST", "echo/message:send", (400,), **outgoing) == "VERSION_NOT_SUPPORTED"
    assert not Run.objects.exists()
    assert not Thread.objects.exists()


def test_tasks_of_others(cast: Cast) -> None:
    run = start(cast.alice, threadId="t", messages=[{"role": "user", "content": "Hi."}])
    own = f"/a2a/echo/tasks/{run.pk}"
    answer = ask_now("GET", own, cast.alice.headers)
    assert answer.json["status"]["state"] == "TASK_STATE_SUBMITTED"
    assert answer.json["contextId"] == "t"
    outgoing = {"message": {**HI, "taskId": str(run.pk)}}
    for method, url, body in (
        ("GET", own, None),
        ("POST", f"{own}:cancel", {}),
        ("POST", f"{own}:subscribe", {}),
        ("POST", "/a2a/echo/message:send", outgoing),
    ):
        answer = ask_now(method, url, cast.charlie.headers, json=body)
        assert answer.status == 404, url
        assert answer.json["error"]["details"][0]["reason"] == "TASK_NOT_FOUND"
    assert ask_now("GET", "/a2a/tasks", cast.charlie.headers).json["tasks"] == []
    for query in ("pageSize=0", "pageSize=x", "pageToken=x", "historyLength=-1"):
        refused(cast, "GET", f"tasks?{query}", (400, 422))
    for path in ("tasks", f"tasks/{run.pk}/pushNotificationConfigs"):
        for size in ("0", "-1", "101", "1e2", "x", "9" * 5_000):
            refused(cast, "GET", f"{path}?pageSize={size}", (400,))
        refused(cast, "GET", f"{path}?pageToken=x", (400,))
        assert ask_now("GET", f"/a2a/{path}?pageSize=100", cast.alice.headers).status == 200
    cancelled = ask_now("POST", f"{own}:cancel", cast.alice.headers, json={})
    assert cancelled.json["status"]["state"] == "TASK_STATE_CANCELED"
    assert Run.objects.count() == 1


def test_tasks_of_one_state(cast: Cast) -> None:
    """Pages have only those; an unknown state is refused rather than found nowhere."""
    runs = [start(cast.alice, threadId=f"t{number}") for number in range(3)]
    ask_now("POST", f"/a2a/echo/tasks/{runs[0].pk}:cancel", cast.alice.headers, json={})

    def listed(state: str) -> tuple[list[str], int]:
        query = f"status={state}&pageSize=1"
        page = ask_now("GET", f"/a2a/tasks?{query}", cast.alice.headers).json
        return [task["id"] for task in page["tasks"]], page["totalSize"]

    assert listed("TASK_STATE_CANCELED") == ([str(runs[0].pk)], 1)
    assert listed("TASK_STATE_SUBMITTED") == ([str(runs[2].pk)], 2)
    assert listed("TASK_STATE_UNSPECIFIED") == ([str(runs[2].pk)], 3)
    assert listed("TASK_STATE_REJECTED") == ([], 0)
    refused(cast, "GET", "tasks?status=UNRECOGNIZED", (400,))
