"""A2A 0.3's shapes: its clients' requests in 1.0's form, and its answers, from 1.0's.

In 0.3 parts, tasks and updates have a ``kind``, and roles and states have lower-case names.
"""

from typing import Any

from agui_host.dialects.a2a.fold import ENDED, STATE
from agui_host.protocol.input.fields import object_at
from agui_host.protocol.wire.fold import Frame

Json = dict[str, Any]
ROLES = {"user": "ROLE_USER", "agent": "ROLE_AGENT"}
NAMES = {role: name for name, role in ROLES.items()}
WAITING = f"{STATE}INPUT_REQUIRED"


def request(params: Json) -> Json:
    """The body of a send. Raises Invalid."""
    message = dict(object_at(params.get("message"), "message"))
    message["role"] = ROLES.get(str(message.get("role")), message.get("role"))
    if isinstance(message.get("parts"), list):
        message["parts"] = [_part_of(part) for part in message["parts"]]
    configuration = params.get("configuration") or {}
    if isinstance(configuration, dict) and configuration.get("blocking") is False:
        configuration = {**configuration, "returnImmediately": True}
    return {**params, "message": message, "configuration": configuration}


def _part_of(part: Any) -> Any:
    file = part.get("file") if isinstance(part, dict) else None
    if not isinstance(file, dict):
        return part
    names = {"bytes": "raw", "uri": "url", "mimeType": "mediaType", "name": "filename"}
    return {names[name]: value for name, value in file.items() if name in names}


def task(value: Frame) -> Frame:
    """A task."""
    artifacts = [_artifact(each) for each in value.get("artifacts", ())]
    history = [_message(each) for each in value.get("history", ())]
    about = {"status": _status(value["status"]), "artifacts": artifacts, "history": history}
    return {"kind": "task", "id": value["id"], "contextId": value["contextId"], **about}


def stream_response(value: Frame) -> Frame:
    """A frame of a stream."""
    if "task" in value:
        return task(value["task"])
    if "artifactUpdate" in value:
        update = value["artifactUpdate"]
        return {"kind": "artifact-update", **update, "artifact": _artifact(update["artifact"])}
    update = value["statusUpdate"]
    final = update["status"]["state"] in ENDED | {WAITING}
    return {"kind": "status-update", **update, "status": _status(update["status"]), "final": final}


def config(value: Frame) -> Frame:
    """A push notification config."""
    members = {name: each for name, each in value.items() if name != "taskId"}
    return {"taskId": value["taskId"], "pushNotificationConfig": members}


def _status(status: Frame) -> Frame:
    state = status["state"].removeprefix(STATE).lower().replace("_", "-")
    message = {"message": _message(status["message"])} if "message" in status else {}
    return {**status, "state": state, **message}


def _message(message: Frame) -> Frame:
    parts = [_part(part) for part in message["parts"]]
    return {"kind": "message", **message, "role": NAMES[message["role"]], "parts": parts}


def _artifact(artifact: Frame) -> Frame:
    return {**artifact, "parts": [_part(part) for part in artifact["parts"]]}


def _part(part: Frame) -> Frame:
    if "text" in part:
        return {"kind": "text", "text": part["text"]}
    if "url" in part:
        kind = {"mimeType": part["mediaType"]} if "mediaType" in part else {}
        return {"kind": "file", "file": {"uri": part["url"], **kind}}
    data = part.get("data")
    return {"kind": "data", "data": data if isinstance(data, dict) else {"value": data}}
