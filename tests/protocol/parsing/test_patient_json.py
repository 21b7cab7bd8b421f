"""Texts of many values are read as Python's parser reads them, a little at once."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agui_host.protocol import patient_json

TEXT = st.text(alphabet=',"\\[]{}: aé\n😀\ud83d\ude00', max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(TEXT, inner, max_size=12),
    max_leaves=60,
)
SPACES = st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t:\r")])


@pytest.fixture(autouse=True)
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every text counts as one of many values; a window holds a few of them, a piece less."""
    monkeypatch.setattr(patient_json, "PIECE", 9)
    monkeypatch.setattr(patient_json, "MANY", -1)
    monkeypatch.setattr(patient_json, "WINDOW", 24)


def outcome(text: str, *, patiently: bool) -> object:
    try:
        return (patient_json.loads if patiently else json.loads)(text)
    except json.JSONDecodeError as error:
        return error.msg, error.pos


@given(VALUES, SPACES)
def test_a_value_is_the_same(value: object, spaces: tuple[str, str]) -> None:
    for ascii_only in (True, False):
        text = json.dumps(value, separators=spaces, ensure_ascii=ascii_only)
        assert patient_json.loads(f" {text}\n") == json.loads(text)


@given(VALUES, st.data())
@example([1, 2], None)
def test_a_broken_text_is_refused_at_the_same_place(value: object, data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = len(text) // 2 if data is None else data.draw(st.integers(0, len(text)))
    added = "," if data is None else data.draw(st.sampled_from([*',"[]{}:x1 ', ""]))
    broken = text[:cut] + added + text[cut:][len(added) == 0 :]
    assert outcome(broken, patiently=True) == outcome(broken, patiently=False)


def test_repeated_members_and_deep_nesting() -> None:
    assert patient_json.loads('{"a":1,"b":2,"a":3}') == {"a": 3, "b": 2}
    with pytest.raises(RecursionError):
        patient_json.loads("[" * 10_000 + "]" * 10_000)


class Looked(str):
    """A text that counts how many of its characters were looked at for brackets and commas."""

    looked_at = 0

    def count(self, sub: str, begin: int = 0, end: int | None = None) -> int:  # type: ignore[override]
        self.looked_at += len(range(*slice(begin, end).indices(len(self))))
        return super().count(sub, begin, end)


@pytest.mark.parametrize(
    "part",
    [
        "0",
        '","',
        '"a,b"',
        "[]",
        "{}",
        '{"a":[1,2]}',
        "[[1],[2]]",
        '"\\"", 1',
        '{",":","}',
        '[1,2],"]"',
        '{"a":"}","b":[{},1,2]}',
        f"[{'1,' * 200}0]",
        '"x",' * 600 + "[[0,1],0]",
        "1," * 2_000 + '"' + "x" * 8_500 + '"',
        '"' + "x" * 250_000 + '"',
        '"' + "\\n" * 150_000 + '"',
    ],
)
def test_little_is_read_at_once_and_nothing_often(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows that end within a string or an element are tried more and more seldom."""
    monkeypatch.undo()
    monkeypatch.setattr(patient_json, "LONG", 0)
    text = Looked(f"[{','.join([part] * (300_000 // len(part)))}]")
    decoder: Any = json.JSONDecoder()
    read = list[int]()
    scan = decoder.scan_once

    def counted(text: str, at: int) -> tuple[object, int]:
        try:
            value, end = scan(text, at)
        except (StopIteration, ValueError):
            read.append(len(text) - at)
            raise
        read.append(end - at)
        return value, end

    decoder.scan_once = counted
    assert patient_json.loads(text, decoder) == json.loads(text)
    assert max(read) <= max(patient_json.WINDOW, min(len(part), patient_json.PIECE)) + 2
    assert sum(read) < 3 * len(text)
    assert text.looked_at < 20 * len(text)
