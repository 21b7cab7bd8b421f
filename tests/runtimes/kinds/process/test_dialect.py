"""What the dialects of command lines share: whole spans, and values from lines of any shape."""

from typing import Any

import pytest

from agui_host.runtimes.kinds.process import dialect
from agui_host.runtimes.kinds.process.dialect import Dialect, of_count, of_dict, of_list, of_text


def types(events: Any) -> list[str]:
    return [event["type"].rpartition("_")[2] for event in events]


def test_spans_are_whole_or_not_there() -> None:
    assert types(dialect.text("m", "hi")) == ["START", "CONTENT", "END"]
    assert list(dialect.text("m", "")) == list(dialect.reasoning("m", "")) == []
    reasoning = list(dialect.reasoning("m", "hm"))
    assert types(reasoning) == ["START", "START", "CONTENT", "END", "END"]
    assert reasoning[2]["delta"] == "hm"
    assert {event["messageId"] for event in reasoning} == {"m"}


def test_a_call_names_its_tool_and_its_message() -> None:
    start, args, end = dialect.call("c", "", {"a": 1}, "m")
    assert (start["toolCallName"], start["parentMessageId"]) == ("tool", "m")
    assert args["delta"] == '{"a":1}'
    assert end == {"type": "TOOL_CALL_END", "toolCallId": "c"}
    assert "parentMessageId" not in dialect.call_start("c", "f")


def test_a_result_says_that_it_failed() -> None:
    assert "metadata" not in dialect.call_result("c", "ok")
    failed = dialect.call_result("c", "no", failed=True)
    assert (failed["toolCallId"], failed["metadata"]) == ("c", {"isError": True})


def test_what_has_no_place_passes_as_raw() -> None:
    assert Dialect("p").raw([1]) == {"type": "RAW", "event": [1], "source": ""}


@pytest.mark.parametrize(
    ("value", "text", "count"),
    [
        (None, "", 0), ("x", "x", 0), ({"a": 1}, '{"a":1}', 0), (3, "3", 3), (-1, "-1", 0),
        (True, "true", 0), (2**53, str(2**53), 0), (2**53 - 1, str(2**53 - 1), 2**53 - 1),
    ],
)  # fmt: skip
def test_a_command_may_print_anything(value: Any, text: str, count: int) -> None:
    assert (of_text(value), of_count(value)) == (text, count)
    assert of_dict(value) == (value if value == {"a": 1} else {})
    assert of_list(value) == []
    assert of_list([value]) == [value]
