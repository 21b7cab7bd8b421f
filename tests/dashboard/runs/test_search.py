"""Finding a run: by time, by error, and with the query box."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from urllib.parse import quote, urlencode

import pytest
from django.http import QueryDict
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from agui_host.dashboard import histogram, listing
from events.models import Finding
from runs.api.listing import box, search
from runs.lifecycle.words import search as words
from runs.lifecycle.words import storing
from runs.models import Run, Thread, ToolCall
from tests.cast import Cast, start
from tests.dashboard.conftest import Browse
from tests.dashboard.test_runs_list import _link, fail, ids, rows_of

ME = "user:alice"


def expanded(text: str, **address: str) -> dict[str, list[str]]:
    query = QueryDict(urlencode({"q": text, **address}))
    full, typed = box.expanded(query, ME)
    assert typed.problems == []
    return {name: full.getlist(name) for name in full}


class TestTheBox:
    @pytest.mark.parametrize(
        ("text", "address"),
        [
            ("", {"q": [""]}),
            ("agent:billing", {"agent": ["billing"], "q": [""]}),
            ("status:failed status:queued", {"status": ["failed", "queued"], "q": [""]}),
            ('since:yesterday "insufficient funds"',
             {"since": ["yesterday"], "q": ['"insufficient funds"']}),
            ("error:agent_error  card refused", {"error": ["agent_error"], "q": ["card refused"]}),
            ("by:me", {"started_by": [ME], "q": [""]}),
            ("by:bob", {"started_by": ["user:bob"], "q": [""]}),
            ("by:host", {"started_by": ["host"], "q": [""]}),
            ("by:user:host", {"started_by": ["user:host"], "q": [""]}),
            ("by:key:abcd1234", {"started_by": ["key:abcd1234"], "q": [""]}),
            ('thread:"the thread" RUN:r:1',
             {"thread_id": ["the thread"], "run_id": ["r:1"], "q": [""]}),
            ('"http://x" \u05e9\u05dc\u05d5\u05dd', {"q": ['"http://x" \u05e9\u05dc\u05d5\u05dd']}),
        ],
    )  # fmt: skip
    def test_tokens_are_the_filters_of_the_address(
        self, text: str, address: dict[str, list[str]]
    ) -> None:
        assert expanded(text) == address

    def test_what_is_typed_wins_and_statuses_add_up(self) -> None:
        full = expanded("agent:b status:failed", agent="a", status="queued")
        assert (full["agent"], full["status"]) == (["b"], ["queued", "failed"])

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ('"insufficient', 'A quotation mark is missing or misplaced in "insufficient.'),
            ('agent:"bill', 'A quotation mark is missing or misplaced in agent:"bill.'),
            ("agent:", "agent: needs a value."),
            ('status:""', "status: needs a value."),
            ("colour:red", "There is no filter colour"),
            ("agent:a agent:b", "agent can have one value only."),
            ("status:asleep", "asleep"),
            ("since:someday", "This is not a time"),
            ("x" * 501, "longer than 500 characters"),
            ("a b c d e f g h i j k", "more than 10 words"),
            ("a\x00b", "null character"),
        ],
    )
    def test_a_broken_token_says_what_is_wrong(
        self, cast: Cast, browse: Browse, text: str, problem: str
    ) -> None:
        start(cast.alice)
        answer = browse(cast.alice).get("/runs/", {"q": text, "agent": "echo"})
        assert answer.status_code == 200
        page = answer.content.decode().replace("&quot;", '"')
        assert problem in page.partition('role="alert"')[2]
        assert rows_of(page) == []
        assert 'id="q"' in page
        assert "<option selected>echo</option>" in page

    @given(text=st.text(alphabet=st.sampled_from('ab:" \t"agent:since:\u05e9'), max_size=40))
    def test_nothing_typed_breaks_it_and_it_means_the_same_twice(self, text: str) -> None:
        query = QueryDict(mutable=True)
        query["q"] = text
        full, typed = box.expanded(query, ME)
        if not typed.problems:
            again, same = box.expanded(full, ME)
            assert again == full
            assert same.words == typed.words

    def test_the_form_shows_the_tokens_as_its_fields(self, cast: Cast, browse: Browse) -> None:
        text = 'status:failed agent:echo by:me error:timeout since:today until:now "so so"'
        page = browse(cast.alice).get("/runs/", {"q": text}).content.decode()
        for part in (
            'value="failed" checked', "<option selected>echo</option>",
            'name="error" value="timeout"',
            '<option value="user:alice" selected>Me', '<option value="today" selected>',
            '<option value="now" selected>', 'value="&quot;so so&quot;"',
        ):  # fmt: skip
            assert part in page, part


class TestWhatNoIndexHas:
    def test_tag_length_and_findings(self, cast: Cast, browse: Browse) -> None:
        quick, slow, queued = (start(cast.alice, threadId=str(n)) for n in range(3))
        now = timezone.now()
        for run, seconds in ((quick, 0.2), (slow, 70)):
            ended = {"started_at": now, "ended_at": now + timedelta(seconds=seconds)}
            Run.objects.filter(pk=run.pk).update(status="succeeded", **ended)
        Thread.objects.filter(pk=slow.thread_id).update(tags=["vip", "x"])
        Finding.objects.create(journal_id=quick.pk, seq=1, rule="V4", action="dropped")
        Run.objects.filter(pk=slow.pk).update(by_model=[{"model": "gpt-5"}])
        ToolCall.objects.create(
            team=slow.team, run=slow, agent=slow.agent, seq=1, call="1", name="stripe.charge",
            at=now, root=slow.pk, status="ok",
        )  # fmt: skip
        browser = browse(cast.vera)
        for query, expected in {
            "tag:vip": [slow], "tag:none": [], "took:>1m": [slow], "took:<500ms": [quick],
            "took:>0.1s tag:x": [slow], "findings:yes": [quick], "findings:no": [queued, slow],
            "tool:stripe.charge": [slow], "tool:charge": [], "tool:stripe.charge took:<1s": [],
            "model:gpt-5": [slow], "model:gpt": [],
        }.items():  # fmt: skip
            page = browser.get("/runs/", {"q": query}).content.decode()
            assert rows_of(page) == ids(*expected), query
        for query in ("took:10", "took:>1y", "findings:maybe", "tag:" + "x" * 61):
            page = browser.get("/runs/", {"q": query}).content.decode()
            assert 'role="alert"' in page, query

    def test_a_search_costs_three_queries_at_most_whatever_it_finds(
        self, cast: Cast, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        for n in range(12):
            fail(start(cast.alice, threadId=str(n)), "insufficient funds")
        storing.run_once(20)
        for address, number in (
            ("q=funds", 3), ("q=unheard", 1), ("tag=vip", 3), ("took=>1s", 3), ("findings=no", 3),
            ("tool=charge", 3), ("model=m", 3),
        ):  # fmt: skip
            with django_assert_num_queries(number):
                matches = search.matching(cast.vera.principal, QueryDict(address))
                listing.page(cast.vera.principal, matches)
                listing.histogram_of(matches)

    def test_the_bars_lead_to_their_part_of_the_list(self, cast: Cast, browse: Browse) -> None:
        runs = [start(cast.alice, threadId=str(n)) for n in range(12)]
        base = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(days=1)
        for n, run in enumerate(runs):
            Run.objects.filter(pk=run.pk).update(created_at=base + timedelta(minutes=n % 3 * 20))
        failed = {"status": "failed", "error_code": "timeout", "ended_at": base}
        Run.objects.filter(pk=runs[0].pk).update(**failed)
        browser = browse(cast.vera)
        page = browser.get("/runs/?agent=echo").content.decode()
        bars = re.findall(r'<a tabindex="-1" href="([^"]+)" aria-label="[^:]*:\d\d: ([^"]+)"', page)
        assert [label for _, label in bars] == ["4 runs, 1 failed", "4 runs", "4 runs"]
        first = browser.get("/runs/" + unescape(bars[0][0])).content.decode()
        assert rows_of(first) == ids(runs[9], runs[6], runs[3], runs[0])
        assert 'class="histogram"' not in first, "four runs can be seen at a glance"


class TestTime:
    @pytest.fixture
    def runs(self, cast: Cast) -> list[Run]:
        """Of three days; the ids are all of today."""
        runs = [start(cast.alice, threadId=str(n)) for n in range(3)]
        start(cast.charlie)
        for n, run in enumerate(runs):
            Run.objects.filter(pk=run.pk).update(created_at=timezone.now() - timedelta(days=2 - n))
        return runs

    def test_since_and_until(self, cast: Cast, browse: Browse, runs: list[Run]) -> None:
        browser = browse(cast.vera)
        now = timezone.now()
        at = [(now - timedelta(days=days)).isoformat() for days in (1.5, 0.5)]
        old, middle, new = runs
        for query, expected in {
            urlencode({"since": at[0]}): [new, middle],
            urlencode({"until": at[0]}): [old],
            urlencode({"since": at[0], "until": at[1]}): [middle],
            f"since={at[0]}": [new, middle],  # the plus is not escaped
            "since=36h": [new, middle],
            "q=since:36h until:12h": [middle],
            "since=today&until=today": [],
            f"created_before={quote(at[0])}": [old],
            f"until={(now + timedelta(days=1)).date()}": [new, middle, old],
        }.items():
            page = browser.get(f"/runs/?{query}").content.decode()
            assert rows_of(page) == ids(*expected), query
            assert 'role="alert"' not in page

    def test_yesterday_began_at_midnight_utc(self) -> None:
        day = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        assert box.moment("yesterday") in (day - timedelta(days=1), day)

    def test_the_pager_keeps_the_filters_and_the_order(
        self, cast: Cast, browse: Browse, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(listing, "PAGE", 2)
        runs = [start(cast.alice, runId="r", threadId=str(n)) for n in range(5)]
        same = timezone.now() - timedelta(hours=1)
        for run in runs[:3]:
            Run.objects.filter(pk=run.pk).update(created_at=same)
        Run.objects.filter(pk=runs[4].pk).update(created_at=same - timedelta(hours=1))
        storing.run_once(20)
        expected = [runs[n] for n in (3, 2, 1, 0, 4)]
        browser, rows, back = browse(cast.alice), [], []
        address = "/runs/?run_id=r&since=24h&until=now&q=r"
        while address:
            page = browser.get(address).content.decode()
            rows.append(rows_of(page))
            address = _link(page, "next")
            for part in ("run_id=r", "since=24h", "until=now", "q=r"):
                assert not address or part in address
        assert [key for keys in rows for key in keys] == ids(*expected)
        while address := _link(page, "prev"):
            page = browser.get(address).content.decode()
            back.append(rows_of(page))
        assert back[-1] == rows[0]

    def test_a_time_that_makes_no_sense(self, cast: Cast, browse: Browse) -> None:
        answer = browse(cast.alice).get("/runs/?since=soon&until=9999-99-99")
        page = answer.content.decode()
        assert answer.status_code == 200
        assert "since: This is not a time: write 2026-11-22" in page
        assert "until: This is not a time" in page

    def test_in_the_api(self, cast: Cast, runs: list[Run]) -> None:
        client = Client(headers=cast.vera.headers)

        def get(query: str) -> list[str]:
            answer = client.get(f"/api/v1/runs?{query}")
            assert answer.status_code == 200, answer.content
            return [run["id"] for run in answer.json()["results"]]

        now = timezone.now()
        at = (now - timedelta(days=1.5)).isoformat()
        assert get(f"created_after={at}") == ids(runs[2], runs[1])
        assert get(f"created_before={quote(at)}") == ids(runs[0])
        first = client.get(f"/api/v1/runs?created_after={at}&limit=1").json()
        following = first["next"].partition("/api/v1/runs?")[2]
        assert [run["id"] for run in first["results"]] + get(following) == ids(runs[2], runs[1])
        cursor = re.search("cursor=([^&]+)", following)
        assert cursor
        odd = client.get(f"/api/v1/runs?cursor={cursor[1]}")
        assert odd.json()["error"]["code"] == "bad_cursor"
        bad = client.get("/api/v1/runs?created_after=yesterday")
        assert (bad.status_code, bad.json()["error"]["code"]) == (422, "invalid")
        assert "ISO 8601, such as 2026-11-22T10:30:00Z" in bad.content.decode()


class TestErrorAndText:
    def test_by_error(self, cast: Cast, browse: Browse) -> None:
        failed, _ = start(cast.alice, threadId="1"), start(cast.alice, threadId="2")
        fail(failed)
        browser = browse(cast.vera)
        for query, expected in {
            "error=agent_error": [failed],
            "q=error:agent_error": [failed],
            "error=agent_error&status=failed&agent=echo": [failed],
            "error=no_such_code": [],
            "error=AGENT_ERROR": [],
            "error=": [failed],
        }.items():
            page = browser.get(f"/runs/?{query}").content.decode()
            if query != "error=":
                assert rows_of(page) == ids(*expected), query
            assert 'role="alert"' not in page
        for code, number in (("agent_error", 1), ("no_such_code", 0)):
            answer = Client(headers=cast.vera.headers).get(f"/api/v1/runs?error={code}")
            assert len(answer.json()["results"]) == number

    def test_by_text(self, cast: Cast, browse: Browse) -> None:
        # Parts of names match too, and a run's id that the host chose can contain any two digits.
        broke = start(cast.alice, threadId="order 7", runId="first")
        other = start(cast.bob, threadId="50% off", runId="second")
        theirs = start(cast.charlie, threadId="order 7", runId="third")
        for run in (broke, theirs):
            fail(run, "Stripe says: insufficient funds")
        storing.run_once(20)
        browser = browse(cast.vera)
        for text, expected in {
            '"Insufficient funds"': [broke],
            "funds insufficient": [broke],
            "order funds": [broke],
            "order funds tag:vip": [],
            "50%": [other],
            "off": [other],
            "fund": [broke],
            "status:queued funds": [],
        }.items():
            page = browser.get("/runs/", {"q": text}).content.decode()
            assert rows_of(page) == ids(*expected), text
            assert "Runs that contain <b>" in page
        page = browser.get("/runs/", {"q": "_ % agent:echo"}).content.decode()
        assert rows_of(page) == []
        assert "The search contains no words" in page.partition('role="alert"')[2]

    def test_a_run_is_found_by_its_names_before_its_words_are_stored(
        self, cast: Cast, browse: Browse, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        old, new = (start(cast.alice, threadId=f"Order-{n}") for n in ("red", "blue"))
        for run in (old, new, start(cast.charlie, threadId="theirs")):
            fail(run, "Insufficient funds")
        browser = browse(cast.vera)
        for text, expected in {
            '"insufficient funds"': [new, old],
            "suffici order-red": [old],
            "funds nothing": [],
        }.items():
            page = browser.get("/runs/", {"q": text}).content.decode()
            assert rows_of(page) == ids(*expected), text
        monkeypatch.setattr(words, "FRESH", 1)
        page = browser.get("/runs/", {"q": "funds"}).content.decode()
        assert rows_of(page) == ids(new)
        storing.run_once(20)
        page = browser.get("/runs/", {"q": "funds"}).content.decode()
        assert rows_of(page) == ids(new, old)

    @pytest.mark.parametrize(
        ("enough", "more"),
        [
            (1, ""), (4, ""), (500, ""), (1, "&since=1h"), (1, "&until=now&since=1h"),
            (4, "&status=failed"),
        ],
    )  # fmt: skip
    def test_pages_are_the_same_however_many_are_looked_up(
        self, cast: Cast, browse: Browse, monkeypatch: pytest.MonkeyPatch, enough: int, more: str
    ) -> None:
        monkeypatch.setattr(listing, "PAGE", 2)
        monkeypatch.setattr(words, "ENOUGH", enough)
        monkeypatch.setattr(histogram, "FEWEST", 3)
        expected = []
        for number in range(8):
            run = start(cast.alice, threadId=f"order {number}")
            if number % 2:
                fail(run)
            expected += [run] * (number % 2 or "status" not in more)
        storing.run_once(20)
        browser, rows, back = browse(cast.vera), [], []
        address, page = f"/runs/?q=order{more}", ""
        while address:
            page = browser.get(address).content.decode()
            rows += [rows_of(page)]
            address = _link(page, "next")
        assert [key for keys in rows for key in keys] == ids(*expected[::-1])
        while address := _link(page, "prev"):
            page = browser.get(address).content.decode()
            back += [rows_of(page)]
        assert back[::-1] == rows[:-1]
        whole = enough == 500 or "until" in more
        assert ("the newest " in page.partition("<figcaption")[2]) != whole

    def test_the_pulse_counts_under_the_same_filters(self, cast: Cast, browse: Browse) -> None:
        old, new = start(cast.alice, threadId="a"), start(cast.alice, threadId="b")
        fail(new, "insufficient funds")
        storing.run_once(20)
        browser = browse(cast.vera)
        page = browser.get("/runs/", {"q": "status:failed funds", "since": "1h"}).content.decode()
        pulse = page.partition('hx-get="')[2].partition('"')[0].replace("&amp;", "&")
        assert "1 new run<" in browser.get(f"{pulse}&newest={old.pk}").content.decode()
        fail(old, "something else")
        assert "1 new run<" in browser.get(f"{pulse}&newest=").content.decode()
