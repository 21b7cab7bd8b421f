"""Messages for readers of AG-UI 0.x."""

from typing import Any

import pytest

from agui_host.protocol.views.legacy_messages import UNKNOWN_MEDIA, as_text, message_for

TEXT = {"type": "text", "text": "see"}
IMAGE = {"type": "image", "source": {"type": "url", "value": "https://a/i.png"}}
DATA = {
    "type": "document",
    "source": {"type": "data", "value": "QQ==", "mimeType": "text/plain"},
    "metadata": {"filename": "a.txt"},
}
HANDLE = {"type": "document", "source": {"type": "file", "value": "file-1"}}


def user(*parts: Any) -> dict[str, Any]:
    return {"id": "u", "role": "user", "content": list(parts)}


@pytest.mark.parametrize(
    ("role", "reasoning", "parts", "is_left_out"),
    [
        ("reasoning", False, True, True),
        ("reasoning", True, True, False),
        ("activity", True, False, True),
        ("activity", True, True, False),
        ("user", False, False, False),
    ],
)
def test_a_message_that_a_reader_cannot_hold_is_left_out(
    role: str, reasoning: bool, parts: bool, is_left_out: bool
) -> None:
    message = {"id": "m", "role": role, "content": "x"}
    message_view = message_for(message, reasoning=reasoning, media=True, parts=parts)
    assert message_view == (None if is_left_out else message)


def test_parts_become_text_where_the_reader_knows_none() -> None:
    message_view = message_for(user(TEXT, IMAGE, DATA), reasoning=True, media=False, parts=False)
    assert message_view is not None
    assert message_view["content"] == "see\n[image: https://a/i.png]\n[document: a.txt]"
    tool = {"id": "t", "role": "tool", "toolCallId": "c", "content": [TEXT]}
    assert message_for(tool, reasoning=True, media=True, parts=True) == {**tool, "content": "see"}


def test_media_become_the_binary_parts_of_before() -> None:
    message_view = message_for(
        user(TEXT, IMAGE, DATA, HANDLE), reasoning=True, media=False, parts=True
    )
    assert message_view is not None
    assert message_view["content"] == [
        TEXT,
        {"type": "binary", "mimeType": UNKNOWN_MEDIA, "url": "https://a/i.png"},
        {"type": "binary", "mimeType": "text/plain", "data": "QQ==", "filename": "a.txt"},
        {"type": "text", "text": "[document: file-1]"},
    ]
    same = message_for(user(TEXT, IMAGE), reasoning=True, media=True, parts=True)
    assert same == user(TEXT, IMAGE)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ({"type": "audio", "source": {"mimeType": "audio/ogg"}}, "[audio: audio/ogg]"),
        ({"type": "audio", "metadata": {"filename": ["a"]}}, '[audio: ["a"]]'),
        ({"type": "audio"}, "[audio]"),
        ({}, "[None]"),
    ],
)
def test_a_part_is_named_by_what_is_known_of_it(part: dict[str, Any], text: str) -> None:
    assert as_text([part]) == text
    assert as_text("plain") == "plain"
