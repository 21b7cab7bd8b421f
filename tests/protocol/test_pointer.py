"""JSON Pointers, by RFC 6901's own examples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_host.protocol.pointer import pointer, steps


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("", []),
        ("/", [""]),
        ("/foo/0", ["foo", "0"]),
        ("/a~1b", ["a/b"]),
        ("/m~0n", ["m~n"]),
        ("/~01", ["~1"]),
    ],
)
def test_a_pointer_is_written_and_read(text: str, path: list[str]) -> None:
    assert pointer(path) == text
    assert steps(text) == path


@given(st.lists(st.text(max_size=8), max_size=5))
def test_any_path_comes_back(path: list[str]) -> None:
    assert steps(pointer(path)) == path
