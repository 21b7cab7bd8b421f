"""The log without RAW and ``rawEvent``."""

import pytest

from agui_host.protocol.views.raw import payload


@pytest.mark.parametrize(
    ("stored", "visible"),
    [
        (b'{"type":"CUSTOM","name":"n","value":1}', b'{"type":"CUSTOM","name":"n","value":1}'),
        (b'{"type":"RAW","event":{}}', None),
        (b'{"type":"CUSTOM","name":"n","value":1,"rawEvent":{"x":1}}',) * 2,
        (b'{"type":"CUSTOM","name":"\\"RAW\\"","value":"\\"rawEvent\\""}',) * 2,
    ],
    ids=["plain", "RAW", "with its source", "the words in a text"],
)
def test_what_is_left_out(stored: bytes, visible: bytes | None) -> None:
    if visible is not None:
        visible = visible.replace(b',"rawEvent":{"x":1}', b"")
    assert payload(stored) == visible
