"""Documents that a user attached: their text, however it was encoded."""

import base64
from typing import Any

import pytest

from agui_host.runtimes.context.attachments import decoded, document


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ({"type": "document", "source": {"type": "data", "value": encoded(b"a,b")}}, "a,b"),
        ({"type": "binary", "data": encoded(b"a,b")}, "a,b"),
        ({"type": "binary", "data": "a,b\n1,2"}, "a,b\n1,2"),
        ({"type": "document", "source": {"type": "url", "value": "https://x"}}, None),
        ({"type": "binary", "url": "https://x"}, None),
        ({"type": "text", "text": "a"}, None),
        ({"type": "document", "source": {"type": "data"}}, None),
    ],
)
def test_only_a_document_that_carries_its_data_has_a_text(
    part: dict[str, Any], text: str | None
) -> None:
    assert document(part) == text


@pytest.mark.parametrize("coding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_the_encoding_is_found(coding: str) -> None:
    assert decoded("naïve €".encode(coding)) == "naïve €"
