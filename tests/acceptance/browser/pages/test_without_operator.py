"""What an admin of a team does in the browser without an operator: the first visit, and features.

The features are those of the five documents under docs/seeds/: an admin turns each one on, a later
run shows its effect, and a member cannot change it.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.acceptance.browser.test_tasks import Hands
from tests.acceptance.host import Host, wait_for
from tests.acceptance.neighbour import Neighbour
from tests.needs import need_module

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

NOTE = "The contract runs for twelve months and can be extended."
SEED = """
import json
from django.contrib.auth.models import User
from django.test import Client
from agui_host.runtimes.models import Agent
from agui_host.teams.models import Membership, Role, Team

def visitor(name, team, role):
    user = User.objects.create_user(name)
    Membership.objects.create(team=team, user=user, role=role)
    browser = Client()
    browser.force_login(user)
    return browser.session.session_key

offices = Team.objects.create(slug="offices", name="Offices")
fresh = Team.objects.create(slug="fresh", name="Fresh")
for slug in ("cited", "advised"):
    Agent.objects.create(team=offices, slug=slug, name=slug.title(), kind="http", target=PEER)
print(json.dumps({
    "admin": visitor("lea", offices, Role.ADMIN),
    "member": visitor("max", offices, Role.MEMBER),
    "owner": visitor("nora", fresh, Role.OWNER),
}))
"""
ALPINE = """(url) => new Promise((resolve) => {
  const seen = [];
  const source = new EventSource(url);
  for (const type of ["run_started", "step_started", "text_message_content", "step_finished"])
    source.addEventListener(type, (event) => seen.push(JSON.parse(event.data)));
  source.addEventListener("run_finished", () => { source.close(); resolve(seen); });
})"""
FED = [
    {"type": "STEP_STARTED", "stepName": "copy"},
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "42 tables copied"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    {"type": "STEP_FINISHED", "stepName": "copy"},
]
SCHEMA = {
    "type": "object",
    "properties": {"entries": {"type": "integer", "minimum": 1}},
    "required": ["entries"],
}

Enter = Callable[[str], Page]


class Adviser(Neighbour):
    """An ``AGUIServer``, which answers at ``/``."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def is_up(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        try:
            return httpx.get(f"{self.url}health", timeout=2).status_code == 200
        except httpx.HTTPError:
            return False


@pytest.fixture(scope="module")
def adviser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Adviser]:
    peer = Adviser("tests.acceptance.agents.workshop_peer:app", tmp_path_factory.mktemp("peer"))
    yield peer
    peer.stop()


@pytest.fixture(scope="module")
def host(desk: Host) -> Host:
    """It may call agents on this machine."""
    return desk


@pytest.fixture(scope="module")
def sessions(host: Host, adviser: Adviser) -> dict[str, str]:
    return dict(json.loads(host.python(f"PEER = {adviser.url!r}\n{SEED}").splitlines()[-1]))


@pytest.fixture
def enter(browser: Browser, host: Host, sessions: dict[str, str]) -> Iterator[Enter]:
    """Opens a browser of a person who is signed in; at the end, no page may have complained."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def enter(person: str) -> Page:
        context = browser.new_context(base_url=host.url)
        contexts.append(context)
        cookie = {"name": "sessionid", "value": sessions[person], "url": host.url}
        context.add_cookies([cookie])  # type: ignore[list-item]
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    yield enter
    for context in contexts:
        context.close()
    assert complaints == []


def ask(page: Page, agent: str, message: str, status: str = "succeeded") -> None:
    """Try an agent on its page, and wait for the end of the run, whose page opens.

    Its script listens to keys before it shows the first row.
    """
    page.goto(f"/agents/{agent}/")
    page.get_by_label("Message").fill(message)
    page.get_by_role("button", name="Start a run").click()
    expect(page.locator(".title .chip").first).to_have_text(status)
    rows = page.locator("#messages .message, #timeline [role=row]")
    expect(rows.first).to_be_attached()


def edit(page: Page, agent: str, **fields: str) -> None:
    """Change an agent on its page, in two clicks."""
    page.goto(f"/agents/{agent}/")
    hands = Hands(page)
    with hands.within(2):
        hands.link("Edit")
        for label, text in fields.items():
            page.get_by_label(label.replace("_", " ")).fill(text)
        hands.button("Save")
    expect(page).to_have_url(re.compile(f"/agents/{agent}/$"))


def cannot_change(page: Page, agent: str) -> None:
    """The agent's page has no way to change it, and the form's address is refused."""
    page.goto(f"/agents/{agent}/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_role("link", name="Edit")).to_have_count(0)
    answer = page.goto(f"/agents/{agent}/change")
    assert answer is not None
    assert answer.status == 403


def connect(page: Page, slug: str, address: str = "") -> None:
    """Connect an agent: at an address, after a test, or elsewhere."""
    page.goto("/agents/")
    hands = Hands(page)
    with hands.within(3):
        hands.link("Connect an agent")
        page.get_by_label("Short name").fill(slug)
        if address:
            page.get_by_label("Address of its AG-UI endpoint").fill(address)
            hands.button("Test first")
            expect(page.locator("#finding")).to_contain_text("It works")
        else:
            hands.click(page.get_by_label("Elsewhere"))
        hands.button("Connect")
    expect(page).to_have_url(re.compile(f"/agents/{slug}/$"))


def cannot_connect(page: Page) -> None:
    page.goto("/agents/")
    expect(page.get_by_role("link", name="Connect an agent")).to_have_count(0)
    answer = page.goto("/agents/connect")
    assert answer is not None
    assert answer.status == 403


def test_the_four_steps_of_a_new_team(enter: Enter, host: Host, adviser: Adviser) -> None:
    page = enter("owner")
    hands = Hands(page)

    def steps(done: int) -> None:
        page.goto("/")
        lines = page.locator(".first-steps li")
        expect(lines).to_have_count(4)
        expect(page.locator(".first-steps li.done")).to_have_count(done)

    steps(0)
    with hands.within(3):
        hands.link("Connect an agent")
        page.get_by_label("Short name").fill("mine")
        page.get_by_label("Address of its AG-UI endpoint").fill(adviser.url)
        hands.button("Connect")
        expect(page).to_have_url(re.compile("/agents/mine/$"))
    steps(1)
    with hands.within(2):
        hands.link("Start a first run")
        page.get_by_label("Message").fill("Hello")
        hands.button("Start a run")
        expect(page).to_have_url(re.compile(r"/runs/[0-9a-f-]{36}/$"))
    steps(2)
    with hands.within(2):
        hands.link("Create a key")
        page.get_by_label("Name", exact=True).fill("bot")
        hands.button("Create key")
        key = page.get_by_role("status").locator("code").inner_text()
    steps(3)
    with hands.within(1):
        hands.link("Call it from your program")
        lines = page.locator("#use pre").first
        expect(lines).to_be_in_viewport()
        expect(lines).to_contain_text("/agui/agent/mine/run")
    with host.client(key) as client:
        assert client.get("/api/v1/runs").status_code == 200
    page.goto("/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator(".first-steps")).to_have_count(0)


def test_deepcitation_quotes_are_checked(enter: Enter) -> None:
    """Of docs/seeds/deepcitation.md: an agent's quotes are compared with what it was told."""
    page = enter("admin")
    ask(page, "cited", "What does my lease say?")
    page.keyboard.press("s")
    expect(page.locator("#state-tree")).to_contain_text("entries:0")
    expect(page.locator("#state-tree")).not_to_contain_text("deepcitation")
    edit(page, "cited", Middleware="citations")
    ask(page, "cited", "What does my lease say?")
    page.keyboard.press("s")
    expect(page.locator("#state-tree")).to_contain_text("deepcitation")
    expect(page.locator("#state-tree")).to_contain_text('status:"pending"')  # It had no source.
    cannot_change(enter("member"), "cited")


def test_flagpilot_an_agent_gets_the_teams_wisdom(enter: Enter) -> None:
    """Of docs/seeds/flagpilot.md: profile and wisdom reach an agent that did not ask for them."""
    page = enter("admin")
    page.goto("/team/knowledge/")
    page.get_by_label("Note", exact=True).fill(NOTE)
    page.get_by_role("button", name="Add note").click()
    expect(page.get_by_role("table", name="Notes")).to_contain_text(NOTE)
    edit(page, "advised", Middleware="citations", Context_providers="wisdom\nprofile")
    ask(page, "advised", "What does my lease say?")
    page.keyboard.press("m")
    expect(page.locator(".message.assistant")).to_contain_text(f"I was told: {NOTE}")
    expect(page.locator(".message.assistant")).to_contain_text("lea")
    page.keyboard.press("s")
    expect(page.locator("#state-tree")).to_contain_text("entries:2")
    expect(page.locator("#state-tree")).to_contain_text('status:"verified"')  # by the note
    cannot_change(enter("member"), "advised")


def test_workshop_a_server_of_its_kind_and_its_state(enter: Enter, adviser: Adviser) -> None:
    """Of docs/seeds/workshop.md: an AGUIServer is connected, and its state has a schema."""
    page = enter("admin")
    connect(page, "workshop", adviser.url)
    edit(page, "workshop", Schema_of_its_state=json.dumps(SCHEMA))
    page.goto("/agents/workshop/change")
    page.get_by_label("When a state does not match it").select_option("note")
    page.get_by_role("button", name="Save").click()
    expect(page).to_have_url(re.compile("/agents/workshop/$"))
    ask(page, "workshop", "Hello")
    expect(page.locator("#why")).to_contain_text("state")
    page.keyboard.press("s")
    page.get_by_text("The agent's schema of its state").click()
    expect(page.locator("#state pre")).to_contain_text('"minimum": 1')
    cannot_change(enter("member"), "workshop")
    cannot_connect(enter("member"))


def test_route2_langgraph_asks_and_continues(
    enter: Enter, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Of docs/seeds/route2.md: LangGraph behind FastAPI; a run ends with a question."""
    need_module("ag_ui_langgraph")
    folder = tmp_path_factory.mktemp("langgraph")
    peer = Neighbour("tests.acceptance.agents.langgraph_peer:app", folder)
    try:
        page = enter("admin")
        page.goto("/agents/connect")
        page.get_by_label("Short name").fill("booking")
        page.get_by_label("Address of its AG-UI endpoint").fill(peer.url)
        page.get_by_role("button", name="Connect").click()
        expect(page).to_have_url(re.compile("/agents/booking/$"))
        ask(page, "booking", "book a table", "needs an answer")
        asked = page.url
        page.goto("/inbox/")
        card = page.get_by_role("main").get_by_role("article").filter(has_text="Book 4 seats?")
        card.get_by_role("button", name="Approve").click()
        expect(page.get_by_role("button", name="Undo")).to_be_visible()
        page.goto(asked)  # Leaving the inbox sends the answer.
        page.get_by_role("link", name="The run that continues").click()
        expect(page.get_by_role("main")).to_contain_text("The table is booked.")
    finally:
        peer.stop()
    cannot_change(enter("member"), "booking")


def test_alpine_reads_the_steps_of_a_program(enter: Enter, host: Host) -> None:
    """Of docs/seeds/alpine.md: a program reports its steps, which Alpine's client reads."""
    page = enter("admin")
    connect(page, "copier")
    page.goto("/team/keys/")
    page.get_by_label("Name", exact=True).fill("copier")
    page.get_by_label("copier", exact=True).check()
    page.get_by_label("Ingest").check()
    page.get_by_role("button", name="Create key").click()
    key = page.get_by_role("status").locator("code").inner_text()
    with host.client(key) as client:
        started = client.post("/agents/run", json={"task": "Copy", "agent": "copier"}).json()
        place = {"Producer-Id": "copier", "Producer-Epoch": "0", "Producer-Seq": "0"}

        def is_fed() -> bool:
            fed = client.post(
                f"/api/v1/runs/{started['run_id']}/stream",
                json=FED,
                headers={**place, "Stream-Closed": "true"},
            )
            assert fed.status_code in (200, 503), fed.text  # until a worker has opened the run
            return fed.status_code == 200

        wait_for(is_fed, "the batch")
    events: list[dict[str, Any]] = page.evaluate(ALPINE, started["ag_ui_stream"])
    assert [event["type"] for event in events] == [
        "run_started", "step_started", "text_message_content", "step_finished",
    ]  # fmt: skip
    assert events[0]["metadata"]["task"] == "Copy"
    assert events[3]["status"] == "completed"
    cannot_change(enter("member"), "copier")
    cannot_connect(enter("member"))
