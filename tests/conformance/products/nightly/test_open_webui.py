"""Open WebUI in Chromium: its chats are threads of the host, and its Stop ends the run."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.acceptance.host import Host, free_port, wait_for
from tests.chromium import browser
from tests.conformance.products.conftest import python
from tests.conformance.products.readers import runs, spoken

__all__ = ["browser"]
pytestmark = [pytest.mark.soak, pytest.mark.judge, pytest.mark.timeout(1200)]
TURNS = 7
HEADER = {"ENABLE_FORWARD_USER_INFO_HEADERS": "true"}
"""It then names the chat in its requests."""
ENVIRONMENT = {
    "WEBUI_AUTH": "false",
    "WEBUI_SECRET_KEY": "a secret of this test",
    "ENABLE_OLLAMA_API": "false",
    "RAG_EMBEDDING_ENGINE": "openai",
}
"""Nobody signs in, and there are no models on this machine."""


class WebUI:
    """Open WebUI as ``open-webui serve`` starts it, with the host as its only connection."""

    def __init__(self, host: Host, folder: Path, **env: str) -> None:
        port, self.log = free_port(), folder / "open-webui.log"
        self.url = f"http://127.0.0.1:{port}"
        command = [python("open-webui").with_name("open-webui"), "serve"]
        connection = {"OPENAI_API_BASE_URL": f"{host.url}/v1", "OPENAI_API_KEY": host.key}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, "--host", "127.0.0.1", "--port", str(port)],
                env={**os.environ, **ENVIRONMENT, **connection, "DATA_DIR": str(folder), **env},
                cwd=folder, stdout=log, stderr=log,
            )  # fmt: skip
        try:
            wait_for(self.is_up, "Open WebUI", seconds=240)
        except BaseException:
            self.stop()
            raise

    def is_up(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()[-3000:]
        try:
            return httpx.get(f"{self.url}/health", timeout=2).status_code == 200
        except httpx.HTTPError:
            return False

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)


@pytest.fixture(scope="module", params=[HEADER, {}], ids=["header", "history"])
def webui(
    request: pytest.FixtureRequest, concierge: Host, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WebUI]:
    server = WebUI(concierge, tmp_path_factory.mktemp("open-webui"), **request.param)
    yield server
    server.stop()


@pytest.fixture
def page(browser: Browser, webui: WebUI) -> Iterator[Page]:
    """A new chat with the agent."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    news = page.get_by_role("button", name="Okay, Let's Go!")
    page.add_locator_handler(news, lambda button: button.click())
    page.goto(f"{webui.url}/?models=concierge")
    expect(page.locator("#model-selector-model-button")).to_contain_text("concierge")
    yield page
    context.close()


def say(page: Page, words: str) -> None:
    page.locator("#chat-input").click()
    page.keyboard.type(words)
    page.locator("#send-message-button").click()


def has_answered(page: Page, words: str) -> None:
    """The newest answer; of a longer chat Open WebUI renders the end."""
    expect(page.locator(".chat-assistant").last).to_contain_text(words)


def thread_that_begins(host: Host, words: str) -> str:
    """The only thread whose first message is ``words``; titles and tags have others."""
    with host.client() as client:
        listed = client.get("/api/v1/runs", params={"agent": "concierge", "limit": 100}).json()
    threads = {each["thread_id"] for each in listed["results"]}
    (thread,) = [each for each in threads if spoken(host, each)[:1] == [("user", words)]]
    return str(thread)


def test_seven_turns_are_one_thread(
    request: pytest.FixtureRequest, concierge: Host, page: Page
) -> None:
    name = request.node.callspec.id
    turns = [f"turn {number} of {name}" for number in range(TURNS)]
    for number, words in enumerate(turns):
        say(page, words)
        has_answered(page, f"You said {', then '.join(turns[: number + 1])}.")
    thread = thread_that_begins(concierge, turns[0])
    assert [each["status"] for each in runs(concierge, thread)] == ["succeeded"] * TURNS
    assert [text for role, text in spoken(concierge, thread) if role == "user"] == turns
    page.reload()
    has_answered(page, turns[-1])


def test_stop_ends_the_run(request: pytest.FixtureRequest, concierge: Host, page: Page) -> None:
    name = request.node.callspec.id
    say(page, f"hello {name}")
    has_answered(page, f"You said hello {name}.")
    say(page, "count")
    expect(page.locator(".chat-assistant").last).to_contain_text("3")
    page.get_by_role("button", name="Stop").click()
    thread = thread_that_begins(concierge, f"hello {name}")
    wait_for(lambda: runs(concierge, thread)[1]["status"] == "cancelled", "the run to end")
    say(page, "and now?")
    has_answered(page, f"You said hello {name}, then count, then and now?.")
    statuses = [each["status"] for each in runs(concierge, thread)]
    # What it kept of the stopped answer is not the thread's: only the header still names that.
    assert statuses == ["succeeded", "cancelled", *(["succeeded"] if name == "header" else [])]
