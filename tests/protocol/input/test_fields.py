"""What every reader of an input shares."""

from typing import Any

import pytest

from agui_host.protocol.errors import Invalid
from agui_host.protocol.input.fields import object_at, objects, picked, rename, text_at, wrong


def path_of(refused: pytest.ExceptionInfo[Invalid]) -> Any:
    return refused.value.details["path"]


def test_the_protocols_spelling_wins() -> None:
    names = {"thread_id": "threadId"}
    assert rename({"thread_id": "a", "x": 1}, names) == {"threadId": "a", "x": 1}
    assert rename({"thread_id": "a", "threadId": "b"}, names) == {"threadId": "b"}


def test_an_error_names_the_place() -> None:
    error = wrong("tools.0", "an object")
    assert (error.message, error.details) == ("tools.0 must be an object.", {"path": "tools.0"})


@pytest.mark.parametrize("value", [None, [], "x", 1])
def test_an_object_is_required(value: Any) -> None:
    with pytest.raises(Invalid) as refused:
        object_at(value, "here")
    assert path_of(refused) == "here"
    assert object_at({}, "here") == {}


def test_a_list_of_objects_may_be_left_out() -> None:
    assert objects(None, "messages") == []
    assert objects([{}], "messages") == [{}]
    for value in ({}, "", [1], [{}, None]):
        with pytest.raises(Invalid) as refused:
            objects(value, "messages")
        assert path_of(refused) == "messages"


@pytest.mark.parametrize(
    ("members", "name", "where", "path"),
    [
        ({}, "id", "messages.0", "messages.0.id"),
        ({"id": ""}, "id", "messages.0", "messages.0.id"),
        ({"id": 1}, "id", "id", "id"),
        ({"text": None}, "text", "part", "part.text"),
    ],
)
def test_a_string_is_required(members: Any, name: str, where: str, path: str) -> None:
    with pytest.raises(Invalid) as refused:
        text_at(members, name, where)
    assert path_of(refused) == path


def test_only_a_text_may_be_empty() -> None:
    assert text_at({"text": ""}, "text", "part") == ""


def test_null_counts_as_absent() -> None:
    assert picked({"a": 0, "b": None, "c": 1}, ("a", "b")) == {"a": 0}
