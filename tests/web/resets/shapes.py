"""What the last bytes of an answer say of a reset, in the shape that a format has for errors."""

import json
import re
from collections.abc import Callable
from typing import Any

from agui_host.dialects.alpine import schema as alpine_schema
from agui_host.protocol.wire.fold import PLACES

Json = dict[str, Any]
Read = Callable[[bytes], Json]
HEAD = 2
NUMBER = 7
RESET = {"code": "reset", "epoch": NUMBER, "head": HEAD}


def last_frame(body: bytes) -> tuple[str, Json]:
    """The name and the data of a body's last server-sent event with data."""
    *_, last = re.findall(rb"(?:event: (.*)\n)?data: (\{.*\})\n\n", body)
    return last[0].decode(), json.loads(last[1])


def summary(error: Json, **rest: Any) -> Json:
    """What is common to all: the code, the epoch and the head."""
    return {"code": error["code"], "epoch": rest["epoch"], "head": rest["head"]}


def core(body: bytes) -> Json:
    name, data = last_frame(body)
    assert (name, data.pop("reset")) == ("reset", True)
    return {"code": name, **data}


def ours(body: bytes) -> Json:
    error = json.loads(body)["error"]
    return summary(error, **error["details"])


def ai_sdk(body: bytes) -> Json:
    assert body.endswith(b"data: [DONE]\n\n")
    name, data = last_frame(body)
    assert (name, data["type"]) == ("", "error")
    assert data["errorText"]
    before = json.loads(body.split(b"\n\n")[-4].removeprefix(b"data: "))
    assert (before["type"], before["transient"]) == ("data-agui-error", True)
    return dict(before["data"])


def responses(body: bytes) -> Json:
    name, data = last_frame(body)
    assert (name, data["type"], data["param"]) == ("error", "error", None)
    assert data["message"]
    assert data["sequence_number"] == (data["details"]["head"] + 1) * PLACES - 1
    return summary(data, **data["details"])


def openai(body: bytes) -> Json:
    error = json.loads(body)["error"]
    assert (error["type"], error["param"]) == ("not_found_error", None)
    return summary(error, **error["details"])


def chunks(body: bytes) -> Json:
    assert body.endswith(b"data: [DONE]\n\n")
    return openai(body.split(b"data: ")[-2])


def google(body: bytes) -> Json:
    error = json.loads(body)["error"]
    (info,) = error["details"]
    assert (error["code"], error["status"]) == (410, "NOT_FOUND")
    numbers = {name: int(text) for name, text in info["metadata"].items()}
    return summary({"code": info["reason"].lower()}, **numbers)


def a2a_stream(body: bytes) -> Json:
    name, data = last_frame(body)
    assert name == "error"
    return google(json.dumps(data).encode())


def a2a_rpc(body: bytes) -> Json:
    name, data = last_frame(body)
    assert (name, data["id"], data["error"]["code"]) == ("", 1, -32000)
    (info,) = data["error"]["data"]
    metadata = info["metadata"]
    numbers = {"epoch": int(metadata["epoch"]), "head": int(metadata["head"])}
    return {"code": info["reason"].lower(), **numbers}


def rpc(body: bytes) -> Json:
    error = json.loads(body)["error"]
    assert error["code"] == -32000
    return summary(error["data"], **error["data"])


def rpc_stream(body: bytes) -> Json:
    return rpc(json.dumps(last_frame(body)[1]).encode())


def alpine(body: bytes) -> Json:
    name, data = last_frame(body)
    assert (name, data["type"], alpine_schema.problem(data)) == ("run_error", "run_error", None)
    return summary(data["error"], **data["error"])


def run_error(event: Json) -> Json:
    assert (event["type"], "runId" in event) == ("RUN_ERROR", False)
    return summary(event, **event["metadata"])


def tanstack(body: bytes) -> Json:
    name, data = last_frame(body)
    assert name == ""
    return run_error(data)


def line(body: bytes) -> Json:
    return run_error(json.loads(body.splitlines()[-1]))
