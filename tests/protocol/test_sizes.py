"""An event is bounded by its length and by its values; containers weigh more than their text."""

from agui_host.protocol.sizes import CONTAINER_BYTES, MAX_EVENT_BYTES, is_too_large, weight
from agui_host.protocol.strict_json import MAX_VALUES


def test_an_event_is_bounded_by_its_length_and_by_its_values() -> None:
    assert not is_too_large(b"x" * 100, 100)
    assert is_too_large(b"x" * 101, 100)
    assert is_too_large(b"[" + b"[]," * MAX_VALUES + b"0]", MAX_EVENT_BYTES)


def test_brackets_in_texts_are_not_values() -> None:
    assert not is_too_large(b'"' + b"[]," * MAX_VALUES + b'"', MAX_EVENT_BYTES)


def test_a_container_weighs_more_than_its_text() -> None:
    assert weight('{"a":[1]}') == weight(b'{"a":[1]}') == 9 + 2 * CONTAINER_BYTES
