import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_host.protocol.encoding import DELTA_IDS, clean_text, encode

ANY_TEXT = st.text(st.characters(), max_size=20)


def test_compact_utf8_in_the_order_of_the_event() -> None:
    event = {"type": "CUSTOM", "name": "grüße", "value": [1, None, {"a": "b"}]}
    assert encode(event) == '{"type":"CUSTOM","name":"grüße","value":[1,null,{"a":"b"}]}'.encode()


@pytest.mark.parametrize("type_", sorted(DELTA_IDS))
@given(name=ANY_TEXT, delta=ANY_TEXT)
def test_a_delta_reads_back_as_it_was(type_: str, name: str, delta: str) -> None:
    event = {"type": type_, DELTA_IDS[type_]: name, "delta": delta, "timestamp": 1}
    payload = encode(event)
    expected = {k: clean_text(v) if isinstance(v, str) else v for k, v in event.items()}
    assert json.loads(payload) == expected
    assert b"\n" not in payload
    assert b"\x00" not in payload


def test_a_delta_with_more_to_say_keeps_it() -> None:
    event = {
        "type": "TEXT_MESSAGE_CONTENT",
        "messageId": "m",
        "delta": "x",
        "subagentRunId": "s",
    }
    assert json.loads(encode(event)) == event


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_json_has_no_word_for_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        encode({"type": "CUSTOM", "name": "n", "value": value})


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("plain", "plain"),
        ("é\U0001f600", "é\U0001f600"),
        ("a\ud800b", "a\ufffdb"),
        ("\udc00", "\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
        ("\ud800\ud83d\ude00\udc00", "\ufffd\U0001f600\ufffd"),
    ],
)
def test_halves_of_characters_are_replaced_and_pairs_are_joined(text: str, clean: str) -> None:
    assert clean_text(text) == clean
    assert json.loads(encode({"type": "X", text: text})) == {"type": "X", clean: clean}
