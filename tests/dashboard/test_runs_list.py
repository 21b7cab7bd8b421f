"""The list of a team's runs: whose, which, in which order, and what changes under one's eyes."""

import re
from html import unescape
from urllib.parse import urlencode

import pytest
from django.http import QueryDict
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from agui_host.dashboard import listing
from agui_host.runtimes.models import Agent
from runs.api.listing import search
from runs.lifecycle import lifecycle
from runs.models import Run, Status
from tests.cast import Cast, fresh, start
from tests.dashboard.conftest import Browse

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


def rows_of(page: str) -> list[str]:
    """The ids of the runs on a page, in order."""
    return re.findall(r'<tr id="run-([-0-9a-f]+)"', page)


def ids(*runs: Run) -> list[str]:
    return [str(run.pk) for run in runs]


def fail(run: Run, message: str = "it broke") -> None:
    Run.objects.filter(pk=run.pk).update(
        status=Status.FAILED,
        ended_at=timezone.now(),
        error_code="agent_error",
        error_message=message,
    )


class TestWhatIsShown:
    def test_newest_first_and_only_ones_own_team(self, cast: Cast, browse: Browse) -> None:
        first, second = start(cast.alice), start(cast.bob)
        start(cast.charlie)
        page = browse(cast.vera).get("/runs/").content.decode()
        assert rows_of(page) == ids(second, first)
        assert "user:charlie" not in page

    def test_a_row_says_what_one_needs(self, cast: Cast, browse: Browse) -> None:
        start(cast.alice, threadId="the thread")
        page = browse(cast.alice).get("/runs/").content.decode()
        assert "the thread" not in page
        for text in (
            'data-status="queued"',
            "<bdi>echo</bdi>",
            "<bdi>alice</bdi>",
            "<time data-at",
        ):
            assert text in page

    def test_without_runs_there_is_a_line_to_start_one(self, cast: Cast, browse: Browse) -> None:
        page = browse(cast.alice).get("/runs/").content.decode()
        assert "curl -N -X POST http://testserver/agui" in page

    def test_the_form_starts_a_run_without_scripts(self, cast: Cast, browse: Browse) -> None:
        other = Agent.objects.create(team=cast.team, slug="other", name="Other")
        browser = browse(cast.alice)
        page = browser.get("/runs/").content.decode()
        [address] = re.findall(r'<form id="start"[^>]* action="([^"]+)"', page)
        answer = browser.post(address, {"agent": "other", "message": "Without scripts"})
        assert answer.status_code == 302
        run = Run.objects.get(team=cast.team, agent=other)
        assert run.asked == "Without scripts"

    def test_viewers_cannot_start(self, cast: Cast, browse: Browse) -> None:
        assert 'id="start"' in browse(cast.bob).get("/runs/").content.decode()
        assert 'id="start"' not in browse(cast.vera).get("/runs/").content.decode()

    def test_a_disabled_agent_is_a_filter_but_cannot_start(
        self, cast: Cast, browse: Browse
    ) -> None:
        Agent.objects.create(team=cast.team, slug="retired", name="Retired", enabled=False)
        page = browse(cast.alice).get("/runs/").content.decode()
        assert "<option>retired</option>" in page
        assert 'value="retired"' not in page

    def test_hostile_names_are_text(self, cast: Cast, browse: Browse) -> None:
        start(cast.alice, threadId=HOSTILE)
        query = urlencode({"thread_id": HOSTILE, "started_by": HOSTILE, "agent": HOSTILE})
        for address in ("/runs/", f"/runs/?{query}", f"/runs/pulse?newest=&{query}"):
            page = browse(cast.alice).get(address).content.decode()
            assert "<script>alert" not in page
            assert "<img src=x" not in page

    @pytest.mark.parametrize("address", ["/runs/", "/runs/pulse?newest="])
    def test_more_runs_cost_no_more_queries(
        self,
        cast: Cast,
        browse: Browse,
        django_assert_num_queries: DjangoAssertNumQueries,
        address: str,
    ) -> None:
        browser = browse(cast.alice)
        for n in range(12):
            start(cast.alice if n % 2 else cast.bob)
        with django_assert_num_queries(9 if address == "/runs/" else 4):
            assert browser.get(address).status_code == 200

    def test_no_row_reads_an_input(self, cast: Cast) -> None:
        start(cast.alice)
        (row,) = search.matching(cast.alice.principal, QueryDict()).runs
        assert {"input", "result", "usage"} <= row.get_deferred_fields()


class TestFilters:
    def test_by_status_agent_thread_and_person(self, cast: Cast, browse: Browse) -> None:
        other = Agent.objects.create(team=cast.team, slug="other", name="Other")
        queued = start(cast.alice, threadId="t1")
        failed = start(cast.bob, other, threadId="t2")
        fail(failed)
        cancelled = start(cast.bob, threadId="t3")
        lifecycle.cancel(cancelled)
        browser = browse(cast.alice)
        for query, runs in {
            "status=queued": [queued],
            "status=failed&status=cancelled": [cancelled, failed],
            "agent=other": [failed],
            "thread_id=t1": [queued],
            "started_by=user:bob": [cancelled, failed],
            "started_by=user:bob&agent=echo": [cancelled],
            "agent=other&status=queued": [],
        }.items():
            page = browser.get(f"/runs/?{query}").content.decode()
            assert rows_of(page) == ids(*runs), query

    @pytest.mark.parametrize("query", ["status=asleep", "thread_id=%00"])
    def test_a_filter_that_makes_no_sense_shows_nothing(
        self, cast: Cast, browse: Browse, query: str
    ) -> None:
        start(cast.alice)
        page = browse(cast.alice).get(f"/runs/?{query}").content.decode()
        assert rows_of(page) == []
        assert 'role="alert"' in page

    def test_the_form_shows_the_filters(self, cast: Cast, browse: Browse) -> None:
        query = "status=failed&agent=echo&thread_id=t1&started_by=user:alice"
        page = browse(cast.alice).get(f"/runs/?{query}").content.decode()
        assert 'value="failed" checked' in page
        assert "<option selected>echo</option>" in page
        assert 'value="t1"' in page
        assert '<option value="user:alice" selected>Me</option>' in page


class TestPages:
    @pytest.fixture(autouse=True)
    def _small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(listing, "PAGE", 2)

    def test_there_and_back_without_gap_or_repeat(self, cast: Cast, browse: Browse) -> None:
        runs = [start(cast.alice) for _ in range(5)][::-1]
        start(cast.bob)
        browser = browse(cast.alice)
        address, rows = "/runs/?started_by=user:alice", []
        forward = []
        while address:
            page = browser.get(address).content.decode()
            forward.append(rows_of(page))
            rows += rows_of(page)
            address = _link(page, "next")
        assert rows == ids(*runs)
        address, back = _link(page, "prev"), [forward[-1]]
        while address:
            page = browser.get(address).content.decode()
            back.append(rows_of(page))
            address = _link(page, "prev")
        assert back[-1] == forward[0]
        assert len(back) == len(forward)

    def test_a_run_that_comes_meanwhile_moves_nothing(self, cast: Cast, browse: Browse) -> None:
        runs = [start(cast.alice) for _ in range(4)][::-1]
        browser = browse(cast.alice)
        page = browser.get("/runs/").content.decode()
        start(cast.bob)
        assert rows_of(browser.get(_link(page, "next")).content.decode()) == ids(*runs[2:])

    @pytest.mark.parametrize("name", ["before", "after"])
    def test_a_place_that_is_no_run(self, cast: Cast, browse: Browse, name: str) -> None:
        answer = browse(cast.alice).get(f"/runs/?{name}=last")
        assert answer.status_code == 400
        assert f"{name} is not the id of a run." in answer.content.decode()


class TestPulse:
    """What an open page asks every few seconds."""

    def test_says_how_many_are_new_under_the_same_filters(self, cast: Cast, browse: Browse) -> None:
        old = start(cast.alice)
        start(cast.alice)
        start(cast.bob)
        start(cast.charlie)
        browser = browse(cast.vera)
        pulse = f"/runs/pulse?newest={old.pk}"
        assert "2 new runs" in browser.get(pulse).content.decode()
        page = browser.get(f"{pulse}&started_by=user:bob").content.decode()
        assert "1 new run<" in page
        assert 'href="/runs/?started_by=user%3Abob"' in page

    def test_an_empty_list_has_only_new_ones(self, cast: Cast, browse: Browse) -> None:
        start(cast.alice)
        page = browse(cast.alice).get("/runs/pulse?newest=").content.decode()
        assert "1 new run<" in page

    def test_is_silent_while_nothing_changes(self, cast: Cast, browse: Browse) -> None:
        run = start(cast.alice)
        stamp = listing.stamp(fresh(run))
        browser = browse(cast.alice)
        quiet = f"/runs/pulse?newest={run.pk}&seen=0&active={stamp}"
        assert browser.get(quiet).status_code == 204
        start(cast.bob)
        assert browser.get(quiet).status_code == 200
        assert browser.get(quiet.replace("seen=0", "seen=1")).status_code == 204

    def test_gives_the_rows_that_changed(self, cast: Cast, browse: Browse) -> None:
        one, two = start(cast.alice), start(cast.alice)
        stamps = [listing.stamp(fresh(run)) for run in (one, two)]
        lifecycle.cancel(one)
        query = urlencode({"active": stamps}, doseq=True)
        page = browse(cast.alice).get(f"/runs/pulse?{query}").content.decode()
        assert rows_of(page) == ids(one)
        assert 'hx-swap-oob="true"' in page
        assert 'data-status="cancelled"' in page

    def test_gives_no_strangers_rows(self, cast: Cast, browse: Browse) -> None:
        theirs = start(cast.charlie)
        page = browse(cast.alice).get(f"/runs/pulse?active={theirs.pk}.running.9&seen=0")
        assert page.status_code == 204

    @pytest.mark.parametrize("query", ["newest=last", "active=all"])
    def test_nonsense_is_refused(self, cast: Cast, browse: Browse, query: str) -> None:
        assert browse(cast.alice).get(f"/runs/pulse?{query}").status_code == 400


def _link(page: str, rel: str) -> str:
    link = re.search(rf'rel="{rel}" href="([^"]+)"', page)
    return f"/runs/{unescape(link[1])}" if link else ""
