"""What the buttons of a run's page do without JavaScript: stop it, run it again, go on from it."""

import json
from typing import Any

from django.test import Client

from agui_host.dashboard.run import comparing
from agui_host.protocol.errors import RunErrorCode
from runs.lifecycle.steering import messages
from runs.models import Run, Status, Thread
from tests.cast import Cast, fresh, start
from tests.dashboard.conftest import Browse
from tests.runs.asking import asking, end, resume, yes

BUTTON = ">Run again</button>"


def from_user(id: str, text: str) -> dict[str, str]:
    return {"id": id, "role": "user", "content": text}


def page_of(browser: Client, run: Run) -> str:
    return browser.get(f"/runs/{run.pk}/").content.decode()


class TestCancel:
    def test_by_those_who_may(self, cast: Cast, browse: Browse) -> None:
        run = start(cast.alice)
        for actor, status in ((cast.vera, 403), (cast.bob, 403), (cast.charlie, 404)):
            assert browse(actor).post(f"/runs/{run.pk}/cancel").status_code == status
        assert fresh(run).status == Status.QUEUED
        answer = browse(cast.alice).post(f"/runs/{run.pk}/cancel")
        assert answer["Location"] == f"/runs/{run.pk}/"
        assert fresh(run).status == Status.CANCELLED
        assert browse(cast.alice).post(f"/runs/{run.pk}/cancel").status_code == 302


class TestRunAgain:
    def test_the_same_input_replaces_the_answer(self, cast: Cast, browse: Browse) -> None:
        message = {"id": "m1", "role": "user", "content": "hello"}
        run = start(
            cast.alice, threadId="t", messages=[message], forwardedProps={"a": 1}, state={"b": 2}
        )
        browser = browse(cast.bob)
        assert BUTTON not in page_of(browser, run)
        end(run)
        assert BUTTON in page_of(browser, run)
        assert BUTTON not in page_of(browse(cast.vera), run)
        answer = browser.post(f"/runs/{run.pk}/again")
        second = Run.objects.exclude(pk=run.pk).get(team=cast.team)
        assert answer["Location"] == f"/runs/{second.pk}/"
        assert (second.thread_id, second.agent_id) == (run.thread_id, run.agent_id)
        assert second.started_by == "user:bob"
        body = json.loads(second.input)
        assert body["forwardedProps"] == {"a": 1, "regenerate": True}
        assert body["state"] == {"b": 2}
        assert "The log of the earlier one stays." in page_of(browser, second)
        # a second click finds a newer run
        again = browser.post(f"/runs/{run.pk}/again")
        assert again.status_code == 409
        assert "newest run of a thread" in again.content.decode()
        assert Run.objects.filter(team=cast.team).count() == 2

    def test_not_what_asked_or_answered(self, cast: Cast, browse: Browse) -> None:
        browser = browse(cast.bob)
        asked_run = asking(cast.alice, "i")
        answering = resume(cast.alice, yes("i"))
        end(answering)
        for run in (asked_run, answering, asking(cast.alice, "j", thread="2")):
            assert BUTTON not in page_of(browser, run)
            assert browser.post(f"/runs/{run.pk}/again").status_code == 409

    def test_not_by_strangers_or_viewers(self, cast: Cast, browse: Browse) -> None:
        run = start(cast.alice)
        end(run)
        assert browse(cast.vera).post(f"/runs/{run.pk}/again").status_code == 403
        assert browse(cast.charlie).post(f"/runs/{run.pk}/again").status_code == 404
        assert Run.objects.filter(team=cast.team).count() == 1


class TestGoingOn:
    def test_a_message_continues_the_thread(self, cast: Cast, browse: Browse) -> None:
        run = start(cast.alice, threadId="t", messages=[from_user("m1", "hello")])
        browser = browse(cast.bob)
        assert browser.post(f"/runs/{run.pk}/continue", {"message": "and?"}).status_code == 409
        end(run)
        assert "Continue the conversation" in page_of(browser, run)
        assert "Continue the conversation" not in page_of(browse(cast.vera), run)
        empty = browser.post(f"/runs/{run.pk}/continue", {"message": " \n"})
        assert (empty.status_code, "Write a message." in empty.content.decode()) == (422, True)
        answer = browser.post(f"/runs/{run.pk}/continue", {"message": "and?"})
        second = Run.objects.exclude(pk=run.pk).get(team=cast.team)
        assert answer["Location"] == f"/runs/{second.pk}/"
        assert (second.thread_id, second.started_by) == (run.thread_id, "user:bob")
        assert [each["content"] for each in json.loads(second.input)["messages"]] == ["and?"]
        assert browser.post(f"/runs/{run.pk}/continue", {"message": "more"}).status_code == 409

    def test_with_changes_it_has_a_thread_of_its_own(self, cast: Cast, browse: Browse) -> None:
        messages = [from_user("m1", "first"), from_user("m2", "second")]
        run = start(cast.alice, threadId="t", messages=messages, state={"b": 2})
        browser, address = browse(cast.bob), f"/runs/{run.pk}/change"
        assert browser.get(address).status_code == 409
        end(run)
        form = browser.get(address).content.decode()
        assert ">second</textarea>" in form
        assert "&quot;b&quot;: 2" in form
        values = {"agent": "echo", "message": "third", "state": '{"b": 3}'}
        for name, value in (("state", "{"), ("message", "")):
            refused = browser.post(address, values | {name: value})
            assert refused.status_code in (400, 422)
            assert 'role="alert"' in refused.content.decode()
        assert Run.objects.filter(team=cast.team).count() == 1
        answer = browser.post(address, values)
        second = Run.objects.exclude(pk=run.pk).get(team=cast.team)
        assert answer["Location"] == f"/runs/{second.pk}/"
        assert second.thread_id != run.thread_id
        body = json.loads(second.input)
        assert [each["content"] for each in body["messages"]] == ["first", "third"]
        assert body["state"] == {"b": 3}

    def test_what_is_private_stays_in_its_thread(self, cast: Cast, browse: Browse) -> None:
        run = start(cast.alice, threadId="t", messages=[from_user("m1", "hello")])
        end(run)
        mine = {"visibility": "private", "creator": cast.alice.principal.actor_id}
        Thread.objects.filter(team=cast.team).update(**mine)
        browser = browse(cast.alice)
        assert "Run with changes" not in page_of(browser, run)
        assert browser.get(f"/runs/{run.pk}/change").status_code == 409
        assert browse(cast.bob).get(f"/runs/{run.pk}/change").status_code == 404


class TestCompare:
    def test_with_the_last_success_of_its_agent(self, cast: Cast, browse: Browse) -> None:
        browser = browse(cast.vera)
        hello = [from_user("m1", "hello")]
        good = start(cast.alice, threadId="t1", messages=hello, state={"step": 1})
        assert "no run to compare" in browser.get(f"/runs/{good.pk}/compare").content.decode()
        end(good)
        bye = [from_user("m1", "bye <b>")]
        run = start(cast.alice, threadId="t2", messages=bye, state={"step": "<i>"})
        end(run, lambda intake: intake.fail(RunErrorCode.AGENT_ERROR, "no"))
        page = browser.get(f"/runs/{run.pk}/compare").content.decode()
        assert f'href="/runs/{good.pk}/"' in page
        assert "bye &lt;b&gt;" in page
        assert "-  &quot;step&quot;: 1" in page
        assert "+  &quot;step&quot;: &quot;&lt;i&gt;&quot;" in page
        other = browser.get(f"/runs/{good.pk}/compare?with={run.pk}").content.decode()
        assert f'href="/runs/{run.pk}/"' in other
        assert browser.get(f"/runs/{run.pk}/compare?with=x").status_code == 400
        stranger = start(cast.charlie)
        assert browser.get(f"/runs/{run.pk}/compare?with={stranger.pk}").status_code == 404

    def test_rows_of_one_kind_and_name_stand_beside_each_other(self) -> None:
        def row(name: str, status: str = "succeeded") -> dict[str, Any]:
            return {"kind": "tool", "name": name, "lane": [], "status": status}

        before, after = [row("a"), row("b"), row("d")], [row("a", "failed"), row("c"), row("d")]
        pairs = list(comparing.aligned(before, after))
        assert [pair.difference for pair in pairs] == ["status", "left", "right", ""]


class TestSay:
    def test_the_page_shows_where_the_agent_has_read(self, cast: Cast, browse: Browse) -> None:
        run, browser = start(cast.alice), browse(cast.alice)
        for text in ("Shorter.", "In French."):
            answer = browser.post(f"/runs/{run.pk}/say", {"message": text})
            assert answer["Location"] == f"/runs/{run.pk}/"
        page = page_of(browser, run)
        assert "2 messages not read by the agent yet." in page
        assert "The agent read message" not in page
        messages.note_seen(run.pk, {1: 217})()
        page = page_of(browser, run)
        assert 'The agent read message 1 at <a href="#seq=217">#217</a>.' in page
        assert "1 message not read by the agent yet." in page
        assert "The agent read message" not in page_of(browse(cast.vera), run), "a viewer"
