"""Private threads and grants: who sees what, what a level allows, and when it ends."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from agui_host.teams.models import AuditEntry, Membership, Role
from runs.access import access
from runs.models import Comment, Feedback, Grant, Interrupt, Run, Thread
from tests.asgi import Answer, ask_now
from tests.cast import Actor, Cast, fresh, start
from tests.runs.asking import interrupted, question
from tests.runs.conversing import tell, text, user

pytestmark = pytest.mark.django_db(transaction=True)

GRANTS, RUNS, THREADS = "/api/v1/grants", "/api/v1/runs", "/api/v1/threads"


def share(by: Actor, status: int = 201, **body: Any) -> dict[str, Any]:
    answer = ask_now("POST", GRANTS, by.headers, json=body)
    assert answer.status == status, answer.body
    return dict(answer.json)


def sees(actor: Actor, run: Run) -> bool:
    """Every way to the run says the same, the person's key only what is the team's."""
    statuses = {
        ask_now("GET", f"{RUNS}/{run.pk}{more}", actor.cookie).status
        for more in ("", "/events", "/comments", "/feedback")
    }
    statuses.add(ask_now("GET", f"/runs/{run.pk}/", actor.cookie).status)
    assert len(statuses) == 1, statuses
    return statuses == {200}


def listed(actor: Actor, url: str = RUNS) -> list[str]:
    return [row["id"] for row in ask_now("GET", url, actor.cookie).json["results"]]


def patch(actor: Actor, thread: Thread, **body: Any) -> Answer:
    return ask_now(
        "PATCH", f"{THREADS}/{thread.pk}", {**actor.cookie, "origin": "http://localhost"}, json=body
    )


@pytest.fixture
def private(cast: Cast) -> Run:
    """A run in a private thread of Bob's."""
    run = start(cast.bob, threadId="secret-plan")
    assert patch(cast.bob, run.thread, visibility="private").status == 200
    return run


class TestPrivate:
    def test_only_whoever_began_it_sees_it(self, cast: Cast, private: Run) -> None:
        public = start(cast.alice, threadId="open")
        for actor, mine in ((cast.bob, True), (cast.alice, False), (cast.vera, False)):
            assert sees(actor, private) is mine
            assert (str(private.pk) in listed(actor)) is mine
            assert str(public.pk) in listed(actor)
            assert (str(private.thread_id) in listed(actor, THREADS)) is mine
            threads = ask_now("GET", "/agui/threads", actor.cookie).json["threads"]
            assert ("secret-plan" in str(threads)) is mine
            page = ask_now("GET", "/runs/?thread_id=secret-plan", actor.cookie)
            assert (str(private.pk).encode() in page.body) is mine
            pulse = ask_now("GET", "/runs/pulse?newest=", actor.cookie).body
            assert (b"2 new" in pulse) is mine

    def test_nobody_else_starts_or_stops_a_run_in_it(self, cast: Cast, private: Run) -> None:
        body = {"input": {"threadId": "secret-plan"}}
        answer = ask_now("POST", RUNS, cast.alice.headers, json=body)
        assert (answer.status, answer.code) == (404, "not_found")
        names = {"threadId": "secret-plan", "runId": private.run_id}
        assert ask_now("POST", "/agui", cast.alice.headers, json=names).status == 404
        stop = ask_now("POST", "/agui/agent/echo/stop/secret-plan", cast.alice.headers, json={})
        assert stop.json["stopped"] is False
        assert ask_now("POST", f"{RUNS}/{private.pk}/cancel", cast.alice.headers).status == 404
        assert fresh(private).status == "queued"

    def test_its_questions_are_its_own(self, cast: Cast) -> None:
        interrupted(cast.bob, question("i"), thread="t")
        row = Interrupt.objects.get()
        assert patch(cast.bob, row.thread, visibility="private").status == 200
        assert listed(cast.bob, "/api/v1/interrupts") == [str(row.pk)]
        assert listed(cast.alice, "/api/v1/interrupts") == []
        assert ask_now("GET", f"/api/v1/interrupts/{row.pk}", cast.alice.cookie).status == 404

    def test_an_idempotency_key_does_not_show_it(self, cast: Cast) -> None:
        headers = {**cast.bob.cookie, "origin": "http://localhost", "idempotency-key": "k"}
        run = ask_now("POST", RUNS, headers, json={"input": {"threadId": "t"}}).json
        thread = Thread.objects.get(runs=run["id"])
        assert patch(cast.bob, thread, visibility="private").status == 200
        other = {**cast.alice.headers, "idempotency-key": "k"}
        assert ask_now("POST", RUNS, other, json={"input": {"threadId": "t"}}).status == 404

    def test_only_its_creator_decides(self, cast: Cast) -> None:
        run = start(cast.bob, threadId="t")
        assert patch(cast.alice, run.thread, visibility="private").status == 403
        assert patch(cast.vera, run.thread, title="x").status == 403
        assert patch(cast.charlie, run.thread, title="x").status == 404


class TestGrants:
    def test_a_member_sees_what_was_shared_and_nothing_else(self, cast: Cast, private: Run) -> None:
        other = start(cast.bob, threadId="other-secret")
        patch(cast.bob, other.thread, visibility="private")
        grant = share_by_cookie(cast.bob, run=str(private.pk), member="vera")
        assert sees(cast.vera, private)
        assert not sees(cast.vera, other)
        assert str(private.pk) in listed(cast.vera)
        assert not sees(cast.alice, private)
        received = ask_now("GET", f"{GRANTS}?received=true", cast.vera.cookie).json["results"]
        assert [row["id"] for row in received] == [grant["id"]]
        revoke(cast.bob, grant)
        assert not sees(cast.vera, private)

    def test_another_team_sees_that_run_only(self, cast: Cast) -> None:
        run, other = start(cast.alice, threadId="t"), start(cast.alice, threadId="u")
        assert not sees(cast.charlie, run)
        grant = share(cast.alice, run=str(run.pk), to_team=str(cast.other_team.pk))
        assert sees(cast.charlie, run)
        assert ask_now("GET", f"{RUNS}/{run.pk}", cast.charlie.headers).status == 200
        assert not sees(cast.charlie, other)
        assert listed(cast.charlie) == []
        assert ask_now("GET", f"/runs/{run.pk}/input", cast.charlie.cookie).status == 404
        assert ask_now("POST", f"{RUNS}/{run.pk}/cancel", cast.charlie.headers).status == 403
        Grant.objects.filter(pk=grant["id"]).update(expires_at=timezone.now())
        assert not sees(cast.charlie, run)

    def test_levels(self, cast: Cast) -> None:
        run = start(cast.alice, threadId="t")
        comment = {"text": "Hm."}
        for level, may_comment, may_cancel in (
            ("view", 403, 403), ("comment", 201, 403), ("answer", 201, 403), ("control", 201, 202),
        ):  # fmt: skip
            grant = share(cast.alice, run=str(run.pk), to_team=str(cast.other_team.pk), level=level)
            url = f"{RUNS}/{run.pk}"
            answer = ask_now("POST", f"{url}/comments", cast.charlie.headers, json=comment)
            assert answer.status == may_comment
            assert ask_now("POST", f"{url}/cancel", cast.charlie.headers).status == may_cancel
            revoke(cast.alice, grant)

    def test_whoever_may_answer_answers_with_the_owners_agent(self, cast: Cast) -> None:
        interrupted(cast.alice, question("i"), thread="t")
        row = Interrupt.objects.get()
        url, body = f"/api/v1/interrupts/{row.pk}/answer", {"status": "resolved", "payload": 1}
        assert ask_now("POST", url, cast.charlie.headers, json=body).status == 404
        share(
            cast.alice, thread=str(row.thread_id), to_team=str(cast.other_team.pk), level="answer"
        )
        answer = ask_now("POST", url, cast.charlie.headers, json=body)
        assert answer.status == 200, answer.body
        started = Run.objects.get(pk=answer.json["run"]["id"])
        assert (started.team, started.agent) == (cast.team, cast.echo)
        assert started.started_by == f"key:{cast.charlie.key_prefix}"

    def test_a_viewer_of_the_other_team_stays_one(self, cast: Cast) -> None:
        run = start(cast.alice, threadId="t")
        share(cast.alice, run=str(run.pk), to_team=str(cast.other_team.pk), level="control")
        Membership.objects.filter(user=cast.charlie.user).update(role=Role.VIEWER)
        answer = ask_now(
            "POST",
            f"{RUNS}/{run.pk}/cancel",
            {**cast.charlie.cookie, "origin": "http://localhost"},
            json={},
        )
        assert answer.status == 403

    def test_nobody_shares_more_than_their_own(self, cast: Cast, private: Run) -> None:
        run = start(cast.alice, threadId="t")
        share(cast.vera, 403, run=str(run.pk))
        share(cast.charlie, 404, run=str(run.pk))
        share(cast.alice, run=str(run.pk), to_team=str(cast.other_team.pk), level="control")
        share(cast.charlie, 403, run=str(run.pk))
        share_by_cookie(cast.bob, run=str(private.pk), member="alice", level="control")
        body = {"run": str(private.pk)}
        headers = {**cast.alice.cookie, "origin": "http://localhost"}
        assert ask_now("POST", GRANTS, headers, json=body).status == 403

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            ({}, 422),
            ({"thread": "{thread}", "run": "{run}"}, 422),
            ({"run": "{run}", "level": "control"}, 422),
            ({"run": "{run}", "redact": ["a..b"]}, 422),
            ({"run": "{run}", "member": "bob", "redact": ["a"]}, 422),
            ({"run": "{run}", "member": "nobody"}, 404),
            ({"run": "{run}", "member": "charlie"}, 404),
            ({"run": "{run}", "to_team": "{team}"}, 422),
            ({"run": "{run}", "to_team": "{run}"}, 404),
            ({"run": "{run}", "expires_at": "2020-01-01T00:00:00Z"}, 422),
        ],
    )
    def test_what_cannot_be_granted(self, cast: Cast, body: dict[str, Any], status: int) -> None:
        run = start(cast.alice, threadId="t")
        names = {"run": run.pk, "thread": run.thread_id, "team": cast.team.pk}
        filled = {k: v.format(**names) if isinstance(v, str) else v for k, v in body.items()}
        share(cast.alice, status, **filled)
        assert not Grant.objects.exists()

    def test_acts_are_recorded(self, cast: Cast) -> None:
        run = start(cast.alice, threadId="t")
        grant = share(cast.alice, run=str(run.pk))
        for _ in range(2):
            revoke(cast.alice, grant)
        acts = AuditEntry.objects.filter(target=grant["id"]).order_by("pk")
        assert [act.action for act in acts] == ["grant.created", "grant.revoked"]
        assert grant["url"] not in str(list(acts.values()))

    def test_the_database_refuses_other_grants(self, cast: Cast) -> None:
        run = start(cast.alice, threadId="t")
        good = {"team": cast.team, "run": run, "token_hash": "x", "created_by": "user:alice"}
        wrong: list[dict[str, Any]] = [
            {"thread": run.thread}, {"run": None}, {"token_hash": None}, {"to_user": cast.bob.user},
            {"level": "answer"}, {"token_hash": None, "to_team": cast.team}, {"level": "own"},
            {"revoked_at": timezone.now()},
            {"token_hash": None, "to_user": cast.bob.user, "sign_in": True},
        ]  # fmt: skip
        for fields in wrong:
            with pytest.raises(IntegrityError), transaction.atomic():
                Grant.objects.create(**{**good, **fields})
        assert Grant.objects.create(**good).is_live()

    def test_use_is_noted_once_a_minute(self, cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
        run = start(cast.alice, threadId="t")
        path = share(cast.alice, run=str(run.pk))["url"].removeprefix("http://localhost")
        assert ask_now("GET", path).status == 200
        first = Grant.objects.get().last_used_at
        assert first is not None
        assert ask_now("GET", path).status == 200
        assert Grant.objects.get().last_used_at == first
        monkeypatch.setattr(access, "NOTED_EVERY", timedelta(0))
        assert ask_now("GET", path).status == 200
        assert Grant.objects.get().last_used_at > first

    def test_the_owners_log_says_who_looked_at_it(self, cast: Cast, private: Run) -> None:
        grants = [
            share_by_cookie(cast.bob, run=str(private.pk), member="vera"),
            share_by_cookie(
                cast.bob, thread=str(private.thread.pk), to_team=str(cast.other_team.pk)
            ),
        ]
        for actor in (cast.vera, cast.charlie, cast.bob) * 2:
            assert sees(actor, private)
        lines = AuditEntry.objects.filter(action="grant.used").order_by("pk")
        assert [(line.team, line.who, line.target) for line in lines] == [
            (cast.team, cast.vera.principal.label, grants[0]["id"]),
            (cast.team, cast.charlie.principal.label, grants[1]["id"]),
        ]
        about = {"run": str(private.pk), "from_team": cast.other_team.slug}
        assert json.loads(lines[1].details) == about
        assert all(grant.last_used_at for grant in Grant.objects.all())


def share_by_cookie(by: Actor, **body: Any) -> dict[str, Any]:
    answer = ask_now("POST", GRANTS, {**by.cookie, "origin": "http://localhost"}, json=body)
    assert answer.status == 201, answer.body
    return dict(answer.json)


def revoke(by: Actor, grant: dict[str, Any]) -> None:
    headers = {**by.cookie, "origin": "http://localhost"}
    assert ask_now("DELETE", f"{GRANTS}/{grant['id']}", headers).status == 204


class TestTopics:
    def test_titles_tags_and_archive(self, cast: Cast) -> None:
        one, two = start(cast.alice, threadId="one"), start(cast.alice, threadId="two")
        answer = patch(cast.bob, one.thread, title="Plan", tags=["a", "b"], archived=True)
        assert answer.status == 200
        assert (answer.json["title"], answer.json["tags"]) == ("Plan", ["a", "b"])
        for query, titles in (
            ("", [two, one]), ("?tag=a", [one]), ("?tag=c", []), ("?archived=true", [one]),
            ("?archived=false", [two]), ("?thread_id=two", [two]),
        ):  # fmt: skip
            assert listed(cast.vera, f"{THREADS}{query}") == [str(run.thread_id) for run in titles]
            assert listed(cast.charlie, f"{THREADS}{query}") == []
        copilot = ask_now("GET", "/agui/threads", cast.vera.headers).json["threads"]
        assert [(t["name"], t["archived"]) for t in copilot] == [(None, False), ("Plan", True)]
        page = ask_now("GET", f"{THREADS}?limit=1", cast.vera.headers).json
        assert listed(cast.vera, f"{THREADS}?cursor={page['next']}") == [str(one.thread_id)]
        assert ask_now("GET", f"{THREADS}/{one.thread_id}", cast.charlie.headers).status == 404


class TestRemarks:
    def test_comments_with_mentions(self, cast: Cast) -> None:
        run = start(cast.alice, threadId="t")
        url = f"{RUNS}/{run.pk}/comments"
        text = "@bob, look; mail@vera is no mention, nor is @charlie. @vera."
        answer = ask_now("POST", url, cast.alice.headers, json={"text": text})
        assert answer.status == 201
        assert answer.json["mentions"] == ["bob", "vera"]
        comments = ask_now("GET", url, cast.vera.headers).json["comments"]
        assert [comment["text"] for comment in comments] == [text]
        assert ask_now("GET", url, cast.charlie.headers).status == 404
        one = f"{url}/{answer.json['id']}"
        assert ask_now("DELETE", one, cast.bob.headers).status == 403
        assert ask_now("DELETE", one, cast.alice.headers).status == 204
        empty = {"comments": [], "next": None, "previous": None}
        assert ask_now("GET", url, cast.vera.headers).json == empty

    @pytest.mark.parametrize("name", ["comments", "feedback"])
    def test_at_most_200_a_page(self, cast: Cast, name: str) -> None:
        run = start(cast.alice, threadId="t")
        url = f"{RUNS}/{run.pk}/{name}"
        common = {"team": cast.team, "run": run, "author": "x"}
        Comment.objects.bulk_create(Comment(**common, text=f"{n}") for n in range(203))
        Feedback.objects.bulk_create(
            Feedback(**common, text=f"{n}", writer=f"{n}", thumb="up") for n in range(203)
        )
        texts: list[str] = []
        for query, many in (("", 200), ("?limit=2", 2), ("?limit=1000", 200)):
            page = ask_now("GET", f"{url}{query}", cast.vera.headers).json
            assert len(page[name]) == many, query
        assert page["previous"] is None
        address = url
        while address:
            page = ask_now("GET", address, cast.vera.headers).json
            texts += [each["text"] for each in page[name]]
            address = (page["next"] or "").removeprefix("http://localhost")
        assert texts == [f"{n}" for n in range(203)]
        for query, status in (("cursor=x", 400), ("after=1", 422)):
            assert ask_now("GET", f"{url}?{query}", cast.vera.headers).status == status

    @pytest.mark.parametrize(
        "body", [{}, {"text": ""}, {"text": "x", "seq": 1}, {"text": "x", "seq": 0}]
    )
    def test_a_comment_says_something_about_something(self, cast: Cast, body: Any) -> None:
        run = start(cast.alice, threadId="t")
        assert ask_now("POST", f"{RUNS}/{run.pk}/comments", cast.bob.headers, json=body).status in (
            400,
            422,
        )

    def test_one_thumb_per_person(self, cast: Cast) -> None:
        run = start(cast.alice, threadId="t")
        url = f"{RUNS}/{run.pk}/feedback"
        for thumb in ("down", "up"):
            assert ask_now("PUT", url, cast.bob.headers, json={"thumb": thumb}).status == 200
        assert (
            ask_now("PUT", url, cast.alice.headers, json={"thumb": "down", "text": "no"}).status
            == 200
        )
        feedback = ask_now("GET", url, cast.vera.headers).json["feedback"]
        assert [(row["thumb"], row["text"]) for row in feedback] == [("up", ""), ("down", "no")]
        assert ask_now("PUT", url, cast.vera.headers, json={"thumb": "up"}).status == 403

    def test_one_thumb_per_person_and_answer(self, cast: Cast) -> None:
        words = user("Hello", "asked")
        run = tell(cast.alice, *text("first", "A"), *text("second", "B"), messages=[words])
        url = f"{RUNS}/{run.pk}/feedback"

        def rate(**body: str) -> int:
            return ask_now("PUT", url, cast.bob.headers, json=body).status

        assert rate(thumb="up", message_id="first") == 200
        assert rate(thumb="down", message_id="second") == 200
        assert rate(thumb="down", message_id="first") == 200
        assert rate(thumb="up") == 200
        for absent in ("no-such", "first ", "x" * 301, "asked"):
            assert rate(thumb="up", message_id=absent) == 422
        rows = ask_now("GET", url, cast.vera.headers).json["feedback"]
        assert [(row["message_id"], row["thumb"]) for row in rows] == [
            ("first", "down"), ("second", "down"), ("", "up"),
        ]  # fmt: skip
        [row] = ask_now("GET", RUNS, cast.vera.headers).json["results"]
        assert (row["thumbs_up"], row["thumbs_down"]) == (1, 2)
        assert ask_now("DELETE", f"{url}?message_id=first", cast.bob.headers).status == 204
        assert ask_now("DELETE", f"{url}?message=first", cast.bob.headers).status == 422
        assert ask_now("DELETE", url, cast.bob.headers).status == 204
        rows = ask_now("GET", url, cast.vera.headers).json["feedback"]
        assert [row["message_id"] for row in rows] == ["second"]
