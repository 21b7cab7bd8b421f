"""Which parts of a state repeat the state from before the run."""

from typing import Any

import pytest

from agui_host.protocol.views.before import GONE, Before

OLD = {
    "doc": {"title": "secret", "n": 1},
    "todos": [{"text": "secret todo", "done": False}, {"text": "other", "done": False}],
    "status": "idle",
    "numbers": [1, 2],
    "empty": {},
}


@pytest.mark.parametrize(
    ("value", "own"),
    [
        pytest.param(OLD, GONE, id="all of it"),
        pytest.param({**OLD, "mine": 1}, {"mine": 1}, id="a new member"),
        pytest.param({"doc": {"title": "secret", "n": 2}}, {"doc": {"n": 2}}, id="a nested change"),
        pytest.param({"status": "busy"}, {"status": "busy"}, id="a new text"),
        pytest.param({"status": "idle, then busy"}, GONE, id="a text that continues the old one"),
        pytest.param({"elsewhere": "secret"}, GONE, id="a text that has moved"),
        pytest.param({"copy": [OLD["doc"]]}, GONE, id="an object that has moved"),
        pytest.param(
            {"todos": [{"text": "new", "done": False}, {"text": "secret todo", "done": True}]},
            {"todos": [{"text": "new", "done": False}]},
            id="elements count as a whole",
        ),
        pytest.param({"numbers": [1, 2, 3]}, {"numbers": [3]}, id="numbers of an array"),
        pytest.param({"doc": {"n": 1.0}, "empty": {}}, GONE, id="equal values"),
        pytest.param({"doc": {"n": True}}, {"doc": {"n": True}}, id="true is not 1"),
        pytest.param([1], [1], id="another kind of state"),
    ],
)
def test_what_is_own(value: Any, own: Any) -> None:
    assert Before(OLD).own(value)[0] == own


def test_all_of_a_state_is_own_if_there_was_none() -> None:
    value = {"a": [1]}
    assert Before().own(value) == (value, set())
    assert Before().own(value)[0] is value
    assert not Before(None)


def test_a_value_is_compared_with_what_stood_at_its_path() -> None:
    assert Before(OLD).own("secret more", ["doc", "title"])[0] is GONE
    assert Before(OLD).own(1, ["doc", "n"])[0] is GONE
    assert Before(OLD).own(1, ["doc", "m"])[0] == 1


def test_arrays_that_lost_elements_are_named() -> None:
    assert Before(OLD).own({"todos": ["other", "new"]}) == ({"todos": ["new"]}, {("todos",)})
