"""A call or a text that ends and is begun again is one for every reader.

Chunks of something else end a call in the middle, some adapters announce a call before they stream
it, and a snapshot that has more of a text begins it again.
"""

from typing import Any

import pytest

from tests.dialects.folds.conversation import retold, settled, snapshot_of, stored
from tests.dialects.folds.forms import TOOLS, Event
from tests.dialects.folds.readers import READERS

ARGUMENTS = {
    "in the middle": ('{"q"', ": 2}"),
    "before its arguments": ("", '{"q": 2}'),
    "after its arguments": ('{"q": [', "2]}", ""),
    "without any": ("", ""),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", [TOOLS[0]["name"], "search"])
@pytest.mark.parametrize("parts", ARGUMENTS.values(), ids=ARGUMENTS)
@pytest.mark.parametrize("answered", [False, True])
def test_a_call_that_is_begun_again(
    parts: tuple[str, ...], name: str, answered: bool, reader: str
) -> None:
    calls = [event for part in parts for event in _streamed(name, part)]
    log = stored([*calls, *([_event("RESULT", messageId="m", content="ok")] if answered else [])])
    *events, end = log

    def read(log: list[Event]) -> Any:
        return settled(reader, READERS[reader](log))

    assert read(retold(log)) == read(log)
    assert read([*events, snapshot_of(log), end]) == read(log)


@pytest.mark.parametrize("reader", READERS)
def test_a_result_before_the_end_of_its_call(reader: str) -> None:
    result = _event("RESULT", messageId="m", content="ok")
    begun, end = _streamed("search", "")
    log = stored([begun, end, begun, result, end])
    assert settled(reader, READERS[reader](retold(log))) == settled(reader, READERS[reader](log))


@pytest.mark.parametrize("reader", READERS)
def test_a_text_that_one_snapshot_extends_and_the_next_one_does_not(reader: str) -> None:
    text = [
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "sun"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    ]
    log = stored(text)
    *events, end = log
    longer = snapshot_of(stored([{**each, "delta": "sun and rain"} for each in text]))
    corrected = [*events, longer, snapshot_of(log), end]
    assert settled(reader, READERS[reader](corrected)) == settled(reader, READERS[reader](log))


def _streamed(name: str, arguments: str) -> list[Event]:
    pieces = [_event("ARGS", delta=arguments)] if arguments else []
    return [_event("START", toolCallName=name), *pieces, _event("END")]


def _event(kind: str, **members: str) -> Event:
    return {"type": f"TOOL_CALL_{kind}", "toolCallId": "c", **members}
