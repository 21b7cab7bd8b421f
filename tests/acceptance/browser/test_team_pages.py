"""The team's pages in a real browser: the longest names, right-to-left text, 60 keys."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.acceptance.browser.test_pages import all_can_be_read
from tests.acceptance.host import Host

pytestmark = pytest.mark.slow

SEED = """
import json
from datetime import timedelta
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from agui_host.runtimes.models import Agent
from agui_host.protocol.input import run_agent_input
from runs.access import sharing
from runs.lifecycle import lifecycle
from agui_host.teams import keys
from agui_host.teams.access import invitations
from agui_host.teams.authentication import Principal
from agui_host.teams.models import Membership, Role, Team

rtl, mark = "\\u05e9\\u05dc\\u05d5\\u05dd \\u0645\\u0631\\u062d\\u0628\\u0627 ", "\\u202e"
hostile = "<img src=x onerror=alert(1)>"
team = Team.objects.create(slug="nasty", name=(hostile + rtl * 20)[:120])
Team.objects.create(slug="nasty-too", name="W" * 120)
agent = Agent.objects.create(team=team, slug="a" * 64, name="A" * 120, is_default=True)

def person(name, role, email):
    user = User.objects.create_user(name[:150], email=email)
    Membership.objects.create(team=team, user=user, role=role)
    return user

owner = person("nasty-owner", Role.OWNER, "owner@example.com")
Membership.objects.create(team=Team.objects.get(slug="nasty-too"), user=owner, role="viewer")
person("w" * 150, Role.ADMIN, "w" * 60 + "@" + "example." * 20 + "com")
person((rtl + mark) * 12, Role.MEMBER, "")
person("bob " + hostile, Role.VIEWER, "bob@example.com")
for n in range(20):
    person(f"colleague {n}", Role.MEMBER, f"c{n}@example.com")
names = ["K" * 50, (rtl + mark) * 3, hostile, "nightly"]
for n in range(60):
    until = timezone.now() + timedelta(days=n - 5) if n % 3 else None
    row, _ = keys.create_key(team, names[n % 4][:50], Role.ADMIN, owner, until,
        agents=["a" * 64, "b" * 64, "c"] if n % 5 == 0 else None)
    if n % 7 == 0:
        keys.revoke(row)
me = Principal("user", owner.username, team, Role.OWNER, owner.pk)
body = run_agent_input.parse({"threadId": "t" * 255})
run = lifecycle.start(team, agent, body, started_by=me).run
lifecycle.cancel(run)
sharing.share(me, run, sharing.To(), sharing.Terms(name=(rtl + mark) * 8))
sharing.share(me, run.thread, sharing.To("w" * 150), sharing.Terms())
address = "e" * 60 + "@" + "example." * 20 + "com"
invitations.send(team, address, Role.MEMBER, by="user:" + "w" * 150)
browser = Client()
browser.force_login(owner)
remove = Membership.objects.get(team=team, user__username__startswith="www").pk
print(json.dumps({"session": browser.session.session_key, "remove": remove}))
"""
WIDTHS = (390, 1280)
LONG = f"/agents/{'a' * 64}/"
PAGES = ("/team/", "/team/keys/", "/team/shared/", "/team/members/{remove}/remove",
         "/team/received/", "/agents/", "/agents/connect", LONG, f"{LONG}change")  # fmt: skip
# What can be pressed and is cut off, covered by something else, or too small for a thumb. A part
# of the page that scrolls sideways brings its own into reach.
OUT_OF_REACH = """(width) => [...document.querySelectorAll("main :is(button, a, select, input)")]
  .filter((each) => each.checkVisibility() && each.type !== "hidden")
  .filter((each) => {
    for (let around = each; around.tagName !== "MAIN"; around = around.parentElement)
      if (/auto|scroll/.test(getComputedStyle(around).overflowX)) return false;
    return true;
  })
  .map((each) => [each.getBoundingClientRect(), each])
  .filter(([box]) => box.left < 0 || box.right > width || box.height < 12 || box.width < 12)
  .map(([, each]) => each.outerHTML.slice(0, 120))"""
# Text that runs over the next cell of its row.
OVERLAPS = """() => [...document.querySelectorAll("main td, main label, main li")]
  .filter((each) => each.scrollWidth > each.clientWidth + 1 && each.checkVisibility())
  .map((each) => each.outerHTML.slice(0, 120))"""

# Whether the prefix behind each name that overrides the direction reads from left to right.
ORDER = """() => [...document.querySelectorAll("tbody td:first-child")]
  .filter((cell) => cell.textContent.includes("\\u202e"))
  .map((cell) => {
    const text = cell.querySelector("code").firstChild;
    const left = (at) => {
      const range = document.createRange();
      range.setStart(text, at);
      range.setEnd(text, at + 1);
      return range.getBoundingClientRect().left;
    };
    return left(0) < left(1);
  })"""


@pytest.fixture(scope="module")
def nasty(host: Host) -> dict[str, Any]:
    return dict(json.loads(host.python(SEED).splitlines()[-1]))


@pytest.fixture
def page(browser: Browser, host: Host, nasty: dict[str, Any]) -> Iterator[Page]:
    """Signed in as the owner of the nasty team; at the end, no page may have complained."""
    context = browser.new_context(base_url=host.url)
    context.add_cookies([{"name": "sessionid", "value": nasty["session"], "url": host.url}])
    complaints: list[str] = []
    page = context.new_page()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    yield page
    context.close()
    assert complaints == []


def test_everything_is_in_reach_and_can_be_read(page: Page, nasty: dict[str, Any]) -> None:
    for address in PAGES:
        page.goto(address.format(**nasty))
        assert page.evaluate("document.querySelectorAll('main img').length") == 0, address
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 844})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, address
            assert page.evaluate(OUT_OF_REACH, width) == [], address
            assert page.evaluate(OVERLAPS) == [], address
            all_can_be_read(page, f"{address}, {width}")


def test_an_override_of_direction_stays_in_its_name(
    browser: Browser, host: Host, nasty: dict[str, Any]
) -> None:
    """What stands behind a name that ends with U+202E is read from left to right all the same."""
    context = browser.new_context(base_url=host.url)
    context.add_cookies([{"name": "sessionid", "value": nasty["session"], "url": host.url}])
    page = context.new_page()
    page.goto("/team/keys/")
    order = page.evaluate(ORDER)
    assert len(order) >= 10
    assert all(order)
    context.close()


def test_a_key_is_made_rotated_and_revoked_in_the_browser(
    browser: Browser, host: Host, nasty: dict[str, Any]
) -> None:
    context = browser.new_context(base_url=host.url)
    context.add_cookies([{"name": "sessionid", "value": nasty["session"], "url": host.url}])
    page = context.new_page()
    page.goto("/team/keys/")
    page.get_by_label("Name", exact=True).fill("from the browser")
    page.get_by_role("button", name="Create key").click()
    made = page.get_by_role("status").locator("code").inner_text()
    assert made.startswith("agui_")
    with host.client(made) as client:
        assert client.get("/api/v1/runs").status_code == 200
    page.goto("/team/keys/")
    assert made not in page.content()
    row = page.locator("tbody tr").filter(has_text=made.removeprefix("agui_")[:8])
    row.get_by_role("combobox").select_option("0")
    row.get_by_role("button", name="Rotate").click()
    rotated = page.get_by_role("status").locator("code").inner_text()
    assert (with_key(host, made), with_key(host, rotated)) == (401, 200)
    row = page.locator("tbody tr").filter(has_text=rotated.removeprefix("agui_")[:8])
    row.get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("heading", name="Revoke this key?")).to_be_visible()
    page.get_by_role("button", name="Revoke").click()
    expect(row).to_contain_text("revoked")
    assert with_key(host, rotated) == 401
    context.close()


def with_key(host: Host, key: str) -> int:
    with host.client(key) as client:
        return client.get("/api/v1/runs").status_code
