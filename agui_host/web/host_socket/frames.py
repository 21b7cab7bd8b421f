"""JSON-RPC 2.0 as the socket speaks it: requests in frames, texts of outgoing frames."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from rest_framework.renderers import JSONRenderer

from agui_host.errors import UnknownMethod
from agui_host.protocol import strict_json
from agui_host.protocol.errors import BadRequest, HostError, Invalid
from agui_host.protocol.ids import FIRST_EPOCH, Position
from agui_host.protocol.strict_json import BadJson
from agui_host.web.shares import parsing

SUBPROTOCOL = "agui.host.v1"
VERSION = "2.0"


NUMBERS: tuple[tuple[type[HostError], int], ...] = (
    (BadJson, -32700),
    (UnknownMethod, -32601),
    (Invalid, -32602),
    (BadRequest, -32600),
)
"""JSON-RPC's own numbers; every other error has its HTTP status, which no number of theirs is."""

Id = str | int | float | None


@dataclass(frozen=True, slots=True)
class Call:
    """A request, or a notification: that has no ``id``, and so no answer."""

    method: str
    params: dict[str, Any]
    id: Id
    wants_answer: bool


class Refused(Exception):
    """A frame that is no call; ``id`` is that of the answer."""

    def __init__(self, id: Id, error: HostError) -> None:
        super().__init__(error.message)
        self.id = id
        self.error = error


def parse(message: Mapping[str, Any]) -> Call:
    """The call in a message of ASGI. Raises Refused."""
    try:
        value = _value(message)
    except HostError as error:
        raise Refused(None, error) from None
    id_ = value.get("id")
    if isinstance(id_, bool) or not isinstance(id_, str | int | float | None):
        raise Refused(None, BadRequest("id must be a string or a number."))
    method, params = value.get("method"), value.get("params", {})
    if value.get("jsonrpc") != VERSION or not isinstance(method, str):
        raise Refused(id_, BadRequest('Send {"jsonrpc": "2.0", "id", "method", "params"}.'))
    if not isinstance(params, dict):
        raise Refused(id_, Invalid("params must be an object.", details={"path": "params"}))
    return Call(method, params, id_, "id" in value)


def _value(message: Mapping[str, Any]) -> dict[str, Any]:
    text = message.get("text")
    if text is None:
        raise BadRequest("Send text frames; this one is binary.")
    data = text.encode(errors="surrogatepass")
    parsing.refuse_size(len(data))
    value = strict_json.loads(data)
    if not isinstance(value, dict):
        raise BadRequest("A frame is one JSON-RPC object; batches are not supported.")
    return value


def answer(id_: Id, result: Any) -> str:
    """The answer to a request."""
    return _text({"jsonrpc": VERSION, "id": id_, "result": result})


def failure(id_: Id, error: HostError) -> str:
    """An error: ``data`` has the API's code and details, and how many seconds to wait, if known."""
    number = next((number for kind, number in NUMBERS if isinstance(error, kind)), error.status)
    data: dict[str, Any] = {"code": error.code, "details": error.details}
    if "Retry-After" in error.headers:
        data["retry_after"] = int(error.headers["Retry-After"])
    problem = {"code": number, "message": error.message, "data": data}
    return _text({"jsonrpc": VERSION, "id": id_, "error": problem})


def notification(method: str, **params: Any) -> str:
    """A frame that wants no answer."""
    return _text({"jsonrpc": VERSION, "method": method, "params": params})


def event(subscription: str, run: UUID, at: Position, payload: str) -> str:
    """The frame of one event, whose stored text is sent as it is.

    It has its own cursor only if ``seq`` is none.
    """
    cursor = "" if at.epoch <= FIRST_EPOCH else f'"cursor":"{at.name}",'
    return (
        f'{{"jsonrpc":"{VERSION}","method":"event","params":{{"subscription":"{subscription}",'
        f'"run":"{run}","seq":{at},{cursor}"event":{payload}}}}}'
    )


def _text(value: Any) -> str:
    return bytes(JSONRenderer().render(value)).decode()
