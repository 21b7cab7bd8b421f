"""The conversation of a run in a real browser: subagents, results, attachments, citations."""

import base64
import json
import struct
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.acceptance.browser.test_pages import ended, open_page, session
from tests.acceptance.browser.test_timeline import Script, call, emit
from tests.acceptance.host import Host

__all__ = ["open_page", "session"]

pytestmark = pytest.mark.slow

Open = Callable[..., Page]
QUOTE = "subletting needs <b>consent</b>"
WIDTH = "image => image.decode().then(() => image.naturalWidth)"


def png(width: int) -> bytes:
    """A picture of one row."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    header = struct.pack(">IIBBBBB", width, 1, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"\0" + b"\xcc\x33\x66" * width)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def message_of(message: str, text: str, **owner: str) -> Script:
    return emit(
        {"type": "TEXT_MESSAGE_START", "messageId": message, "role": "assistant", **owner},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": message, "delta": text},
        {"type": "TEXT_MESSAGE_END", "messageId": message},
    )


def test_subagents_are_cards_that_hold_what_they_did(open_page: Open, host: Host) -> None:
    """Two of them speak by turns, and one of them has started the other."""
    start, end = {"type": "SUBAGENT_STARTED"}, {"type": "SUBAGENT_FINISHED"}
    result = {"rows": [{"name": "Ann"}, {"name": "Bob"}], "more": False}
    run = ended(host, [
        *emit({**start, "subagentRunId": "p", "name": "planner"}),
        *message_of("p1", "I plan.", subagentRunId="p"),
        *emit({**start, "subagentRunId": "r", "name": "reader", "parentSubagentRunId": "p"}),
        *message_of("r1", "I read.", subagentRunId="r"),
        *message_of("p2", "I plan on.", subagentRunId="p"),
        *call("c1", subagentRunId="r")[:-1],
        *emit({"type": "TOOL_CALL_RESULT", "toolCallId": "c1", "messageId": "c1-r",
               "content": json.dumps(result)}),
        *emit({**end, "subagentRunId": "r", "outcome": {"type": "success"}}),
        *emit({**end, "subagentRunId": "p", "outcome": {"type": "success"}}),
        *message_of("m", "Done."),
    ])  # fmt: skip
    page = open_page(f"/runs/{run}/#messages")
    planner = page.locator("#conversation > .subagent")
    reader = planner.locator(".inside > .subagent")
    expect(planner.locator("> summary")).to_contain_text("Subagent planner")
    expect(planner.locator("> .inside > .message .text")).to_have_text(["I plan.", "I plan on."])
    expect(reader.locator("> summary")).to_contain_text("Subagent reader")
    expect(reader.locator(".message .text")).to_have_text("I read.")
    expect(page.locator("#conversation > .message .text")).to_have_text("Done.")

    reader.locator(".tool > summary").click()
    tree = reader.locator(".tree").last
    expect(tree).to_contain_text("rows:[2]")
    expect(tree).to_contain_text('name:"Bob"')

    # A selection opens the cards that it stands in.
    reader.locator("> summary").click()
    expect(reader).not_to_have_attribute("open", "")
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    page.locator('#timeline .lane[data-kind="tool"]').click()
    page.keyboard.press("m")
    expect(reader.locator(".tool[aria-current]")).to_be_visible()


def test_attachments_and_citations(open_page: Open, host: Host) -> None:
    with host.client() as client:
        upload = client.post(
            "/api/v1/files?name=chart.png", content=png(7), headers={"Content-Type": "image/png"}
        )
    own = upload.json()["source"]
    data = base64.b64encode(png(5)).decode()
    parts: list[dict[str, Any]] = [
        {"type": "text", "text": "What is this?"},
        {"type": "image", "source": own},
        {
            "type": "image",
            "source": {"type": "url", "value": f"{host.url}{upload.json()['content_url']}"},
        },
        {"type": "image", "source": {"type": "data", "value": data, "mimeType": "image/png"}},
        {"type": "image", "source": {"type": "url", "value": "https://example.org/a.png"}},
    ]
    row = {"key": "k", "quote": QUOTE, "source": "Lease"}
    results = {"k": {"status": "verified", "source": "Lease"}, "l": {"status": "missed"}}
    both = {"citations": {"k": row, "l": {"key": "l", "quote": "cats"}}, "verifications": results}
    tree = {**both, "messages": {"a": {"messageId": "a", **both, "status": "complete"}}}
    script = [
        *emit({"type": "STATE_SNAPSHOT", "snapshot": {"sources": tree}}),
        *message_of("a", "See the lease."),
    ]
    message = {"id": "u", "role": "user", "content": parts}
    page = open_page(f"/runs/{ended(host, script, messages=[message])}/#messages")
    pictures = page.locator(".message.user .attachment img")
    expect(pictures).to_have_count(3)
    assert [picture.evaluate(WIDTH) for picture in pictures.all()] == [7, 7, 5]
    links = page.locator(".message.user .attachment a")
    assert links.nth(0).get_attribute("href") == f"/api/v1/files/{own['value']}/content"
    assert links.nth(1).get_attribute("href") == upload.json()["content_url"]
    assert links.nth(2).get_attribute("href") == "https://example.org/a.png"
    expect(page.locator(".message.user .text")).to_have_text("What is this?")

    citations = page.locator(".message.assistant .cited")
    expect(citations.locator("summary")).to_have_text("2 citations: 1 verified, 1 not found")
    citations.locator("summary").click()
    expect(citations.locator("q").first).to_have_text(QUOTE)
    assert citations.locator("b").count() == 0
