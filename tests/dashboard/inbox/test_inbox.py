"""Questions in the browser: who sees them, who answers them, and what the pages show afterwards."""

import json
import re
from typing import Any
from uuid import uuid4

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from agui_host.dashboard.inbox import cards
from agui_host.dashboard.inbox.indented import rows
from agui_host.protocol.errors import RunErrorCode
from agui_host.runtimes.models import Agent
from runs.access import access, inbox, sharing
from runs.lifecycle import interrupts
from runs.models import Interrupt, InterruptStatus, Level, Run, Thread, Visibility
from tests.cast import Cast, fresh
from tests.dashboard.conftest import Browse
from tests.dashboard.test_runs_list import HOSTILE
from tests.protocol.questions.shapes import langchain
from tests.runs.asking import APPROVAL, asking, end, interrupted, moment, question, resume_of


def the_question(run: Run) -> Interrupt:
    return Interrupt.objects.get(run=run)


def send(browser: Client, row: Interrupt, choice: str = "0", **fields: Any) -> HttpResponse:
    """Press a button of the question's form; ``run`` is the page where it stands."""
    run = fields.pop("run", None)
    data = {f"{row.pk}-{name}": value for name, value in fields.items()}
    data |= {"choice": choice} | ({"run": str(run.pk)} if run else {})
    return browser.post(f"/inbox/{row.pk}/answer", data)  # type: ignore[return-value]


def text_of(browser: Client, address: str, status: int = 200) -> str:
    answer = browser.get(address)
    assert answer.status_code == status
    return answer.content.decode()


class TestWhoSeesIt:
    def test_the_link_and_the_number(self, cast: Cast, browse: Browse) -> None:
        bob, vera = browse(cast.bob), browse(cast.vera)
        assert 'href="/inbox/"' in text_of(bob, "/runs/")
        assert "open question" not in text_of(bob, "/runs/")
        asking(cast.alice, "a", "b")
        asking(cast.charlie, "theirs")
        page = bob.get("/", follow=True).content.decode()
        assert '2<span class="unseen"> open questions</span>' in page
        assert 'href="/inbox/"' not in text_of(vera, "/runs/")

    def test_those_who_may_answer_get_the_control(self, cast: Cast, browse: Browse) -> None:
        run = interrupted(cast.alice, question("i", message="Pay?", responseSchema=APPROVAL))
        asking(cast.charlie, "theirs")
        for address in ("/inbox/", f"/runs/{run.pk}/"):
            page = text_of(browse(cast.bob), address)
            assert "Pay?" in page
            assert "<bdi>Approve</bdi></button>" in page
            assert page.index('<main id="main"') < page.index("<bdi>Approve</bdi>")
            page = text_of(browse(cast.vera), address)
            assert "Pay?" in page
            assert "your role (viewer) does not include that" in page
            assert "<bdi>Approve</bdi>" not in page
            assert "theirs" not in page

    def test_others_private_questions_are_not_there(self, cast: Cast, browse: Browse) -> None:
        run = interrupted(cast.alice, question("i", message="Pay?"))
        row = the_question(run)
        Thread.objects.filter(pk=run.thread_id).update(visibility=Visibility.PRIVATE)
        assert "Pay?" in text_of(browse(cast.alice), "/inbox/")
        for actor in (cast.bob, cast.charlie):
            assert "Pay?" not in text_of(browse(actor), "/inbox/")
            assert send(browse(actor), row).status_code == 404
        assert the_question(run).status == InterruptStatus.OPEN

    @pytest.mark.parametrize("level", [Level.VIEW, Level.ANSWER])
    def test_the_number_is_of_those_that_may_be_answered(self, cast: Cast, level: Level) -> None:
        """``answerable`` says in SQL what ``access.may`` says of each."""
        mine, theirs = asking(cast.alice, "a"), asking(cast.bob, "b", thread="2")
        Thread.objects.update(visibility=Visibility.PRIVATE)
        asking(cast.alice, "c", thread="3")
        for run in (mine, theirs):
            owner = cast.alice if run == mine else cast.bob
            to = sharing.To("vera")
            sharing.share(owner.principal, run, to, sharing.Terms(level=level))
        for actor in (cast.alice, cast.bob, cast.vera, cast.charlie):
            questions = list(inbox.waiting(actor.principal))
            may = [row for row in questions if access.may(actor.principal, "answer", row.run)]
            assert set(inbox.answerable(actor.principal)) == set(may)
            assert inbox.count(actor.principal) == len(may)
        assert inbox.count(cast.vera.principal) == (2 if level == Level.ANSWER else 0)

    def test_more_questions_cost_no_more_queries(
        self, cast: Cast, browse: Browse, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        for n in range(8):
            interrupted(cast.alice, question("i", responseSchema=APPROVAL), thread=str(n))
        browser = browse(cast.bob)
        text_of(browser, "/inbox/")  # The first page makes the installation's key.
        with django_assert_num_queries(10):
            text_of(browser, "/inbox/")

    def test_large_forms_are_on_the_pages_of_their_runs(self, cast: Cast, browse: Browse) -> None:
        raw = {"action_requests": [{"name": "pay", "args": {f"a{n}": n for n in range(30)}}] * 3}
        names, fields = [f"i{n}" for n in range(17)], 3 * 32
        run = interrupted(cast.alice, *(question(n, **langchain(raw, n)) for n in names))
        for address, rest in (
            ("/inbox/", "This question is too long for a list"),
            (f"/runs/{run.pk}/", "It can be answered here after those before it"),
        ):
            page = text_of(browse(cast.bob), address)
            assert page.count("Send decisions") == cards.MOST_FIELDS // fields == 15
            assert page.count(rest) == 2

    def test_pages(self, cast: Cast, browse: Browse, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("agui_host.dashboard.inbox.cards.MOST", 2)
        for n in range(3):
            interrupted(cast.alice, question("i", message=f"question {n}"), thread=str(n))
        browser = browse(cast.bob)
        page = text_of(browser, "/inbox/")
        assert ("question 2" in page, "question 1" in page, "question 0" in page) == (1, 1, 0)
        before = page.partition("?before=")[2].partition('"')[0]
        assert "question 0" in text_of(browser, f"/inbox/?before={before}")
        assert "is not the id of a question" in text_of(browser, "/inbox/?before=x", 400)


class TestAnswering:
    def test_from_the_runs_page(self, cast: Cast, browse: Browse) -> None:
        run = interrupted(cast.alice, question("i", message="Pay?", responseSchema=APPROVAL))
        row, browser = the_question(run), browse(cast.bob)
        answer = send(browser, row, run=run)
        assert answer.status_code == 302
        assert answer["Location"] == f"/runs/{run.pk}/"
        row.refresh_from_db()
        assert row.answering_run is not None
        assert resume_of(row.answering_run) == [
            {"interruptId": "i", "status": "resolved", "payload": {"approved": True}}
        ]
        page = text_of(browser, f"/runs/{run.pk}/")
        main = page[page.index("<main") :]
        assert '<bdi>bob</bdi></strong> answered: <b class="verdict">Approve</b>' in main
        assert f'href="/runs/{row.answering_run_id}/"' in main
        assert "wait" not in main.lower()
        assert "<bdi>Approve</bdi></button>" not in main
        assert "No open questions" in text_of(browser, "/inbox/")

    def test_a_no_is_an_answer_and_to_dismiss_is_not(self, cast: Cast, browse: Browse) -> None:
        browser = browse(cast.bob)
        for choice, payload in (("1", {"payload": {"approved": False}}), ("dismiss", {})):
            run = interrupted(cast.alice, question("i", responseSchema=APPROVAL), thread=choice)
            row = the_question(run)
            answer = send(browser, row, choice)
            assert answer["Location"] == "/inbox/"
            row.refresh_from_db()
            status = "cancelled" if choice == "dismiss" else "resolved"
            expected = {"interruptId": "i", "status": status} | payload
            assert row.answering_run
            assert resume_of(row.answering_run) == [expected]
            outcome = "dismissed this question" if choice == "dismiss" else "Deny"
            assert outcome in text_of(browser, f"/runs/{run.pk}/")

    def test_a_question_without_a_schema_gets_the_decision_of_every_dialect(
        self, cast: Cast, browse: Browse
    ) -> None:
        browser = browse(cast.bob)
        for choice, words, decision in (
            ("send", "", {"approved": True}),
            ("reject", "too dear", {"approved": False, "reason": "too dear"}),
        ):
            run = interrupted(cast.alice, question("i", message="Pay?"), thread=choice)
            row = the_question(run)
            send(browser, row, choice, part0=words)
            row.refresh_from_db()
            assert row.answering_run
            (entry,) = resume_of(row.answering_run)
            assert entry["payload"] == decision
            page = text_of(browser, f"/runs/{run.pk}/")
            assert f'<b class="verdict">{"Reject" if words else "Approve"}</b>' in page
            assert words in page

    def test_all_questions_of_a_run(self, cast: Cast, browse: Browse) -> None:
        run, browser = asking(cast.alice, "a", "b"), browse(cast.bob)
        first, second = Interrupt.objects.filter(run=run).order_by("pk")
        send(browser, first, "send", run=run)
        page = text_of(browser, f"/runs/{run.pk}/")
        assert "once the other questions of this run are answered" in page
        assert page.count("<bdi>Approve</bdi></button>") == 1
        send(browser, second, "send", part0="with care", run=run)
        second.refresh_from_db()
        assert second.answering_run is not None
        assert [entry["payload"] for entry in resume_of(second.answering_run)] == [
            {"approved": True},
            "with care",
        ]
        assert "with care" in text_of(browser, f"/runs/{run.pk}/")

    @pytest.mark.parametrize("page", ["run", "inbox"])
    def test_a_colleague_was_quicker(self, cast: Cast, browse: Browse, page: str) -> None:
        run = interrupted(cast.alice, question("i", message="Pay?", responseSchema=APPROVAL))
        row = the_question(run)
        where = {"run": run} if page == "run" else {}
        send(browse(cast.alice), row, "1")
        answer = send(browse(cast.bob), row, "0", **where)
        assert answer.status_code == 409
        text = answer.content.decode()
        assert "alice answered this question " in text
        assert "so your answer was not stored" in text
        assert '<b class="verdict">Deny</b>' in text
        # the same answer is nothing new
        assert send(browse(cast.bob), row, "1", **where).status_code == 302

    def test_it_expired(self, cast: Cast, browse: Browse) -> None:
        run = interrupted(
            cast.alice, question("i", responseSchema=APPROVAL, expiresAt=moment(3600))
        )
        row, browser = the_question(run), browse(cast.bob)
        assert "expires <time" in text_of(browser, "/inbox/")
        Interrupt.objects.filter(pk=row.pk).update(expires_at=timezone.now())
        answer = send(browser, row, run=run)
        assert answer.status_code == 409
        assert "expired before your answer arrived" in answer.content.decode()
        interrupts.expire()
        page = text_of(browser, f"/runs/{run.pk}/")
        assert "It expired without an answer" in page
        assert "<bdi>Approve</bdi>" not in page
        assert "No open questions" in text_of(browser, "/inbox/")

    def test_a_viewer_who_posts_anyway(self, cast: Cast, browse: Browse) -> None:
        row = the_question(asking(cast.alice, "i"))
        assert send(browse(cast.vera), row, "send").status_code == 403
        row.refresh_from_db()
        assert row.status == InterruptStatus.OPEN

    def test_a_disabled_agent_leaves_the_question_open(self, cast: Cast, browse: Browse) -> None:
        run = interrupted(cast.alice, question("i", responseSchema=APPROVAL))
        row = the_question(run)
        Agent.objects.filter(pk=cast.echo.pk).update(enabled=False)
        answer = send(browse(cast.bob), row, run=run)
        assert answer.status_code == 409
        assert "The agent echo is disabled" in answer.content.decode()
        row.refresh_from_db()
        assert row.status == InterruptStatus.OPEN

    def test_of_another_page_or_none(self, cast: Cast, browse: Browse) -> None:
        row = the_question(asking(cast.alice, "i"))
        theirs = asking(cast.charlie, "i")
        browser = browse(cast.bob)
        assert send(browser, row, "send", run=theirs).status_code == 404
        assert browser.post(f"/inbox/{uuid4()}/answer", {"choice": "send"}).status_code == 404
        assert send(browser, row, "nonsense").status_code == 422
        row.refresh_from_db()
        assert row.status == InterruptStatus.OPEN


class TestOpenPages:
    def test_the_inbox_says_when_it_has_changed(self, cast: Cast, browse: Browse) -> None:
        browser = browse(cast.vera)
        asking(cast.alice, "a", thread="1")
        page = text_of(browser, "/inbox/")
        address = page.partition('hx-get="')[2].partition('"')[0]
        assert address.startswith("/inbox/pulse?shows=")
        assert browser.get(address).status_code == 204
        asking(cast.alice, "b", thread="2")
        assert "The questions have changed" in text_of(browser, address)

    def test_the_page_of_a_run_gets_its_questions_and_their_answers(
        self, cast: Cast, browse: Browse
    ) -> None:
        run, browser = asking(cast.alice, "a"), browse(cast.bob)
        address = f"/runs/{run.pk}/questions?shows="
        assert "<bdi>Approve</bdi></button>" in text_of(browser, address)
        assert browser.get(f"{address}open").status_code == 204
        send(browse(cast.alice), the_question(run), "send")
        assert "<bdi>alice</bdi></strong> answered" in text_of(browser, f"{address}open")

    def test_a_failed_attempt_opens_the_question_again(self, cast: Cast, browse: Browse) -> None:
        run = interrupted(cast.alice, question("i", message="Pay?"))
        row, browser = the_question(run), browse(cast.bob)
        send(browser, row, "send")
        row.refresh_from_db()
        assert row.answering_run
        end(row.answering_run, lambda intake: intake.fail(RunErrorCode.AGENT_ERROR, "it broke"))
        page = text_of(browser, f"/runs/{run.pk}/")
        assert "<bdi>Approve</bdi></button>" in page
        assert fresh(run).status == "interrupted"


def test_hostile_text_is_text(cast: Cast, browse: Browse) -> None:
    schema = {
        "type": "object",
        "title": HOSTILE,
        "properties": {HOSTILE: {"type": "string", "title": HOSTILE, "description": HOSTILE,
                                 "default": HOSTILE, "enum": [HOSTILE, "b"]}},
    }  # fmt: skip
    run = interrupted(
        cast.alice,
        question("i", message=HOSTILE, reason=HOSTILE, metadata={HOSTILE: 1},
                 responseSchema=schema),
    )  # fmt: skip
    browser = browse(cast.bob)
    for address in ("/inbox/", f"/runs/{run.pk}/"):
        page = text_of(browser, address)
        assert "<script>alert" not in page
        assert "<img src=x" not in page
    assert send(browser, the_question(run), "0").status_code == 302
    assert json.loads(the_question(run).answer or "")["payload"] == {HOSTILE: HOSTILE}
    assert "<script>alert" not in text_of(browser, f"/runs/{run.pk}/")


def test_nobody_is_asked_to_sign_in_twice(browse: Browse, cast: Cast) -> None:
    row = the_question(asking(cast.alice, "i"))
    assert Client().post(f"/inbox/{row.pk}/answer")["Location"].startswith("/login/")
    assert Client().get("/inbox/")["Location"] == "/login/?next=/inbox/"


def test_the_soonest_to_expire_comes_first(cast: Cast, browse: Browse) -> None:
    for n, hours in enumerate((2, 1, None)):
        more = {} if hours is None else {"expiresAt": moment(3600 * hours)}
        interrupted(cast.alice, question("i", message=f"question {n}", **more), thread=str(n))
    page = text_of(browse(cast.bob), "/inbox/")
    texts = re.findall(r"<h2[^>]*>(question \d)</h2>", page)
    assert texts == ["question 1", "question 0", "question 2"]


def test_the_context_is_in_the_card(cast: Cast, browse: Browse) -> None:
    """The last words, and the call with its arguments as names and texts."""
    call = {"tool": "refund", "amount": 189.5, "customer": {"id": "C-1", "regular": True}}
    run = interrupted(cast.alice, question("i", message="Refund?", metadata=call))
    Run.objects.filter(pk=run.pk).update(asked="Charged twice!", answered="It is true.")
    page = browse(cast.bob).get("/inbox/").content.decode()
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
    for words in ("alice Charged twice!", "echo It is true.", "amount 189.5", "customer id C-1"):
        assert words in text
    assert "customer regular yes" in text
    assert "Details from the agent" not in page


@pytest.mark.parametrize("value", [{"a": list(range(20))}, {"a": "x" * 400}, ["a"], "a", None])
def test_large_values_are_no_rows(value: Any) -> None:
    assert rows(value) == []
