"""An event is bounded by its length and by its values; containers weigh more than their text."""

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from agui_host.protocol import sizes
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


LONG: dict[str, Any] = {
    "messages": [{"id": f"m{n}", "role": "user", "content": "some words " * 30} for n in range(N)],
    "messages beyond ASCII": [{"id": f"m{n}", "content": "漢 letters 😀 " * 20} for n in range(N)],
    "small integers": [0, 42, 200] * 20 * N,
    "values in one place": {"text": "a" * 3_000_000, "values": [[] for _ in range(N)]},
}


@pytest.mark.parametrize("shape", LONG)
def test_windows_of_a_long_text_are_enough(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each claim of a run waits until the history of its thread is counted."""
    looked_at: list[int] = []

    def bytes_of(part: bytes | str) -> bytes:
        looked_at.append(len(part))
        return part if isinstance(part, bytes) else part.encode()

    monkeypatch.setattr(sizes, "_bytes", bytes_of)
    text = json.dumps(LONG[shape], ensure_ascii=False)
    estimates = [memory_of(text), memory_of(text.encode())][: 1 + text.isascii()]
    assert sum(looked_at) <= 2 * sizes.SAMPLED
    monkeypatch.setattr(sizes, "SAMPLED", len(text))
    least = 0.8 if text.isascii() else 0.4  # the whole text is measured by bytes, not characters
    assert all(least < estimate / memory_of(text) < 1.25 for estimate in estimates)
