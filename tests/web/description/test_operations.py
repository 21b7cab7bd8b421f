"""The description has every address of the API with its methods, and what it says comes."""

import re
from collections import defaultdict
from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator

from agui_host.protocol.schema import RUN_AGENT_INPUT
from agui_host.web import routing
from agui_host.web.addresses.operation import JSON, STREAM, Operation
from agui_host.web.description.operations import operations
from agui_project import urls
from tests.acceptance.host import Host
from tests.house.test_docs import as_address, routes
from tests.tenancy.automation_doors import AUTOMATION
from tests.tenancy.doors import ASGI, DJANGO, RUN
from tests.tenancy.people_doors import PEOPLE

API = ("/api/v1/", "/api/chat/", "/agui", "/agents/run", "/agents/answer", "/v1/", "/scim/v2/")
ELSEWHERE = {"/": "get", "/runs/{}/events": "", "/health": "", "/ready": ""}
"""Addresses of the API among those of the pages, and the method that is a page there."""
NOWHERE = {"/v1", "/v1/", "/scim/v2/{}"}
QUESTION = {"role": "user", "content": "What is a journal?"}
BODIES: dict[str, Any] = {
    "agui_agent_stop": {},
    "run_say": {"id": "m", "role": "user", "content": "Only the last three years."},
    "alpine_run": {"task": "What is a journal?"},
    "alpine_answer": {"run_id": "{run}", "request_id": "i"},
    "chat_send": {
        "id": "described", "messages": [
            {"id": "u", "role": "user", "parts": [{"type": "text", "text": "What is a journal?"}]}
        ],
    },
    "openai_response_create": {"model": "docs", "input": "What is a journal?"},
    "openai_conversation_create": {},
    "openai_completion_create": {"model": "docs", "messages": [QUESTION]},
    "run_stream_feed": [{"type": "RUN_FINISHED"}],
    "file_upload": {"any": "content"},
}  # fmt: skip

QUERIES = {"agui_agent_read": {"runId": RUN, "offset": "-1"}}


@pytest.fixture(scope="module")
def paths() -> dict[str, Any]:
    generator: Any = SchemaGenerator()
    return dict(generator.get_schema(request=None, public=True)["paths"])


def nameless(path: str) -> str:
    return "".join("{}" if part[:1] == "{" else part for part in _split(path)) or "/"


def _split(path: str) -> list[str]:
    return path.replace("{", "\0{").replace("}", "}\0").split("\0")


def test_every_route_of_the_api_is_described_and_nothing_else(paths: dict[str, Any]) -> None:
    http = routing.http(lambda scope: None).routes
    addresses = {address.rstrip("/") for address in (*routes(urls.urlpatterns), *routes(http))}
    routed = {address for address in addresses if address.startswith(API)} - NOWHERE
    assert {nameless(path) for path in paths} - ELSEWHERE.keys() == routed
    assert ELSEWHERE.keys() <= {nameless(path) for path in paths}


def test_every_method_of_every_door_is_described(paths: dict[str, Any]) -> None:
    doors: dict[str, set[str]] = defaultdict(set)
    for pattern, door in [*DJANGO.items(), *AUTOMATION.items(), *PEOPLE.items(), *ASGI.items()]:
        doors[f"/{as_address(pattern)}"] |= {method.lower() for method in door.answers}
    for path, described in paths.items():
        address = nameless(path)
        if address == "/health":
            continue  # it answers before everything that has doors
        assert described.keys() == doors[address] - {ELSEWHERE.get(address)}, path


def test_the_input_is_the_protocols(paths: dict[str, Any]) -> None:
    generator: Any = SchemaGenerator()
    shapes = generator.get_schema(request=None, public=True)["components"]["schemas"]
    names = {name for name in RUN_AGENT_INPUT.fields if "_" not in name}  # it takes either spelling
    assert names <= shapes["RunAgentInput"]["properties"].keys()


def test_examples_of_addresses_are_addresses(paths: dict[str, Any]) -> None:
    """As linters of OpenAPI want it."""
    generator: Any = SchemaGenerator()
    waiting, fields = [generator.get_schema(request=None, public=True)], 0
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
            if value.get("format") == "uri":
                fields += 1
                assert not re.search(r'[\s"<>\\^`{|}]', value.get("example", "")), value
        elif isinstance(value, list):
            waiting += value
    assert fields


def test_every_address_for_keys_also_takes_end_users(paths: dict[str, Any]) -> None:
    described = [row for path in paths.values() for row in path.values()]
    ways = [row["security"] for row in described if {"key": []} in row.get("security", [])]
    assert len(ways) > 100
    assert all({"key": [], "endUser": []} in each for each in ways)


def test_names_are_unique(paths: dict[str, Any]) -> None:
    names = [each["operationId"] for path in paths.values() for each in path.values()]
    assert len(names) == len(set(names))


def test_what_is_described_comes(host: Host) -> None:
    """Each operation once, with its body: a status and a media type that the table has."""
    run = host.begin("docs", threadId="described", runId=RUN, messages=[QUESTION])["id"]
    host.wait_status(run, "succeeded")
    statuses = {}
    with host.client() as client:
        for operation in sorted(operations(), key=lambda each: each.method == "delete"):
            path = operation.path.format_map(_Names(run))
            kind = STREAM if STREAM in operation.answers.get(200, {}) else JSON
            answer = client.request(
                operation.method,
                path,
                json=body_of(operation, run),
                headers={"accept": kind},
                params=QUERIES.get(operation.name),
            )
            statuses[operation.name] = answer.status_code
            if answer.status_code not in operation.answers:
                assert operation.name in REFUSED, (operation.name, answer.text)
                continue
            media = answer.headers.get("content-type", "").split(";")[0]
            assert not answer.content or media in operation.answers[answer.status_code], operation
    assert {name: statuses[name] for name in REFUSED} == REFUSED


REFUSED = {
    "alpine_answer": 404, "run_stream_feed": 400, "file_content": 404, "file_head": 404,
    "openai_conversation_item": 404, "openai_conversation_remove": 404, "run_say": 409,
}  # fmt: skip
"""This run has ended and asked nothing, the batch names no producer, and there is no such file or
item."""


class _Names(dict[str, str]):
    def __init__(self, run: str) -> None:
        super().__init__(run_id=run, response_id=f"resp_{run.replace('-', '')}")

    def __missing__(self, name: str) -> str:
        return "docs" if name == "slug" else "described"


def body_of(operation: Operation, run: str) -> Any:
    if operation.body is None and not operation.media:
        return None
    body = BODIES.get(operation.name, {"threadId": "described", "runId": RUN})
    if isinstance(body, dict) and "run_id" in body:
        return {**body, "run_id": run}
    return body
