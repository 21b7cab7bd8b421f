"""docs/examples/tanstack-chat.md in a browser: TanStack's ``useChat`` reloads in mid-answer."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.acceptance.browser.chats.example import ENDLESS, Application, run_of, script_of, text_of
from tests.acceptance.browser.test_pages import Open, open_page, session
from tests.acceptance.host import Host

__all__ = ["open_page", "session"]

APPLICATION = """
import { createRoot } from "react-dom/client";

window.chat = (id, script) => {
  const chat = <Chat {...{ agent: "scripted", id, forwardedProps: { script } }} />;
  createRoot(document.querySelector("main")).render(chat);
};
"""


@pytest.fixture
def application(open_page: Open) -> Application:
    script = script_of("tanstack-chat", APPLICATION)
    return Application(open_page("/runs/"), script, "/agui/agent/")


def test_reloads_in_mid_answer(application: Application, host: Host, tmp_path: Path) -> None:
    """Each page asks once for its messages and once for the run; the text is the log's."""
    gate, chat = tmp_path / "gate", "tanstack-reloads"
    script = [{"text": "word", "n": 30, "rate": 100}, {"until": str(gate)}, {"text": "The end."}]
    application.open(chat, script)
    application.page.get_by_role("button", name="Send").click()
    expect(application.answer).to_contain_text(" 9 word")
    for _ in range(2):
        application.requests.clear()
        application.open(chat, script)
        expect(application.answer).to_contain_text(" 20 word")
        loading, joining = application.requests
        assert loading == f"GET run?threadId={chat}"
        assert joining.startswith("GET run?offset=-1&runId=")
    gate.touch()
    expect(application.answer.last).to_contain_text("The end.")
    expect(application.page.locator("output")).to_have_text("ready")
    assert "".join(application.answer.all_text_contents()) == text_of(host, chat)
    assert len(application.requests) == 2
    application.open(chat, script)
    expect(application.answer.last).to_contain_text("The end.")
    assert "".join(application.answer.all_text_contents()) == text_of(host, chat)


def test_stop_really_stops(application: Application, host: Host) -> None:
    chat = "tanstack-stop"
    application.open(chat, [{"text": ENDLESS}, {"forever": True}])
    application.page.get_by_role("button", name="Send").click()
    expect(application.answer).to_have_text(ENDLESS)
    application.picture("tanstack-chat")
    application.page.get_by_role("button", name="Stop").click()
    expect(application.page.locator("output")).to_have_text("ready")
    assert run_of(host, chat)["status"] == "cancelled"
