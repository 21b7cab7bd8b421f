"""An event is bounded by its length and by its values; containers weigh more than their text."""

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from agui_host.protocol.sizes import (
    CONTAINER_BYTES,
    MAX_EVENT_BYTES,
    is_too_large,
    memory_of,
    weight,
)
from agui_host.protocol.strict_json import MAX_VALUES


def test_an_event_is_bounded_by_its_length_and_by_its_values() -> None:
    assert not is_too_large(b"x" * 100, 100)
    assert is_too_large(b"x" * 101, 100)
    assert is_too_large(b"[" + b"[]," * MAX_VALUES + b"0]", MAX_EVENT_BYTES)


def test_brackets_in_texts_are_not_values() -> None:
    assert not is_too_large(b'"' + b"[]," * MAX_VALUES + b'"', MAX_EVENT_BYTES)


def test_a_container_weighs_more_than_its_text() -> None:
    assert weight('{"a":[1]}') == weight(b'{"a":[1]}') == 9 + 2 * CONTAINER_BYTES


N = 30_000
SHAPES: dict[str, Any] = {
    "small integers": [0, 42, 200] * N,
    "true and null": [True, None] * N,
    "integers": list(range(1000, N)),
    "floats": [n / 7 for n in range(N)],
    "texts": [f"s{n}" for n in range(N)],
    "empty arrays": [[] for _ in range(N)],
    "empty objects": [{} for _ in range(N)],
    "objects of a member": [{"a": n} for n in range(N)],
    "many members": {f"key {n}": n for n in range(N)},
    "rows": [{"id": n, "name": f"row {n}", "score": n / 7} for n in range(N)],
    "half of it small": [[n, 0] for n in range(N)],
    "a text": "a" * N,
    "a text with an emoji": "a" * N + "😀",
    "a text with a Chinese letter": "a" * N + "漢",
}


@pytest.mark.parametrize("loads", [orjson.loads, json.loads])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_memory_of_a_value_is_estimated_from_its_text(
    shape: str, loads: Callable[[bytes], Any]
) -> None:
    text = orjson.dumps(SHAPES[shape])
    tracemalloc.start()
    try:
        value = loads(text)
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert value == SHAPES[shape]
    assert 0.95 < memory_of(text) / taken < 2.6
    spaced = json.dumps(value, ensure_ascii=False)
    assert 0.95 < memory_of(spaced) / taken < 2.6


def test_small_integers_between_large_texts_do_not_hide_them() -> None:
    text = orjson.dumps([*[0] * N, *[f"text {n}" for n in range(N)], *[0] * N])
    assert memory_of(text) > 64 * N
