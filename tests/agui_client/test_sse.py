"""The decoder of server-sent events: any bytes, in any pieces."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_client.sse import MAX_FRAME, Decoder, Frame, FrameTooLarge

WRITTEN = (
    'retry: 5\r\n\r\nid: 1\rdata: {"ü":\r\ndata:  1}\n\n: silence\n\n'
    "id: 2\n\ndata:🦊\u2028x\n\nlost"
)
READ = [
    Frame(None, None),
    Frame("1", '{"ü":\n 1}'),
    Frame("1", None),
    Frame("2", None),
    Frame("2", "🦊\u2028x"),
]


@given(st.lists(st.integers(0, len(WRITTEN.encode())), max_size=12))
def test_pieces_do_not_matter(cuts: list[int]) -> None:
    data = ("\ufeff" + WRITTEN).encode()
    edges = [0, *sorted(cuts), len(data)]
    decoder = Decoder()
    frames = []
    for start, end in pairwise(edges):
        frames += decoder.feed(data[start:end])
    assert frames == READ


def test_an_id_with_nul_is_no_id_and_broken_bytes_are_replaced() -> None:
    assert Decoder().feed(b"id: 4\nid: a\0b\ndata: \xff\n\n") == [Frame("4", "\ufffd")]


def test_a_name_is_of_one_frame() -> None:
    frames = Decoder().feed(b"id: 2-7\ndata: a\n\nevent: reset\ndata: b\n\ndata: c\n\n")
    assert [(frame.id, frame.event) for frame in frames] == [
        ("2-7", ""),
        ("2-7", "reset"),
        ("2-7", ""),
    ]


def test_an_endless_line_is_refused() -> None:
    decoder, piece = Decoder(), b"x" * (MAX_FRAME // 4)
    for _ in range(4):
        assert decoder.feed(piece) == []
    with pytest.raises(FrameTooLarge):
        decoder.feed(b"x")
