"""docs/examples/use-chat.md in a real browser: ``useChat`` reloads in mid-answer, ten times."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.acceptance.browser.chats.example import ENDLESS, Application, run_of, script_of, text_of
from tests.acceptance.browser.test_pages import Open, open_page, session
from tests.acceptance.host import Host

__all__ = ["open_page", "session"]

APPLICATION = """
import { createRoot } from "react-dom/client";

window.chat = async (id, script) => {
  const messages = await load("scripted", id);
  const body = { forwardedProps: { script } };
  const chat = <Chat {...{ agent: "scripted", id, messages, body }} />;
  createRoot(document.querySelector("main")).render(chat);
};
"""
RELOADS = 10


@pytest.fixture
def application(open_page: Open) -> Application:
    return Application(open_page("/runs/"), script_of("use-chat", APPLICATION), "/api/chat/")


def test_two_reloads_in_mid_answer(application: Application, host: Host, tmp_path: Path) -> None:
    reload_in_mid_answer(application, host, tmp_path, 2)


@pytest.mark.soak  # ten reloads take too long for every change
def test_ten_reloads_in_mid_answer(application: Application, host: Host, tmp_path: Path) -> None:
    reload_in_mid_answer(application, host, tmp_path, RELOADS)


def reload_in_mid_answer(
    application: Application, host: Host, tmp_path: Path, reloads: int
) -> None:
    """The text is the log's, and each page asks once for its messages and once for the stream."""
    gate, chat = tmp_path / "gate", f"use-chat-reloads-{reloads}"
    script = [{"text": "word", "n": 300, "rate": 100}, {"until": str(gate)}, {"text": "The end."}]
    application.open(chat, script)
    application.page.get_by_role("button", name="Send").click()
    expect(application.answer).to_contain_text(" 9 word")
    assert application.requests == [f"GET {chat}", "POST scripted"]
    for number in range(reloads):
        application.requests.clear()
        application.open(chat, script)
        expect(application.answer).to_contain_text(f" {10 + number} word")
        assert application.requests == [f"GET {chat}", "GET stream"]
    gate.touch()
    expect(application.answer).to_contain_text("The end.")
    expect(application.page.locator("output")).to_have_text("ready")
    assert application.answer.text_content() == text_of(host, chat)
    assert application.requests == [f"GET {chat}", "GET stream"]


def test_stop_really_stops(application: Application, host: Host) -> None:
    chat = "use-chat-stop"
    application.open(chat, [{"text": ENDLESS}, {"forever": True}])
    application.page.get_by_role("button", name="Send").click()
    expect(application.answer).to_have_text(ENDLESS)
    application.picture("use-chat")
    application.page.get_by_role("button", name="Stop").click()
    expect(application.page.locator("output")).to_have_text("ready")
    assert run_of(host, chat)["status"] == "cancelled"
