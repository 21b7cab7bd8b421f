"""An attachment that a message brings for old and for new readers."""

import time
from typing import Any

import pytest

from agui_host.protocol.input.run_agent_input import parse

IMAGE = {"type": "image", "source": {"type": "url", "value": "https://x/y.png"}}
DATA = {"type": "image", "source": {"type": "data", "value": "AA", "mimeType": "image/png"}}


@pytest.mark.parametrize(
    ("modern", "mirror"),
    [
        (IMAGE, {"url": "https://x/y.png"}),
        (DATA, {"data": "AA"}),
        (DATA, {"url": "data:image/png;base64,AA"}),
        (
            {"type": "image", "source": {"type": "url", "value": "data:image/png;base64,AA"}},
            {"data": "AA"},
        ),
    ],
)
def test_an_attachment_for_old_and_new_readers_counts_once(
    modern: dict[str, Any], mirror: dict[str, Any]
) -> None:
    old = {"type": "binary", "mimeType": "image/png", **mirror}
    for parts in ([modern, old], [old, modern]):
        (message,) = parse({"messages": [{"role": "user", "content": parts}]}).body["messages"]
        assert message["content"] == [modern]
    other = {**old, "url": "https://x/z.png", "data": None}
    (message,) = parse({"messages": [{"role": "user", "content": [modern, other]}]}).body[
        "messages"
    ]
    assert len(message["content"]) == 2


def test_file_names_and_media_types_tell_attachments_apart() -> None:
    old = {"type": "binary", "mimeType": "image/png", "data": "AA"}
    named = {**DATA, "metadata": {"filename": "a.png"}}
    jpeg = {**DATA, "source": {**DATA["source"], "mimeType": "image/jpeg"}}
    for modern, mirror, parts in [
        (named, {**old, "filename": "a.png"}, 1),
        (named, {**old, "filename": "b.png"}, 2),
        (named, old, 1),
        (DATA, {**old, "filename": "a.png"}, 2),
        (jpeg, old, 2),
        (named, {**old, "filename": ["a.png"]}, 1),
    ]:
        body = {"messages": [{"role": "user", "content": [modern, mirror]}]}
        assert len(parse(body).body["messages"][0]["content"]) == parts


def test_thousands_of_attachments_cost_as_much_as_they_are() -> None:
    old = [{"type": "binary", "mimeType": "image/png", "data": f"{n}"} for n in range(10_000)]
    new = [{**DATA, "source": {**DATA["source"], "value": f"x{n}"}} for n in range(10_000)]
    new[0] = {**IMAGE, "source": {"type": "url", "value": f"data:;base64,{'e' * 3_000_000}"}}
    began = time.process_time()
    body = parse({"messages": [{"role": "user", "content": [*old, *new]}]}).body
    assert time.process_time() - began < 10  # when each was compared with each: a minute
    assert len(body["messages"][0]["content"]) == 20_000
