"""assistant-ui in Chromium at its defaults, on its runtimes for AG-UI and for the AI SDK."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.acceptance.browser.chats.example import PAGE
from tests.acceptance.host import Host, wait_for
from tests.chromium import browser
from tests.conformance.node import bundled
from tests.conformance.products.readers import runs, spoken
from tests.house.repository import ROOT

__all__ = ["browser"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
SOURCE = Path(__file__).with_name("assistant_ui.jsx")


@pytest.fixture(scope="module")
def script() -> str:
    client = str(ROOT / "clients" / "js" / "src" / "assistant-ui.mts")
    return bundled(SOURCE.read_text("utf-8").replace("agui-host-client/assistant-ui", client))


class Chat:
    """A page with an empty chat, which notes the threads that its requests name."""

    def __init__(
        self, page: Page, host: Host, script: str, runtime: str, thread: str | None = None
    ) -> None:
        self.page, self.host, self.threads = page, host, list[str]()

        def serve(route: Route) -> None:
            code = route.request.url.endswith("/app.js")
            kind = "text/javascript" if code else "text/html"
            route.fulfill(body=script if code else PAGE, content_type=kind)

        page.route(re.compile(r"/(application|app\.js)$"), serve)
        page.on("request", lambda request: self._note(request.method, request.post_data))
        page.goto("/application")
        arguments = [runtime, "concierge", host.headers, thread]
        page.evaluate(f"window.chat(...{json.dumps(arguments)})")

    def _note(self, method: str, body: str | None) -> None:
        if method == "POST" and body:
            named = json.loads(body)
            self.threads += filter(None, [named.get("threadId") or named.get("id")])

    def say(self, words: str) -> None:
        self.page.get_by_label("Message").fill(words)
        self.page.get_by_role("button", name="Send", exact=True).click()

    def press(self, name: str) -> None:
        """By the keyboard: while an answer grows, the button moves away from the mouse."""
        self.page.get_by_role("button", name=name, exact=True).press("Enter")

    @property
    def answers(self) -> Locator:
        return self.page.locator(".assistant")

    @property
    def thread(self) -> str:
        """The one that all requests name."""
        (thread,) = set(self.threads)
        return thread

    def is_ready(self) -> None:
        expect(self.page.get_by_role("button", name="Send", exact=True)).to_be_visible()

    def has_answered(self, words: str) -> None:
        expect(self.answers.last).to_contain_text(words)
        self.is_ready()


@pytest.fixture(params=["AG-UI", "AI SDK"])
def chat(
    request: pytest.FixtureRequest, browser: Browser, concierge: Host, script: str
) -> Iterator[Chat]:
    context = browser.new_context(base_url=concierge.url)
    yield Chat(context.new_page(), concierge, script, request.param)
    context.close()


def test_turns_are_one_thread(chat: Chat) -> None:
    turns = ["my name is Ada", "who am I?", "and who are you?"]
    for number, words in enumerate(turns):
        chat.say(words)
        chat.has_answered(f"You said {', then '.join(turns[: number + 1])}.")
    expect(chat.answers).to_have_count(3)
    assert [text for role, text in spoken(chat.host, chat.thread) if role == "user"] == turns
    assert [run["status"] for run in runs(chat.host, chat.thread)] == ["succeeded"] * 3


def test_a_tool_of_the_application(chat: Chat) -> None:
    chat.say("add 2 and 3")
    chat.has_answered("The sum is 5.")
    expect(chat.page.locator(".call")).to_have_text('add {"a":2,"b":3} → 5')
    chat.say("who am I?")
    chat.has_answered("You said add 2 and 3, then who am I?.")
    assert [run["status"] for run in runs(chat.host, chat.thread)] == ["succeeded"] * 3


def test_a_question_of_the_agent(chat: Chat) -> None:
    chat.say("ask")
    chat.press("Approve")
    chat.has_answered('You said ask, and decided {"approved": true}.')
    chat.say("who am I?")
    chat.has_answered("You said ask, then who am I?.")
    statuses = [run["status"] for run in runs(chat.host, chat.thread)]
    assert statuses == ["interrupted", "succeeded", "succeeded"]


def test_the_next_message_ends_a_run_that_was_stopped(chat: Chat) -> None:
    """Its Stop only leaves: the run goes on, as it does when a page is closed."""
    chat.say("count")
    expect(chat.page.locator("main")).to_contain_text("3")  # each number is a message
    chat.press("Stop")
    chat.is_ready()
    assert runs(chat.host, chat.thread)[0]["status"] == "running"
    chat.say("hello")
    chat.has_answered("You said count, then hello.")
    wait_for(lambda: runs(chat.host, chat.thread)[0]["status"] == "cancelled", "it to end")


def test_threads_of_the_host(browser: Browser, concierge: Host, script: str) -> None:
    """The adapter of clients/js: history, a live run, others' turns, rename, delete."""
    greeting = [{"id": "u", "role": "user", "content": "hello"}]
    begun = concierge.begin("concierge", threadId="kept", messages=greeting)
    concierge.wait_status(begun["id"], "succeeded")
    allowed = {"base_url": concierge.url, "permissions": ["local-network-access"]}
    first, second = (browser.new_context(**allowed) for _ in range(2))
    chat = Chat(first.new_page(), concierge, script, "threads", "kept")
    chat.has_answered("You said hello.")
    chat.say("count")
    expect(chat.page.locator("main")).to_contain_text("9")
    other = Chat(second.new_page(), concierge, script, "threads", "kept")
    expect(other.page.locator(".user")).to_have_text(["hello", "count"])
    expect(other.page.locator("main")).to_contain_text("9")
    with concierge.client() as client:
        assert client.post("/agui/agent/concierge/stop/kept").status_code == 200
    chat.is_ready()
    other.is_ready()
    chat.say("who am I?")
    for each in (chat, other):
        each.has_answered("You said hello, then count, then who am I?.")
        expect(each.page.locator(".user")).to_have_text(["hello", "count", "who am I?"])
    chat.say("ask")
    other.press("Approve")
    chat.has_answered("and decided")
    greeting = [{"id": "u", "role": "user", "content": "good morning"}]
    concierge.begin("concierge", threadId="next", messages=greeting)
    row = other.page.locator(".thread").filter(has_text="good morning")
    row.get_by_role("button", name="good morning").click()
    other.has_answered("You said good morning.")
    row.get_by_role("button", name="Rename").click()
    expect(row).to_contain_text("good morning!")
    row.get_by_role("button", name="Delete").click()
    expect(row).to_have_count(0)
    assert runs(concierge, "next") == []
    first.close()
    second.close()
