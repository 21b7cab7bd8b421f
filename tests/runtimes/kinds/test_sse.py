"""Server-sent events in every spelling and at every split."""

import pytest

from agui_host.protocol.errors import RunFailed
from agui_host.runtimes.kinds.sse import SseParser

SPELLINGS = {
    "lf": b"data: one\n\ndata: two\n\n",
    "crlf": b"data: one\r\n\r\ndata: two\r\n\r\n",
    "cr": b"data: one\r\rdata: two\r\r",
    "mixed": b"data: one\r\n\ndata: two\r\r\n",
    "byte order mark": b"\xef\xbb\xbfdata: one\n\ndata: two\n\n",
    "no blank": b"data:one\n\ndata:two\n\n",
    "comments and fields": b": hi\n\nid: 1\nevent: x\nretry: 5\ndata: one\n\n:\ndata: two\n:x\n\n",
}


def parsed(body: bytes, size: int, limit: int = 1000) -> list[str]:
    parser = SseParser(limit)
    frames = []
    for at in range(0, len(body), size):
        frames += parser.feed(body[at : at + size])
    return frames + parser.close()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_line_end_at_every_split(spelling: str, size: int) -> None:
    assert parsed(SPELLINGS[spelling], size) == ["one", "two"]


@pytest.mark.parametrize("size", [1, 2, 1000])
def test_text_of_every_script_and_separators_inside_it(size: int) -> None:
    text = "ä 中 🔑 \u2028 \u2029 \x85 \x0b \x0c"
    assert parsed(f"data: {text}\n\n".encode(), size) == [text]


def test_lines_of_one_event_are_joined() -> None:
    assert parsed(b"data: a\ndata:\ndata: b\n\n", 3) == ["a\n\nb"]


def test_half_a_character_is_replaced_and_the_next_event_is_whole() -> None:
    assert parsed(b'data: "\xf0\x9f"\n\ndata: ok\n\n', 4) == ['"\ufffd"', "ok"]


def test_an_end_without_its_empty_line_still_counts() -> None:
    assert parsed(b"data: a\n\ndata: b", 5) == ["a", "b"]


def test_nothing_is_held_above_the_limit() -> None:
    parser = SseParser(100)
    for _ in range(3):
        parser.feed(b"x" * 50)
    with pytest.raises(RunFailed, match="more than 100 bytes"):
        parser.feed(b"x" * 50)
    with pytest.raises(RunFailed):
        parsed(b"data: x\n" * 100, 10, limit=100)


def test_what_came_before_the_large_event_is_not_lost() -> None:
    parser = SseParser(10)
    assert parser.feed(b"data: a\n\ndata: " + b"x" * 50) == ["a"]
    with pytest.raises(RunFailed):
        parser.feed(b"x")


def test_a_long_event_in_small_pieces_takes_linear_time() -> None:
    body = b"data: " + b"x" * 2_000_000 + b"\n\n"
    assert len(parsed(body, 4096, limit=3_000_000)[0]) == 2_000_000
