"""The parameters of a request over the host's socket."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from agui_host.errors import BadCursor
from agui_host.protocol.errors import Invalid
from agui_host.web.host_socket import params

KEY = UUID(int=7)


def test_what_is_right_is_read() -> None:
    values = {"a": "text", "id": str(KEY), "window": 1, "null": None}
    assert params.text(values, "a") == params.optional_text(values, "a") == "text"
    assert params.uuid(values, "id") == params.optional_uuid(values, "id") == KEY
    assert params.optional_text(values, "null") is params.optional_uuid(values, "absent") is None
    assert (params.window(values), params.window({})) == (1, params.WINDOW)
    assert (params.cursor(None), params.cursor(3)) == (0, 3)


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (params.text, ""), (params.text, 3), (params.text, None),
        (params.optional_text, 3),
        (params.uuid, "7"), (params.uuid, None), (params.optional_uuid, ""),
    ],
)  # fmt: skip
def test_an_error_names_the_parameter(read: Callable[..., Any], value: Any) -> None:
    with pytest.raises(Invalid) as refused:
        read({"name": value}, "name")
    assert refused.value.details == {"path": "name"}


@pytest.mark.parametrize("value", [0, -1, params.MOST_WINDOW + 1, True, "256", 1.0, None])
def test_a_window_has_bounds(value: Any) -> None:
    with pytest.raises(Invalid):
        params.window({"window": value})


@pytest.mark.parametrize("value", [-1, True, "3", 1.0])
def test_a_cursor_is_a_number_of_an_event(value: Any) -> None:
    with pytest.raises(BadCursor):
        params.cursor(value)
