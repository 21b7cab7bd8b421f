"""MCP's requests: JSON-RPC 2.0, of clients that describe themselves in each request or shook hands.

Since 2026-07-28 a request carries its version and the client's capabilities in ``_meta``, and
headers repeat what proxies want to know. Before, a client said ``initialize`` once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from protocol.errors import BadRequest, HostError, Invalid
from protocol.input.fields import wrong
from protocol.input.run_agent_input import digest_of

Json = dict[str, Any]
MODERN = ("2026-07-28",)
HANDSHAKES = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
PREFIX = "io.modelcontextprotocol/"
TASKS = PREFIX + "tasks"
NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter that the header ``Mcp-Name`` repeats."""
INVALID_PARAMS, INTERNAL_ERROR, SERVER_ERROR = -32602, -32603, -32000
CODES = {
    "bad_json": -32700,
    "bad_request": -32600,
    "unknown_method": -32601,
    "header_mismatch": -32020,
    "unsupported_protocol_version": -32022,
}


class UnsupportedVersion(BadRequest):
    """This host does not speak that version of MCP."""

    code = "unsupported_protocol_version"


class HeaderMismatch(BadRequest):
    """A header of this request contradicts its body."""

    code = "header_mismatch"


@dataclass(frozen=True, slots=True)
class Rpc:
    """A request; ``id`` is None for what wants no answer. ``modern``: it describes itself.

    ``tasks``: its client can wait for a task.
    """

    id: int | str | None
    method: str
    params: Json
    modern: bool
    tasks: bool

    @property
    def digest(self) -> str:
        """That of what it asks for; ``id`` and ``_meta`` may differ when it is repeated."""
        params = {name: value for name, value in self.params.items() if name != "_meta"}
        return digest_of("mcp", self.method, params)


def id_of(body: Any) -> int | str | None:
    """The id of a request, for the answer to one that is otherwise wrong."""
    key = body.get("id") if isinstance(body, dict) else None
    return key if isinstance(key, int | str) and not isinstance(key, bool) else None


def read(body: Any, headers: Mapping[str, str]) -> Rpc:
    """Raises BadRequest, Invalid, HeaderMismatch, UnsupportedVersion."""
    if not isinstance(body, dict) or body.get("jsonrpc") != "2.0":
        raise BadRequest("The body must be one JSON-RPC 2.0 message.")
    if "method" not in body and ("result" in body or "error" in body):
        return Rpc(None, "", {}, modern=False, tasks=False)  # We have asked nothing.
    method, params = body.get("method"), body.get("params", {})
    if not isinstance(method, str):
        raise BadRequest("A request has a method.")
    if not isinstance(params, dict):
        raise wrong("params", "an object")
    key = id_of(body)
    if "id" in body and key is None:
        raise BadRequest("The id of a request is a text or an integer.")
    meta = params.get("_meta", {})
    if not isinstance(meta, dict):
        raise wrong("params._meta", "an object")
    modern = _is_modern(method, params, meta, headers)
    return Rpc(key, method, params, modern, modern and _has_tasks(meta))


def _is_modern(method: str, params: Json, meta: Json, headers: Mapping[str, str]) -> bool:
    named, version = headers.get("mcp-protocol-version"), meta.get(f"{PREFIX}protocolVersion")
    if version is None and method != "server/discover" and named not in MODERN:
        return False
    version = version or named or MODERN[0]
    if not isinstance(version, str):
        raise wrong(f"params._meta.{PREFIX}protocolVersion", "a string")
    expected = {"mcp-protocol-version": version, "mcp-method": method}
    if isinstance(name := params.get(NAMES.get(method, "")), str):
        expected["mcp-name"] = name
    for header, value in expected.items():
        # Values that no header can carry are sent in base64.
        if headers.get(header, value) != value and not headers[header].startswith("=?base64?"):
            raise HeaderMismatch(f"The header {header} contradicts the body.")
    if version not in MODERN:
        raise UnsupportedVersion(details={"supported": list(MODERN), "requested": version})
    return True


def _has_tasks(meta: Json) -> bool:
    capabilities = meta.get(f"{PREFIX}clientCapabilities")
    extensions = capabilities.get("extensions") if isinstance(capabilities, dict) else None
    return isinstance(extensions, dict) and TASKS in extensions


def error_of(error: HostError) -> Json:
    """An error of the host as JSON-RPC's."""
    default = INVALID_PARAMS if error.status in (404, 422) else SERVER_ERROR
    code = CODES.get(error.code, INTERNAL_ERROR if error.status >= 500 else default)
    return {"code": code, "message": error.message, "data": {"code": error.code, **error.details}}


def version_for(params: Json) -> str:
    """The version to answer an ``initialize`` with."""
    version = params.get("protocolVersion")
    return str(version) if version in HANDSHAKES else HANDSHAKES[0]


def text_of(arguments: Any) -> tuple[str, str | None]:
    """What to tell the agent, and the thread to tell it in.

    Any one text will do, whatever its name is. Raises Invalid.
    """
    if not isinstance(arguments, dict):
        raise wrong("params.arguments", "an object")
    thread = arguments.get("thread_id")
    if not isinstance(thread, str | None):
        raise wrong("params.arguments.thread_id", "a string")
    texts = [v for name, v in arguments.items() if isinstance(v, str) and name != "thread_id"]
    if isinstance(arguments.get("message"), str):
        texts = [arguments["message"]]
    if len(texts) != 1:
        raise Invalid("Send one text, as message.", details={"path": "params.arguments"})
    return texts[0], thread or None
