"""The ten tasks of a team's lead, each in three clicks at most, on a team of which all is known.

Each starts at the overview and ends with the answer that the lead came for: a number that is right,
exactly the runs that it counts, or something that is different from then on.
"""

import json
import re
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.acceptance.browser.pages.test_without_operator import (
    Adviser,
    Enter,
    adviser,
    connect,
    enter,
    host,
)
from tests.acceptance.browser.test_tasks import Hands
from tests.acceptance.host import Host

__all__ = ["adviser", "enter", "host"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

MOST = 3
"""Clicks and keys of a task (number a of the plan for the dashboard)."""
NEAR = 0.07
"""How exact durations are: 5 %, and rounded to a tenth of a second."""
ROWS = "tr[id^=run-]"
SEED = """
import json
from datetime import timedelta
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from agui_host.protocol.input import run_agent_input
from agui_host.runtimes.models import Agent
from agui_host.teams.authentication import Principal
from agui_host.teams.models import Membership, Role, Team, TeamLimits
from runs.lifecycle import lifecycle
from runs.models import Run

team = Team.objects.create(slug="leads", name="Leads")
TeamLimits.objects.create(team=team, concurrent_runs=40, runs_per_minute=700)
people, sessions = {}, {}
for name, role in (("lea", Role.OWNER), ("max", Role.MEMBER), ("vic", Role.VIEWER)):
    user = User.objects.create_user(f"leads-{name}", email=f"{name}@example.com")
    Membership.objects.create(team=team, user=user, role=role)
    browser = Client()
    browser.force_login(user)
    sessions[name] = browser.session.session_key
    people[name] = Principal("user", user.username, team, role, user.pk)
agents = {
    slug: Agent.objects.create(team=team, slug=slug, name=slug.title(), kind="http", target=PEER)
    for slug in ("billing", "support")
}
now = timezone.now()

def ran(agent, name, days, seconds, cost, fails=False):
    run = lifecycle.start(
        team, agents[agent], run_agent_input.parse({}), started_by=people[name]).run
    lifecycle.claim(run.pk)
    usage = [{"model": "gpt-5" if agent == "billing" else "haiku", "inputTokens": 10, "cost": cost}]
    end = {"type": "RUN_ERROR", "message": "No card", "code": "agent_error"} if fails else {
        "type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
    lifecycle.finish(run.pk, end | {"usage": usage})
    at = now - timedelta(days=days)
    Run.objects.for_team(team).filter(pk=run.pk).update(
        created_at=at, started_at=at, ended_at=at + timedelta(seconds=seconds))

for number in range(4):
    ran("billing", "lea", number, 8, 1.25, fails=number < 3)
for number in range(10):
    ran("support", "max", number % 3, 40 if number == 9 else 4, 0.5, fails=number == 0)
ran("support", "max", 9, 2, 10)  # the week before
ran("billing", "lea", 40, 8, 100)  # long ago
print(json.dumps(sessions))
"""


@pytest.fixture(scope="module")
def sessions(host: Host, adviser: Adviser) -> dict[str, str]:
    """By person; no worker is there while the runs are made, which would call their agents."""
    host.worker.stop()
    printed = host.python(f"PEER = {adviser.url!r}\n{SEED}")
    host.spawn(host.worker)
    host.wait_ready()
    return dict(json.loads(printed.splitlines()[-1]))


@pytest.fixture
def page(enter: Enter) -> Page:
    """The overview of the lead."""
    page = enter("lea")
    page.goto("/")
    return page


@pytest.fixture
def hands(page: Page) -> Iterator[Hands]:
    hands = Hands(page)
    with hands.within(MOST):
        yield hands


def menu(hands: Hands, name: str) -> None:
    navigation = hands.page.get_by_role("navigation").first
    hands.click(navigation.get_by_role("link", name=name, exact=True))


def row(page: Page, name: str) -> Locator:
    return page.locator("tbody tr", has=page.locator("th", has_text=re.compile(f"^{name}"))).first


def cell(page: Page, name: str, label: str) -> Locator:
    return row(page, name).locator(f"[data-label='{label}']")


def seconds(of: Locator) -> float:
    """A duration as the pages write it."""
    match = re.fullmatch(r"([\d.]+) (ms|s)", of.inner_text().splitlines()[-1].strip())
    assert match is not None, of.inner_text()
    return float(match[1]) / (1000 if match[2] == "ms" else 1)


def start(host: Host, key: str, agent: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.post(
        f"{host.url}/api/v1/runs", headers=headers, json={"agent": agent, "input": {}}
    )


def test_who_may_do_what(page: Page, hands: Hands) -> None:
    menu(hands, "Team")
    for name, role in (("lea", "owner"), ("max", "member"), ("vic", "viewer")):
        chosen = page.get_by_role("combobox", name=f"Role of leads-{name}", exact=True)
        expect(chosen).to_have_value(role)


def test_the_cost_of_a_week_by_agent(page: Page, hands: Hands) -> None:
    menu(hands, "Usage")
    hands.link("7 days")
    expect(cell(page, "billing", "Cost")).to_have_text("$5.00")
    expect(cell(page, "support", "Cost")).to_have_text("$5.00")
    total = page.locator("tfoot [data-label=Cost]")
    expect(total).to_have_text("$10.00")
    tile = page.locator(".tiles li", has_text="Cost")
    expect(tile).to_contain_text("as before")  # $10 in the week before
    hands.link("By model")
    expect(cell(page, "gpt-5", "Cost")).to_have_text("$5.00")
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    lines = download.value.path().read_text().splitlines()
    assert sorted(line.split(",")[0] for line in lines) == ["gpt-5", "haiku", "model"]


def test_the_usage_of_each_member(page: Page, hands: Hands) -> None:
    menu(hands, "Usage")
    hands.link("By person")
    expect(cell(page, "leads-lea", "Cost")).to_have_text("$5.00")
    expect(cell(page, "leads-max", "Cost")).to_have_text("$15.00")
    expect(page.locator("tbody tr")).to_have_count(2)
    runs = cell(page, "leads-max", "Runs").get_by_role("link")
    expect(runs).to_have_text("11")
    hands.click(runs)
    expect(page.locator(ROWS)).to_have_count(11)


def test_which_agents_fail_most(page: Page, hands: Hands) -> None:
    menu(hands, "Agents")
    expect(cell(page, "billing", "Failed")).to_have_text("3")
    expect(cell(page, "support", "Failed")).to_have_text("1")
    hands.click(cell(page, "billing", "Failed").get_by_role("link"))
    expect(page.locator(ROWS)).to_have_count(3)
    expect(page.locator(f"{ROWS} .chip", has_text="failed")).to_have_count(3)


def test_how_long_the_runs_of_an_agent_take_and_their_trend(page: Page, hands: Hands) -> None:
    menu(hands, "Agents")
    for agent, half, most in (("support", 4, 40), ("billing", 8, 8)):
        for label, value in (("Half took at most", half), ("95 % took at most", most)):
            taken = seconds(cell(page, agent, label))
            assert taken == pytest.approx(value, rel=NEAR), (agent, label)
    spark = row(page, "support").locator("svg")
    expect(spark).to_have_attribute("aria-label", re.compile(r"Runs by day: .*4.*3.*3|3.*3.*4"))
    hands.click(row(page, "support").get_by_role("link", name="support"))
    tile = page.locator(".tiles li", has_text="Cost")
    expect(tile).to_contain_text("50 % less")  # $5 after $10
    expect(page.locator(".tiles li").first).to_contain_text("900 % more")  # runs


def test_invite_somebody(page: Page, hands: Hands, browser: Browser) -> None:
    menu(hands, "Team")
    page.get_by_label("E-mail address").fill("nora@example.com")
    hands.button("Invite")
    line = page.locator("tbody tr", has_text="nora@example.com")
    expect(line).to_contain_text("member")
    expect(line).to_contain_text("leads-lea")


def test_a_key_for_a_bot_and_one_agent(page: Page, hands: Hands, host: Host) -> None:
    page.goto("/team/keys/")
    page.get_by_label("Name", exact=True).fill("bot")
    hands.click(page.get_by_label("support", exact=True))
    hands.button("Create key")
    expect(page.locator("tbody tr", has_text="bot")).to_contain_text("support only")
    key = page.locator("pre.code").first.inner_text().strip()
    assert start(host, key, "support").status_code == 202
    assert start(host, key, "billing").status_code in (403, 404)


def test_add_test_and_disable_an_agent(enter: Enter, host: Host, adviser: Adviser) -> None:
    page = enter("lea")
    connect(page, "newcomer", adviser.url)  # three clicks, with a test before it is stored
    hands = Hands(page)
    with hands.within(1):
        hands.button("Disable")
        expect(page.locator(".title .chip")).to_have_text("disabled")
    page.goto("/agents/")
    expect(row(page, "newcomer")).to_contain_text("disabled")
    page.goto("/team/keys/")
    page.get_by_label("Name", exact=True).fill("starter")
    page.get_by_role("button", name="Create key").click()
    key = page.locator("pre.code").first.inner_text().strip()
    assert start(host, key, "newcomer").status_code in (403, 404, 409)
    assert start(host, key, "support").status_code == 202


def test_who_revoked_that_key(page: Page, enter: Enter, host: Host) -> None:
    page.goto("/team/keys/")
    page.get_by_label("Name", exact=True).fill("old bot")
    page.get_by_role("button", name="Create key").click()
    key = page.locator("pre.code").first.inner_text().strip()
    line = page.locator("tbody tr", has_text="old bot")
    line.get_by_role("button", name="Revoke").click()
    page.get_by_role("button", name="Revoke", exact=True).click()
    expect(page.locator("tbody tr", has_text="old bot")).to_contain_text("revoked")
    assert start(host, key, "support").status_code == 401
    hands = Hands(page)
    page.goto("/")
    with hands.within(MOST):
        menu(hands, "Team")
        hands.link("API keys")
        hands.click(page.locator("tbody tr", has_text="old bot").get_by_role("link"))
    entry = page.locator("tbody tr", has_text="key.revoked")
    expect(entry).to_have_count(1)
    expect(entry).to_contain_text("leads-lea")
    expect(page.locator("tbody tr", has_text="key.created")).to_have_count(1)


def test_the_limits_and_how_near_we_are(page: Page, hands: Hands) -> None:
    menu(hands, "Usage")
    for name, most in (("Runs at once", "40"), ("Runs per minute", "700")):
        meter = page.get_by_role("meter", name=name, exact=True)
        expect(meter).to_have_attribute("max", most)
        used = meter.get_attribute("value")
        text = page.locator(".meters div", has_text=name)
        expect(text).to_contain_text(f"{used} of {most}")
