"""MCP's requests, of clients that describe themselves in each and of those that shook hands."""

from typing import Any

import pytest

from agui_host.dialects.mcp import rpc
from agui_host.dialects.mcp.rpc import HeaderMismatch, Rpc, UnsupportedVersion
from agui_host.errors import NotFound
from agui_host.protocol.errors import BadRequest, HostError, Invalid
from agui_host.protocol.wire import json_rpc

MODERN = rpc.MODERN[0]
VERSION = f"{rpc.PREFIX}protocolVersion"
CAPABILITIES = f"{rpc.PREFIX}clientCapabilities"


def request(method: str = "tools/list", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def described(method: str = "tools/list", **params: Any) -> dict[str, Any]:
    return request(method, _meta={VERSION: MODERN}, **params)


def test_a_request_of_a_client_that_shook_hands() -> None:
    read = rpc.read(request(), {})
    assert read == Rpc(1, "tools/list", {}, modern=False, tasks=False, digest=read.digest)
    notice = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert rpc.read(notice, {}).id is None
    assert rpc.read({"jsonrpc": "2.0", "id": 1, "result": {}}, {}).method == ""


def test_a_request_that_describes_itself() -> None:
    capabilities = {"extensions": {rpc.TASKS: {}}}
    body = request(_meta={VERSION: MODERN, CAPABILITIES: capabilities})
    headers = {"mcp-protocol-version": MODERN, "mcp-method": "tools/list"}
    read = rpc.read(body, headers)
    assert (read.modern, read.tasks) == (True, True)
    assert rpc.read(request(), {"mcp-protocol-version": MODERN}).modern
    assert rpc.read(request("server/discover"), {}).modern
    assert not rpc.read(described(), {}).tasks


def test_a_repeated_request_has_the_same_digest() -> None:
    first, again = request("tools/call", name="a"), described("tools/call", name="a")
    other = request("tools/call", name="b")
    digests = [rpc.read(each, {}).digest for each in (first, {**again, "id": 2}, other)]
    assert digests[0] == digests[1] != digests[2]


def test_the_error_of_a_request_has_its_id() -> None:
    read = rpc.read_rpc({**request(), "params": [1]}, {})
    assert (read.id, type(read.error)) == (1, Invalid)
    assert rpc.read_rpc(request(), {}).error is None


@pytest.mark.parametrize(
    ("headers", "error"),
    [
        ({"mcp-method": "tools/call"}, None),
        ({"mcp-name": "ask"}, None),
        ({"mcp-name": "=?base64?YXNr?="}, None),
        ({"mcp-name": "other"}, HeaderMismatch),
        ({"mcp-method": "tools/list"}, HeaderMismatch),
        ({"mcp-protocol-version": "2025-06-18"}, HeaderMismatch),
    ],
)
def test_headers_repeat_the_body(headers: dict[str, str], error: type[Exception] | None) -> None:
    body = described("tools/call", name="ask")
    if error is None:
        assert rpc.read(body, headers).modern
        return
    with pytest.raises(error):
        rpc.read(body, headers)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ([], BadRequest),
        ({"id": 1, "method": "x"}, BadRequest),
        ({"jsonrpc": "2.0", "id": 1}, BadRequest),
        ({**request(), "id": True}, BadRequest),
        ({**request(), "id": None}, BadRequest),
        ({**request(), "params": [1]}, Invalid),
        (request(_meta=3), Invalid),
        (request(_meta={VERSION: 3}), Invalid),
        (request(_meta={VERSION: "1999-01-01"}), UnsupportedVersion),
    ],
)
def test_what_is_no_request_is_refused(body: Any, error: type[HostError]) -> None:
    with pytest.raises(error):
        rpc.read(body, {})


def test_an_error_has_a_number_and_keeps_its_code() -> None:
    assert rpc.error_of(NotFound())["code"] == json_rpc.INVALID_PARAMS
    assert rpc.error_of(UnsupportedVersion())["code"] == -32022
    assert rpc.error_of(HostError())["code"] in (json_rpc.INTERNAL_ERROR, json_rpc.SERVER_ERROR)
    data = rpc.error_of(Invalid("no", details={"path": "x"}))["data"]
    assert data == {"code": Invalid.code, "path": "x"}


def test_a_handshake_settles_on_a_version_of_both() -> None:
    assert rpc.version_for({"protocolVersion": "2024-11-05"}) == "2024-11-05"
    assert rpc.version_for({"protocolVersion": "1999-01-01"}) == rpc.HANDSHAKES[0]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"message": "hi"}, ("hi", None)),
        ({"question": "hi", "thread_id": "t"}, ("hi", "t")),
        ({"message": "hi", "tone": "warm", "thread_id": ""}, ("hi", None)),
    ],
)
def test_any_one_text_is_what_the_agent_is_asked(
    arguments: dict[str, str], text: tuple[str, str | None]
) -> None:
    assert rpc.text_of(arguments) == text


@pytest.mark.parametrize("arguments", [None, {}, {"a": "x", "b": "y"}, {"a": "x", "thread_id": 3}])
def test_nothing_or_two_texts_are_refused(arguments: Any) -> None:
    with pytest.raises(Invalid):
        rpc.text_of(arguments)
