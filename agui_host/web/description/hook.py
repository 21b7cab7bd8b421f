"""Adds the table's operations to the API's description, as drf-spectacular makes it."""

import re
from typing import Any

from agui_host.teams.api.openapi import EITHER
from agui_host.web.addresses.operation import EVENTS, JSON, Operation
from agui_host.web.addresses.shapes import Json, members, text
from agui_host.web.description.operations import PATHS, operations, shapes
from agui_project.openapi import ERROR_ANSWER, REFUSALS


def describe_streams(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A postprocessing hook of drf-spectacular; the last one."""
    event = members("type", type=text("One of the event types of AG-UI 1.0."))
    result["components"]["schemas"] |= {**shapes(), "AgUiEvent": event}
    for operation in operations():
        path = result["paths"].setdefault(operation.path, {})
        path[operation.method] = _described(operation)
    events = result["paths"]["/api/v1/runs/{run_id}/events"]["get"]
    events["responses"]["200"]["content"] |= _answer(EVENTS)["content"]
    events["responses"]["204"] = {"description": "No more events come after this cursor."}
    events["parameters"].append(_header("Last-Event-ID"))
    result["paths"] = dict(sorted(result["paths"].items()))
    return result


def _described(operation: Operation) -> Json:
    names = re.findall(r"{(\w+)}", operation.path)
    described: Json = {
        "operationId": operation.name,
        "description": operation.about,
        "tags": [operation.tag],
        "parameters": [
            *({"in": "path", "name": name, "required": True, "schema": PATHS.get(name, text())}
              for name in names),
            *({"in": "query", "name": name, "schema": shape}
              for name, shape in operation.query.items()),
            *map(_header, operation.headers),
        ],
        "responses": {
            **({} if operation.public else _refusals(operation.refusal or ERROR_ANSWER)),
            **{str(status): _answer(content) for status, content in operation.answers.items()},
        },
        "security": [{}] if operation.public else EITHER,
    }  # fmt: skip
    bodies = {**({} if operation.body is None else {JSON: operation.body}), **operation.media}
    if bodies:
        content = {media: {"schema": shape} for media, shape in bodies.items()}
        described["requestBody"] = {"content": content, "required": operation.body_needed}
    return described


def _header(name: str) -> Json:
    return {"in": "header", "name": name, "schema": text()}


def _answer(content: dict[str, Json]) -> Json:
    answer: Json = {"description": ""}
    if content:
        answer["content"] = {media: {"schema": shape} for media, shape in content.items()}
    return answer


def _refusals(shape: Json) -> Json:
    content = {"application/json": {"schema": shape}}
    return {
        str(status): {"description": meaning, "content": content}
        for status, meaning in REFUSALS.items()
    }
