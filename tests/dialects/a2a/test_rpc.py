"""A2A's requests over JSON-RPC."""

from typing import Any

import pytest

from agui_host.dialects.a2a.rpc import METHODS, OLDER, read_rpc
from agui_host.protocol.errors import Invalid

MESSAGE = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Hi."}]}


def rpc(method: Any, **params: Any) -> Any:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def test_both_names_of_a_method() -> None:
    for name in {*METHODS, *OLDER}:
        config = {"url": "https://x/"}
        params = {"message": MESSAGE, "id": "t", "pushNotificationConfig": config, **config}
        call = read_rpc(rpc(name, **params))
        assert (call.older, call.method) == (name in OLDER, OLDER.get(name, name))
    assert read_rpc(rpc("tasks/list")).method == "", "0.3 has no such method"


def test_a_message_is_taken_once() -> None:
    call = read_rpc(rpc("SendMessage", message=MESSAGE))
    assert call.take_message().message["content"] == "Hi."
    assert (call.message, call.params) == (None, {})
    with pytest.raises(Invalid):
        call.take_message()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (None, "bad_request"),
        ([], "bad_request"),
        ({**rpc("GetTask"), "id": None}, "bad_request"),
        ({**rpc("GetTask"), "jsonrpc": "1.0"}, "bad_request"),
        (rpc(7), "bad_request"),
        ({**rpc("GetTask"), "params": []}, None),
        ({**rpc("GetTask"), "params": [1]}, "invalid"),
        (rpc("SendMessage"), "invalid"),
        (rpc("message/send", message=7), "invalid"),
        (rpc("CreateTaskPushNotificationConfig", url=7), "invalid"),
    ],
)
def test_what_is_wrong_with_a_request(body: Any, code: str | None) -> None:
    error = read_rpc(body).error
    assert (error and error.code) == code


def test_parameters_as_those_of_an_address() -> None:
    call = read_rpc(rpc("ListTasks", pageSize=3, includeArtifacts=True, status=None, x=["y"]))
    assert call.query == {"pageSize": "3", "includeArtifacts": "true"}
