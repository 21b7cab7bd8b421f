"""The API's ``q``: which runs have all the words, for those who may know it."""

from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agui_host.backends.postgres import scope
from runs.lifecycle.deletion import retention
from runs.lifecycle.words import search, storing
from runs.models import Run, RunWords
from tests.asgi import Answer, ask_now
from tests.cast import Actor, Cast
from tests.runs.access.test_sharing import patch
from tests.runs.words.test_storing import saying

pytestmark = pytest.mark.django_db(transaction=True)


def answer_to(actor: Actor, text: str, more: str = "") -> Answer:
    return ask_now("GET", f"/api/v1/runs?q={quote(text)}{more}", actor.cookie)


def ids(actor: Actor, text: str, more: str = "") -> list[str]:
    return [row["id"] for row in answer_to(actor, text, more).json["results"]]


class TestTheAnswer:
    @pytest.fixture
    def runs(self, cast: Cast) -> list[str]:
        """The newest run first."""
        texts = ("Please refund order 7", "Refund: it's 50% \\ 'off'", "Where is order 8?")
        runs = [saying(cast.alice, text, f"t{n}") for n, text in enumerate(texts)]
        storing.run_once(20)
        return [str(run.pk) for run in runs[::-1]]

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("refund", [1, 2]),
            ("ORDER", [0, 2]),
            ("order refund", [2]),
            ('"order 7"', [2]),
            ("7 order", [2]),
            ("refunds", []),
            ("ref", []),
            ("it's 'off' \\", [1]),
            ("off & | ! <-> :* (", [1]),
            ("order refund nothing", []),
        ],
    )
    def test_every_word_is_in_the_run(
        self, cast: Cast, runs: list[str], text: str, expected: list[int]
    ) -> None:
        assert ids(cast.vera, text) == [runs[n] for n in expected]

    def test_with_other_filters_and_pages(self, cast: Cast, runs: list[str]) -> None:
        assert ids(cast.vera, "refund", "&thread_id=t0") == [runs[2]]
        assert ids(cast.vera, "refund", "&status=failed") == []
        first = answer_to(cast.vera, "refund", "&limit=1&created_after=2020-01-01").json
        address = "/api/v1/runs" + first["next"].partition("/api/v1/runs")[2]
        following = ask_now("GET", address, cast.vera.cookie).json
        assert [each["results"][0]["id"] for each in (first, following)] == runs[1:]

    @pytest.mark.parametrize("enough", [1, 2, 3, 500])
    @pytest.mark.parametrize("more", ["", "&created_after=2020-01-01", "&started_by=user:alice"])
    def test_all_pages_are_the_same_however_many_are_looked_up(
        self, cast: Cast, monkeypatch: pytest.MonkeyPatch, enough: int, more: str
    ) -> None:
        monkeypatch.setattr(search, "ENOUGH", enough)
        runs = []
        for number in range(12):
            run = saying((cast.alice, cast.bob)[number % 3 == 0], "refund", f"t{number}")
            runs += [str(run.pk)] * ("started" not in more or number % 3 > 0)
        storing.run_once(20)
        pages, back, address = [], [], f"/api/v1/runs?q=refund&limit=2{more}"
        while address:
            answer = ask_now("GET", address, cast.vera.cookie).json
            pages.append([row["id"] for row in answer["results"]])
            before = "/api/v1/runs" + (answer["previous"] or "").partition("/api/v1/runs")[2]
            address = (answer["next"] or "").replace("http://localhost", "")
        assert [each for page in pages for each in page] == runs[::-1]
        back = [row["id"] for row in ask_now("GET", before, cast.vera.cookie).json["results"]]
        assert back == pages[-2]

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("… --", "no words"),
            ("x" * 501, "500"),
            ("x" * 500 + "y", "500"),
            ("".join(map(chr, range(0x4E00, 0x4E00 + 41))), "more than 40 words"),
        ],
    )
    def test_what_is_no_text_to_search_for(
        self, cast: Cast, runs: list[str], text: str, problem: str
    ) -> None:
        answer = answer_to(cast.vera, text)
        assert (answer.status, answer.code) == (422, "invalid")
        assert problem in answer.body.decode()
        assert len(ids(cast.vera, "")) == 3, "no filter at all"

    def test_the_search_costs_two_queries(
        self, cast: Cast, runs: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rows = Run.objects.for_team(cast.team)
        for number, enough in ((2, 500), (2, 1)):
            monkeypatch.setattr(search, "ENOUGH", enough)
            with CaptureQueriesContext(connection) as queries:
                assert len(search.containing(rows, cast.team.pk, "refund")) == 2
            assert len(queries) == number
        assert not search.containing(rows, cast.team.pk, "…").exists()


class TestWhoMayKnow:
    def test_another_teams_words_find_nothing(self, cast: Cast) -> None:
        theirs, ours = saying(cast.charlie, "refund"), saying(cast.alice, "refund")
        storing.run_once(20)
        assert ids(cast.vera, "refund") == [str(ours.pk)]
        assert ids(cast.charlie, "refund") == [str(theirs.pk)]

    def test_nor_do_those_of_a_private_thread(self, cast: Cast) -> None:
        run = saying(cast.bob, "refund", "private")
        assert patch(cast.bob, run.thread, visibility="private").status == 200
        storing.run_once(20)
        assert ids(cast.bob, "refund") == [str(run.pk)]
        assert ids(cast.alice, "refund") == []

    @pytest.mark.parametrize("whole", [True, False])
    def test_of_a_shared_run_only_who_sees_its_thread(self, cast: Cast, whole: bool) -> None:
        run = saying(cast.bob, "refund", "private")
        patch(cast.bob, run.thread, visibility="private")
        storing.run_once(20)
        what = {"thread": str(run.thread_id)} if whole else {"run": str(run.pk)}
        headers = {**cast.bob.cookie, "origin": "http://localhost"}
        grant = {"member": "alice", "level": "view", **what}
        assert ask_now("POST", "/api/v1/grants", headers, json=grant).status == 201
        assert ids(cast.alice, "refund") == [str(run.pk)] * whole
        by_name = ask_now("GET", "/api/v1/runs?thread_id=private", cast.alice.cookie).json
        assert [row["id"] for row in by_name["results"]] == [str(run.pk)]

    def test_a_purged_run_is_found_by_no_word(self, cast: Cast) -> None:
        run = saying(cast.alice, "refund")
        storing.run_once(20)
        retention._entomb(run.team_id, [run.pk])
        assert ids(cast.vera, "refund") == []

    def test_a_scope_reaches_its_teams_words_only(self, cast: Cast) -> None:
        """Raw SQL as the application: the view has the policy's condition."""
        for actor in (cast.alice, cast.charlie):
            saying(actor, "refund")
        storing.run_once(20)

        def count(table: str) -> Any:
            with connection.cursor() as cursor:
                cursor.execute(f"select count(*) from {table} where words is not null")  # noqa: S608
                return cursor.fetchone()[0]

        tables = (search.REACHED, RunWords._meta.db_table)
        assert [count(table) for table in tables] == [2, 2], "the owner"
        both = [cast.team.pk, cast.other_team.pk]
        for teams in (both, both[:1], []):
            with scope.limited(*teams):
                assert [count(table) for table in tables] == [len(teams)] * 2
        with scope.limited(), scope.everywhere():
            assert [count(table) for table in tables] == [2, 2], "work of no team"
