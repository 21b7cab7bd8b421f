"""A2A's requests over JSON-RPC, by the method names of 1.0 and of 0.3."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agui_host.dialects.a2a import older, push
from agui_host.dialects.a2a.request import SendRequest, read
from agui_host.protocol.errors import BadRequest, HostError
from agui_host.protocol.input.fields import wrong
from agui_host.protocol.wire import json_rpc
from agui_host.protocol.wire.json_rpc import call_of, id_of

Json = dict[str, Any]
CODES = json_rpc.CODES | {
    "task_not_found": -32001,
    "purged": -32001,
    "task_not_cancelable": -32002,
    "unsupported_operation": -32004,
    "version_not_supported": -32009,
}
SEND, STREAM = "SendMessage", "SendStreamingMessage"
GET, LIST, CANCEL, SUBSCRIBE = "GetTask", "ListTasks", "CancelTask", "SubscribeToTask"
SET_PUSH, GET_PUSH = "CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig"
LIST_PUSH, DELETE_PUSH = "ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig"
OLDER = {
    "message/send": SEND,
    "message/stream": STREAM,
    "tasks/get": GET,
    "tasks/cancel": CANCEL,
    "tasks/resubscribe": SUBSCRIBE,
    "tasks/pushNotificationConfig/set": SET_PUSH,
    "tasks/pushNotificationConfig/get": GET_PUSH,
    "tasks/pushNotificationConfig/list": LIST_PUSH,
    "tasks/pushNotificationConfig/delete": DELETE_PUSH,
}
METHODS = frozenset({*OLDER.values(), LIST})


@dataclass(slots=True)
class Rpc:
    """A request. ``older``: its client speaks 0.3. ``method`` is empty for an unknown one.

    ``message`` and ``config`` are the parameters of methods that have one; ``error`` is the
    request's error.
    """

    id: int | str | None
    method: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    older: bool = False
    message: SendRequest | None = None
    config: push.PushConfig | None = None
    error: HostError | None = None

    def take_message(self) -> SendRequest:
        """The message, once: nothing of it lives as long as a stream. Raises Invalid."""
        message, self.message, self.params = self.message, None, {}
        if message is None:
            raise wrong("params.message", "an object")
        return message

    def take_text(self, name: str) -> str:
        """A parameter, once: the others do not live as long as a stream. Raises Invalid."""
        value, self.params = self.text(name), {}
        return value

    def text(self, *names: str) -> str:
        """The first of these parameters that there is; a text. Raises Invalid."""
        value = next((self.params[name] for name in names if self.params.get(name)), None)
        if not isinstance(value, str):
            raise wrong(f"params.{names[0]}", "a string")
        return value

    @property
    def query(self) -> dict[str, str]:
        """The parameters that an address could have, as texts."""
        values = self.params.items()
        return {
            name: _text(value) for name, value in values if isinstance(value, str | int | float)
        }


def read_rpc(body: Any) -> Rpc:
    """Read a request; its fault is in its ``error``."""
    key = id_of(body)
    try:
        return _read(body, key)
    except HostError as error:
        return Rpc(key, error=error)


def _read(body: Any, key: int | str | None) -> Rpc:
    name, params = call_of(body)
    if key is None:
        raise BadRequest("A request has an id.")
    is_older = name in OLDER
    method = OLDER.get(name, name if name in METHODS else "")
    message = config = None
    if method in (SEND, STREAM):
        message = read(older.request(params) if is_older else params)
    elif method == SET_PUSH:
        config = push.read(params.get("pushNotificationConfig") if is_older else params)
    return Rpc(key, method, params, is_older, message, config)


def error_of(error: HostError, about: list[Json]) -> Json:
    """An error of the host as JSON-RPC's; ``about`` are its details."""
    return json_rpc.error_of(error, CODES, about)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)[:1_000]
