"""Long texts are read and written in pieces, so that other threads run in between."""

import json
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agui_host.backends import work
from agui_host.protocol import encoding, patient_json, strict_json
from agui_host.protocol.intake.intake import Intake
from agui_host.protocol.sizes import weight
from agui_host.runtimes.kinds.http import _parsed

MOST = 20.0
"""How many times as long as a sum of 100,000 numbers one call may take: some 30 ms."""
CALLING_BACK = {"max", "any", "join"}
"""Calls that may run Python code meanwhile, and so let other threads run."""
ORJSON = {"dumps"}
"""It takes 40 ms for ten megabytes of quotes, all in one call."""
TEXTS = {
    "letters": "x" * 9_000_000,
    "line breaks": "\n" * 2_000_000,
    "two bytes": "é" * 3_000_000,
    "four bytes": "😀" * 2_000_000,
    "commas": "," * 9_000_000,
    "quotes": '"' * 2_000_000,
    "line separators": "\u2028" * 1_000_000,
}
TEXT = st.text(alphabet='x,"\\{\né\u2028\x85😀\ud83d\ude00', max_size=60)


def longest(call: Callable[[], object]) -> tuple[float, str]:
    """The longest call of a function in C, in seconds of this thread's processor."""
    worst, began = (0.0, ""), list[float]()

    def profile(frame: FrameType, event: str, function: Any) -> None:
        nonlocal worst
        if event == "c_call":
            began.append(time.thread_time())
        elif event in ("c_return", "c_exception") and began:
            took, name = time.thread_time() - began.pop(), function.__name__
            if name not in CALLING_BACK | ORJSON:
                worst = max(worst, (took, f"{name} at {frame.f_code.co_name}:{frame.f_lineno}"))

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return worst


def unit() -> float:
    began = time.thread_time()
    for _ in range(5):
        sum(range(100_000))
    return (time.thread_time() - began) / 5


@pytest.mark.parametrize("kind", ["TEXT_MESSAGE_CONTENT", "CUSTOM"])
@pytest.mark.parametrize("name", TEXTS)
def test_no_call_goes_through_a_long_event(name: str, kind: str) -> None:
    intake, text = Intake("t", "r"), TEXTS[name]
    intake.start()
    intake.accept({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"})
    members = {"messageId": "m", "delta": text}
    if kind == "CUSTOM":
        members = {"name": "c", "value": text}
    data = json.dumps({"type": kind, **members}, ensure_ascii=name != "four bytes")

    def take() -> None:
        work.of_json(data)
        (record,) = intake.accept(_parsed(data))
        work.of_json(record.payload)
        weight(record.payload)
        strict_json.loads(record.payload)

    took, where = longest(take)
    assert took < MOST * unit(), where


@given(TEXT, st.integers(0, 60), st.integers(0, 60))
@example("x" * 5 + "\ud83d\ude00", 0, 6)  # With its quote, a piece ends between these halves.
def test_pieces_say_the_same(text: str, one: int, other: int) -> None:
    begin, end = min(one, other), min(max(one, other), len(text))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patient_json, "PIECE", 7)
        patch.setattr(strict_json, "PIECE", 7)
        assert patient_json.count(text, ',"', begin, end) == sum(
            each in ',"' for each in text[begin:end]
        )
        assert "".join(patient_json.pieces(text)) == text
        quoted = patient_json.quote_long(text)
        stored = encoding.text_bytes(quoted)
        texts = [stored[begin:end] for begin, end in strict_json._texts(stored)]
    assert quoted == json.dumps(text, ensure_ascii=False)
    assert stored == encoding.text_bytes(quoted)
    assert len(stored.splitlines()) == len(stored.decode().splitlines()) == 1
    assert b"".join(texts) == stored[1:-1]
