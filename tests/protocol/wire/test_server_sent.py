"""Our own server-sent events, taken apart."""

import pytest

from agui_host.protocol.wire.server_sent import blocks


@pytest.mark.parametrize(
    ("sse", "data"),
    [
        (b"", []),
        (b": ping\n\n", []),
        (b"retry: 1000\n\n", []),
        (b"retry: 1000\n: ping\nid: 2\nid: 3\ndata: x\n\n: ping\n", [(b"3", b"x")]),
        (b'data: {"a":1}\n\n', [(None, b'{"a":1}')]),
        (b"id: 3\ndata: x\n\nid: 7-4\ndata: y\n\n", [(b"3", b"x"), (b"7-4", b"y")]),
        (b"id: 3\ndata: x\n\nid: 4\ndata: cut", [(b"3", b"x")]),
    ],
)
def test_data_comes_with_its_id(sse: bytes, data: list[tuple[bytes | None, bytes]]) -> None:
    assert list(blocks(sse)) == data
