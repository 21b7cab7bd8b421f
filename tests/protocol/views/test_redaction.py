"""Redaction: the values that a link's readers do not see."""

from typing import Any

import pytest

from agui_host.protocol.views.redaction import (
    MASK,
    MOST_PATHS,
    BadPath,
    Redaction,
    plain,
    touches,
)

SECRET = Redaction(["password", "customer.email"])


@pytest.mark.parametrize("path", ["", "a..b", "a.", "items.0", "line\nbreak"])
def test_a_path_is_names_joined_by_dots(path: str) -> None:
    with pytest.raises(BadPath):
        Redaction([path])


def test_there_are_only_so_many() -> None:
    with pytest.raises(BadPath):
        Redaction(["a"] * (MOST_PATHS + 1))


@pytest.mark.parametrize(
    ("value", "visible"),
    [
        ({"password": "x", "n": 1}, {"password": MASK, "n": 1}),
        ([{"deep": {"password": {"any": "shape"}}}], [{"deep": {"password": MASK}}]),
        ({"customer": {"email": "x"}}, {"customer": {"email": MASK}}),
        ({"customer": [{"email": "x"}]}, {"customer": [{"email": MASK}]}),
        ({"email": "x"}, {"email": "x"}),
        ('{"password": "x"}', '{"password":"[redacted]"}'),
    ],
    ids=["member", "deep", "path", "array", "part of a path", "JSON in a text"],
)
def test_a_name_is_hidden_wherever_it_occurs(value: Any, visible: Any) -> None:
    assert SECRET.value(value) == visible


def test_what_hides_nothing_is_the_same_object() -> None:
    value = {"a": [1, {"b": "c"}]}
    assert SECRET.value(value) is value


def test_broken_json_that_mentions_a_name_is_hidden() -> None:
    assert SECRET.text('{"password": "x"') == MASK
    assert SECRET.text('{"other": "x"') == '{"other": "x"'
    assert SECRET.text("the password is x") == "the password is x"
    assert SECRET.text("the password is x", strict=True) == MASK


def test_a_member_written_twice_loses_its_first_value() -> None:
    """Readers would see it in the text, though not in the value."""
    assert SECRET.text('{"a": 1, "a": 2}') == '{"a":2}'


DOTTED = [
    ({"customer.email": "x"}, True),
    ({"a": [{"customer.email": {"b": "x"}}]}, True),
    ({"customer": {"email": "x"}}, True),
    ({"big.customer.email": "x"}, False),
    ({"customer.email.at": "x"}, False),
    ({"xcustomer.email": "x"}, False),
    ({"customer": {"e.email": "x"}}, False),
]


@pytest.mark.parametrize(("value", "hidden"), DOTTED, ids=range(len(DOTTED)))
def test_a_path_hides_a_member_whose_name_has_dots(value: Any, hidden: bool) -> None:
    assert ("x" in str(SECRET.value(value)).replace("xcustomer", "")) is not hidden


def test_dots_of_a_name_may_stand_anywhere_in_a_path() -> None:
    hidden = Redaction(["a.b.c.d"])
    for trail in (("a.b", "c.d"), ("a", "b.c", "d"), ("z", "a.b.c", "d"), ("*", "d"), ("*", "c.d")):
        assert hidden.hides(trail), trail
    for trail in (("a.b", "c"), ("b.c", "d"), ("a.b", "d"), ("d",), ("*", "e")):
        assert not hidden.hides(trail), trail


def test_a_patch_keeps_the_members_that_its_operations_have() -> None:
    patch = [
        {"op": "add", "path": "/a", "value": 1, "from": "/secret", "note": "secret"},
        {"op": "remove", "path": "/a", "value": "secret"},
        {"op": "move", "path": "/a", "from": "/b", "value": "secret"},
    ]
    assert plain(patch) == [
        {"op": "add", "path": "/a", "value": 1},
        {"op": "remove", "path": "/a"},
        {"op": "move", "path": "/a", "from": "/b"},
    ]
    legal = [{"op": "test", "path": "/a", "value": 1}]
    assert plain(legal) is legal


@pytest.mark.parametrize(
    ("path", "value", "hidden"),
    [
        ("/password", "x", True),
        ("/password/inside/it", "x", True),
        ("/customer/email/0", "x", True),
        ("/customer", {"email": "x"}, True),
        ("/customer/name", "x", False),
        ("/email", "x", False),
    ],
)
def test_a_patch_touches_what_is_hidden_and_what_is_inside_it(
    path: str, value: Any, hidden: bool
) -> None:
    patch = [{"op": "add", "path": path, "value": value}]
    assert touches(SECRET, patch, ("state",)) is hidden
    assert touches(SECRET, [{"op": "remove", "path": path}], ("state",)) is (
        hidden and path != "/customer"
    )
