"""``log`` tells types and sizes, and nothing of what was said."""

import structlog

from tests.runtimes.middleware.passing import chain_of, custom, passed, text, text_message


async def test_one_line_without_content() -> None:
    events = [*text_message("m", "hunter2", "!"), custom("hunter2")]
    with structlog.testing.capture_logs() as lines:
        assert await passed(chain_of({"name": "log"}), *events) == events
    (line,) = lines
    assert line["event"] == "middleware.stream"
    assert line["events"]["TEXT_MESSAGE_CONTENT"] == 2
    assert line["characters"] == len("hunter2!")
    assert (line["thread"], line["run"], line["log_level"]) == ("t", "r", "info")
    assert "hunter2" not in str(lines)


async def test_a_line_for_each_event_that_is_no_delta() -> None:
    with structlog.testing.capture_logs() as lines:
        chain = chain_of({"name": "log", "events": True, "level": "debug"})
        await passed(chain, custom(), text("a"), custom())
    assert [line.get("type") for line in lines] == ["CUSTOM", "CUSTOM", None]
    assert {line["log_level"] for line in lines} == {"debug"}


async def test_a_stream_that_was_cut_short_is_told_too() -> None:
    chain = chain_of({"name": "log"})
    with structlog.testing.capture_logs() as lines:
        chain.rest()
        chain.rest()
    assert len(lines) == 1
