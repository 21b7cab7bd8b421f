"""A call that ends and is begun again is one call for every reader.

Chunks of something else end a call in the middle, and some adapters announce a call before they
stream it.
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


def _streamed(name: str, arguments: str) -> list[Event]:
    pieces = [_event("ARGS", delta=arguments)] if arguments else []
    return [_event("START", toolCallName=name), *pieces, _event("END")]


def _event(kind: str, **members: str) -> Event:
    return {"type": f"TOOL_CALL_{kind}", "toolCallId": "c", **members}
