"""MCP's requests: JSON-RPC 2.0, of clients that describe themselves in each request or shook hands.

Since 2026-07-28 a request carries its version and the client's capabilities in ``_meta``, and
headers repeat what proxies want to know. Before, a client said ``initialize`` once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agui_host.protocol.errors import BadRequest, HostError, Invalid
from agui_host.protocol.input.fields import object_at, wrong
from agui_host.protocol.input.run_agent_input import digest_of
from agui_host.protocol.intake.response_schema import ResponseSchema, Unusable
from agui_host.protocol.strict_json import dumps
from agui_host.protocol.wire import json_rpc
from agui_host.protocol.wire.json_rpc import call_of, id_of, message_of

Json = dict[str, Any]
MODERN = ("2026-07-28",)
HANDSHAKES = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
PREFIX = "io.modelcontextprotocol/"
TASKS = PREFIX + "tasks"
NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter that the header ``Mcp-Name`` repeats."""
LONGEST_TOKEN = 1_000
CODES = json_rpc.CODES | {
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

    ``tasks``: its client can wait for a task. ``progress_token``: the name under which it wants
    notifications of progress. ``digest`` is that of its content; ``id`` and ``_meta`` can
    differ when it is repeated. ``error`` is the request's error.
    """

    id: int | str | None
    method: str = ""
    params: Json = field(default_factory=dict)
    modern: bool = True
    tasks: bool = False
    progress_token: int | str | None = None
    digest: str = ""
    error: HostError | None = None


def read_rpc(body: Any, headers: Mapping[str, str]) -> Rpc:
    """Read a request; its fault is in its ``error``."""
    try:
        return read(body, headers)
    except HostError as error:
        return Rpc(id_of(body), error=error)


def read(body: Any, headers: Mapping[str, str]) -> Rpc:
    """Raises BadRequest, Invalid, HeaderMismatch, UnsupportedVersion."""
    message = message_of(body)
    if "method" not in message and ("result" in message or "error" in message):
        return Rpc(None, modern=False)  # We have asked nothing.
    method, params = call_of(message)
    meta = params.get("_meta", {})
    if not isinstance(meta, dict):
        raise wrong("params._meta", "an object")
    modern = _is_modern(method, params, meta, headers)
    content = {name: value for name, value in params.items() if name != "_meta"}
    return Rpc(
        id_of(message),
        method,
        params,
        modern,
        tasks=modern and _has_tasks(meta),
        progress_token=_token(meta.get("progressToken")),
        digest=digest_of("mcp", method, content),
    )


def _token(value: Any) -> int | str | None:
    if isinstance(value, str):
        return value[:LONGEST_TOKEN]
    return value if isinstance(value, int) and not isinstance(value, bool) else None


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
    return json_rpc.error_of(error, CODES, {"code": error.code, **error.details})


def version_for(params: Json) -> str:
    """The version to answer an ``initialize`` with."""
    version = params.get("protocolVersion")
    return str(version) if version in HANDSHAKES else HANDSHAKES[0]


def text_of(arguments: Any) -> tuple[str, str | None]:
    """The message to the agent, and its thread.

    Any one text will do, whatever its name is. Raises Invalid.
    """
    arguments, thread = _threaded(arguments)
    texts = [v for name, v in arguments.items() if isinstance(v, str) and name != "thread_id"]
    if isinstance(arguments.get("message"), str):
        texts = [arguments["message"]]
    if len(texts) != 1:
        raise Invalid("Send one text, as message.", details={"path": "params.arguments"})
    return texts[0], thread


def values_of(arguments: Any, schema: Json) -> tuple[Json, str | None]:
    """The arguments that fit an agent's own schema, and the thread. Raises Invalid."""
    own = schema.get("properties", {})
    if isinstance(own, dict) and "thread_id" in own:
        values, thread = object_at(arguments, "params.arguments"), None
    else:
        values, thread = _threaded({} if arguments is None else arguments)
        values = {name: value for name, value in values.items() if name != "thread_id"}
    try:
        problems = ResponseSchema(schema).problems(values)
    except Unusable as unusable:
        raise Invalid(f"The schema of this tool cannot be checked: {unusable}") from None
    if problems:
        details = {"path": "params.arguments", "problems": problems}
        raise Invalid("The arguments do not fit the tool's schema.", details=details)
    return values, thread


def as_message(values: Json) -> str:
    """Arguments as a message: the one text that they are, or all of them as JSON."""
    texts = [value for value in values.values() if isinstance(value, str)]
    return texts[0] if len(texts) == len(values) == 1 else dumps(values)


def _threaded(arguments: Any) -> tuple[Json, str | None]:
    values = object_at(arguments, "params.arguments")
    thread = values.get("thread_id")
    if not isinstance(thread, str | None):
        raise wrong("params.arguments.thread_id", "a string")
    return values, thread or None
