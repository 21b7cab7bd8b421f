"""What the dialects over JSON-RPC have in common."""

from typing import Any

import pytest

from agui_host.errors import Conflict, NotFound, Unavailable
from agui_host.protocol.errors import BadRequest, HostError, Invalid
from agui_host.protocol.wire.json_rpc import CODES, call_of, error_of, id_of


@pytest.mark.parametrize(
    ("body", "key"),
    [
        ({"id": "a"}, "a"),
        ({"id": "a" * 1_000}, "a" * 1_000),
        ({"id": "a" * 1_001}, None),
        ({"id": 0}, 0),
        ({"id": True}, None),
        ({"id": None}, None),
        ({"id": [1]}, None),
        ({}, None),
        ([{"id": 1}], None),
        (None, None),
    ],
)
def test_the_id_of_whatever_came(body: Any, key: Any) -> None:
    assert id_of(body) == key


CALL = {"jsonrpc": "2.0", "id": 1, "method": "m"}


@pytest.mark.parametrize("params", [{}, {"params": None}, {"params": []}])
def test_parameters_can_be_left_out(params: Any) -> None:
    assert call_of({**CALL, **params}) == ("m", {})


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ([CALL], BadRequest),
        ({**CALL, "jsonrpc": "1.0"}, BadRequest),
        ({**CALL, "method": None}, BadRequest),
        ({**CALL, "id": None}, BadRequest),
        ({**CALL, "params": [1]}, Invalid),
        ({**CALL, "params": ""}, Invalid),
    ],
)
def test_no_call(body: Any, error: type[HostError]) -> None:
    with pytest.raises(error):
        call_of(body)


@pytest.mark.parametrize(
    ("error", "number"),
    [
        (BadRequest(), -32600),
        (Invalid(), -32602),
        (NotFound(), -32602),
        (Conflict(), -32000),
        (Unavailable(), -32603),
    ],
)
def test_the_number_of_an_error(error: HostError, number: int) -> None:
    data = {"code": error.code}
    made = {"code": number, "message": error.message, "data": data}
    assert error_of(error, CODES, data) == made
    assert error_of(error, {error.code: -1}, data)["code"] == -1
