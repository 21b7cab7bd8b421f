"""The overview: figures of a team, each of which leads to exactly the runs that it counts."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agui_host.dashboard.overview import usage
from runs.lifecycle import lifecycle
from runs.lifecycle.usage import rollup, team_prices
from runs.models import Run, Thread, Visibility
from tests.cast import Cast, Register, register, start
from tests.dashboard.conftest import Browse
from tests.runs.asking import end
from tests.runs.jobs import FAILED, FINISHED
from tests.runs.usage.test_usage import run_of

__all__ = ["register"]

pytestmark = pytest.mark.django_db(transaction=True)

LINK = re.compile(r'<a[^>]*href="(/runs/\?[^"]*)"[^>]*>(?:<span>\w+</span> <b>)?([\d,]+)<')
ROW = re.compile(r'<tr id="run-([0-9a-f-]+)"')


def page(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def rows_of(client: Client, address: str) -> list[str]:
    return ROW.findall(page(client, unescape(address)))


@pytest.fixture
def busy(cast: Cast, register: Register) -> Cast:
    other = register("other", lambda ctx: ctx.text)
    for days in (0, 1, 5, 9):
        at = timezone.now() - timedelta(days=days)
        run_of(cast.alice, cast.echo, FINISHED, at)
        run_of(cast.bob, other, FAILED, at)
        run_of(cast.bob, cast.echo, FAILED, at)
    run_of(cast.alice, other, None)
    run_of(cast.charlie, None, FAILED)
    private = run_of(cast.bob, other, FAILED)
    Thread.objects.filter(pk=private.thread_id).update(
        visibility=Visibility.PRIVATE, creator=cast.bob.principal.actor_id
    )
    return cast


@pytest.mark.parametrize("is_added_up", [False, True])
@pytest.mark.parametrize("address", ["/", "/?days=1", "/?days=30", "/usage/?by=day&days=30"])
def test_each_number_leads_to_its_runs(
    busy: Cast, browse: Browse, address: str, is_added_up: bool
) -> None:
    if is_added_up:
        rollup.run_once(60)
    # Bob sees his private run, so his overview counts it.
    client = browse(busy.bob)
    links = LINK.findall(page(client, address))
    assert len(links) >= 6
    for target, number in links:
        assert len(rows_of(client, target)) == int(number.replace(",", "")), target


def test_what_a_team_sees_first(busy: Cast, browse: Browse) -> None:
    text = page(browse(busy.alice), "/")
    numbers = {n for target, n in LINK.findall(text) if "status=failed" in target}
    assert "6" in numbers, "three days with two failures each"
    assert "1 run ($1.00) in private threads of other people is not included" in text
    assert "$9.00" in text
    assert "200 % more" in text, "$9 after $3"
    assert "<bdi>Echo</bdi>" in text
    assert "<bdi>alice</bdi>" in text
    assert "<code>agent_error</code>" in text
    assert "globex" not in text.lower()


def test_a_team_without_runs(cast: Cast, browse: Browse) -> None:
    assert "No runs in this time" in page(browse(cast.vera), "/")
    assert "There were no runs" in page(browse(cast.vera), "/usage/")


def test_questions_wait_for_a_person(cast: Cast, browse: Browse) -> None:
    run = start(cast.alice)
    question = {"id": "q", "reason": "input_required"}
    end(run, lambda intake: intake.finish({"type": "interrupt", "interrupts": [question]}))
    text = page(browse(cast.alice), "/")
    assert re.search(r'href="/inbox/"><span>Waiting for a person</span> <b>1</b>', text)


@pytest.mark.parametrize("query", ["days=0", "days=-1", "days=x", "days=7&days=1", "by=<i>"])
def test_odd_addresses(busy: Cast, browse: Browse, query: str) -> None:
    assert "<i>" not in page(browse(busy.alice), f"/usage/?{query}").split("<main")[1]
    assert page(browse(busy.alice), f"/?{query}")


def test_the_queries_do_not_grow_with_agents(
    busy: Cast, browse: Browse, register: Register, django_assert_max_num_queries: Any
) -> None:
    for number in range(20):
        run_of(busy.alice, register(f"agent-{number}", lambda ctx: ctx.text), FINISHED)
    client = browse(busy.alice)
    for address, most in (("/", 23), ("/usage/", 28)):
        with django_assert_max_num_queries(most):
            page(client, address)


def test_usage_is_compared_and_names_models(cast: Cast, browse: Browse) -> None:
    for days, seconds in ((0, 30), (0, 30), (7, 10)):
        at = timezone.now() - timedelta(days=days)
        run = run_of(cast.alice, cast.echo, FINISHED, at)
        Run.objects.filter(pk=run.pk, team=run.team).update(
            started_at=at, ended_at=at + timedelta(seconds=seconds), queued_ms=1000 + 1000 * days
        )
    run_of(cast.alice, cast.echo, None)
    client = browse(cast.vera)
    text = page(client, "/usage/?by=model&days=7")
    tiles = re.findall(r"<span>([^<]+)</span> <b>([^<]+)</b> <small>([^<]+)<", text)
    assert [each[0] for each in tiles] == [
        "Runs", "Cost", "Tokens", "95 % of runs took at most", "A run waited for a worker",
    ]  # fmt: skip
    assert [each[2] for each in tiles] == [
        "200 % more", "100 % more", "100 % more", "214 % more", "on average, 92 % less",
    ]  # fmt: skip
    address = re.search(r'<th scope="row"><a href="([^"]+)"><bdi>m</bdi>', text)
    assert address is not None
    listed = page(client, address[1].replace("&amp;", "&"))
    assert listed.count('<tr id="run-') == 2
    assert "no model reported" in text
    assert "took at most</span> <b>" in (over := page(client, "/"))
    assert "214 % more, show slower ones" in over


def test_many_people_have_pages(cast: Cast, browse: Browse, monkeypatch: Any) -> None:
    for name in ("user:a", "user:b", "user:c"):
        run = run_of(cast.alice, cast.echo, FINISHED)
        Run.objects.filter(pk=run.pk, team=run.team).update(started_by=name)
    monkeypatch.setattr(usage, "ROWS", 2)
    client = browse(cast.alice)
    pages = [page(client, f"/usage/?by=person&days=7&page={number}") for number in (1, 2)]
    assert [sorted(set(re.findall(r"<bdi>([abc])</bdi>", text))) for text in pages] == [
        ["a", "b"], ["c"],
    ]  # fmt: skip
    assert ['href="?by=person&amp;days=7&amp;page=2"' in text for text in pages] == [True, False]


def test_a_person_who_is_a_formula(cast: Cast, browse: Browse) -> None:
    run = run_of(cast.alice, cast.echo, FINISHED)
    Run.objects.filter(pk=run.pk, team=run.team).update(started_by="user:<img src=x>")
    text = page(browse(cast.alice), "/usage/?by=person")
    assert "<bdi>&lt;img src=x&gt;</bdi>" in text
    assert "format=csv" in text


def test_owners_set_prices(cast: Cast, browse: Browse) -> None:
    owner, member = browse(cast.alice), browse(cast.bob)
    form = {"prices": "gpt-5 = 1.25 / 10 / 0.125\r\nclaude-*=3/15\r\n"}
    assert owner.post("/usage/prices", form).status_code == 302
    assert "gpt-5 = 1.25 / 10 / 0.125\nclaude-* = 3 / 15" in page(owner, "/usage/").replace(
        "claude-* = 3 / 15\ngpt-5 = 1.25 / 10 / 0.125",
        "gpt-5 = 1.25 / 10 / 0.125\nclaude-* = 3 / 15",
    )
    assert team_prices.of(cast.team.pk).cost("claude-9", 1_000_000, 0) == 3
    assert member.post("/usage/prices", {"prices": ""}).status_code == 403
    assert 'name="prices"' not in page(member, "/usage/")
    refused = owner.post("/usage/prices", {"prices": "gpt-5 = cheap"})
    text = refused.content.decode()
    assert (refused.status_code, "gpt-5 = cheap: write model=input/output" in text) == (422, True)
    assert "\ngpt-5 = cheap</textarea>" in text  # the list comes back
    assert len(team_prices.own(cast.team)) == 2


def test_limits_are_meters(cast: Cast, browse: Browse) -> None:
    lifecycle.claim(start(cast.alice).pk)
    text = page(browse(cast.vera), "/usage/")
    assert re.search(r'<meter min="0" max="500" high="400" optimum="0" value="1"', text)
    assert "1 of 500" in text
