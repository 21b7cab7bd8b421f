"""A2A 0.3's shapes, as its own models have them."""

from typing import Any

from a2a.compat.v0_3 import types

from agui_host.dialects.a2a import older

WHERE = {"taskId": "t", "contextId": "c"}
PARTS = [
    {"text": "Hi."},
    {"url": "https://x/y", "mediaType": "image/png"},
    {"url": "https://x/z"},
    {"data": {"a": 1}},
    {"data": [1]},
]
MESSAGE = {"messageId": "m", **WHERE, "role": "ROLE_AGENT", "parts": PARTS}
STATUS = {"state": "TASK_STATE_INPUT_REQUIRED", "timestamp": "2026-01-01T00:00:00Z"}


def wire(model: Any) -> Any:
    return model.model_dump(by_alias=True, exclude_none=True, mode="json")


def test_a_task() -> None:
    task = {
        "id": "t", "contextId": "c", "status": {**STATUS, "message": MESSAGE},
        "artifacts": [{"artifactId": "a", "parts": PARTS}],
        "history": [{**MESSAGE, "role": "ROLE_USER"}],
    }  # fmt: skip
    shape = older.task(task)
    assert wire(types.Task.model_validate(shape)) == shape
    assert shape["status"]["state"] == "input-required"
    assert [message["role"] for message in shape["history"]] == ["user"]
    kinds = [part["kind"] for part in shape["artifacts"][0]["parts"]]
    assert kinds == ["text", "file", "file", "data", "data"]


def test_updates() -> None:
    artifact = {"artifactId": "a", "parts": [{"text": "x"}]}
    update = older.stream_response(
        {"artifactUpdate": {**WHERE, "artifact": artifact, "append": True, "lastChunk": False}}
    )
    assert wire(types.TaskArtifactUpdateEvent.model_validate(update)) == update
    for state, final in (
        ("WORKING", False), ("SUBMITTED", False), ("COMPLETED", True), ("FAILED", True),
        ("CANCELED", True), ("INPUT_REQUIRED", True),
    ):  # fmt: skip
        status = {**STATUS, "state": f"TASK_STATE_{state}"}
        update = older.stream_response({"statusUpdate": {**WHERE, "status": status}})
        assert wire(types.TaskStatusUpdateEvent.model_validate(update)) == update
        assert update["final"] is final


def test_a_request() -> None:
    file = {"bytes": "QUJD", "mimeType": "image/png", "name": "a.png"}
    message = {"role": "user", "parts": [{"kind": "file", "file": file}, 7], "messageId": "m"}
    body = older.request({"message": message, "configuration": {"blocking": False}})
    part = {"raw": "QUJD", "mediaType": "image/png", "filename": "a.png"}
    assert body["message"] == {**message, "role": "ROLE_USER", "parts": [part, 7]}
    assert body["configuration"]["returnImmediately"] is True
    body = older.request({"message": {**message, "parts": None}, "configuration": 7})
    assert (body["message"]["parts"], body["configuration"]) == (None, 7)


def test_a_push_config() -> None:
    config = older.config({"id": "a", "taskId": "t", "url": "https://x/"})
    assert wire(types.TaskPushNotificationConfig.model_validate(config)) == config
