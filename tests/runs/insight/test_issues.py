"""Issues: failed runs grouped by their error, and how people deal with them."""

from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes import RunContext
from agui_host.teams.access import members
from agui_host.teams.models import AuditEntry, Membership
from events.writer import JournalWriter
from runs.access import access, sharing
from runs.access.insight import issues
from runs.lifecycle import lifecycle
from runs.lifecycle.deletion import erasure, retention
from runs.lifecycle.insight import storing
from runs.lifecycle.insight.fingerprint import fingerprint, normalised
from runs.models import Issue, IssueNote, IssueRun, Run, Thread, Visibility
from tests.asgi import ask_now
from tests.cast import Actor, Cast, Register, perform, start

pytestmark = pytest.mark.django_db(transaction=True)


def failed(actor: Actor, message: str, agent: Any = None, **body: Any) -> Run:
    run = start(actor, agent, **body)
    lifecycle.claim(run.pk)
    lifecycle.finish(run.pk, {"type": "RUN_ERROR", "code": "agent_error", "message": message})
    return run


def listed(actor: Actor, query: str = "") -> list[dict[str, Any]]:
    answer = ask_now("GET", f"/api/v1/issues{query}", actor.cookie)
    assert answer.status == 200, answer.body
    rows: list[dict[str, Any]] = answer.json["results"]
    return rows


def runs_of(actor: Actor, issue: str) -> list[str]:
    answer = ask_now("GET", f"/api/v1/runs?issue={issue}", actor.cookie)
    assert answer.status == 200
    return [run["id"] for run in answer.json["results"]]


def patched(actor: Actor, issue: str, body: Any) -> Any:
    return ask_now("PATCH", f"/api/v1/issues/{issue}", actor.headers, json=body)


def page_of(actor: Actor) -> str:
    client = Client(headers={"accept": "text/html"})
    client.force_login(actor.user)
    return client.get("/issues/").content.decode()


def private(run: Run, actor: Actor) -> None:
    rows = Thread.objects.filter(pk=run.thread_id, team=run.team)
    rows.update(visibility=Visibility.PRIVATE, creator=actor.principal.actor_id)


def hours_ago(run: Run, hours: float) -> None:
    at = timezone.now() - timedelta(hours=hours)
    Run.objects.filter(pk=run.pk, team=run.team).update(ended_at=at)


def test_each_count_leads_to_exactly_those_runs(cast: Cast, register: Register) -> None:
    other = register("other", lambda ctx: ctx.text)
    first = failed(cast.alice, "Order 17 of 'Maria' was not found")
    second = failed(cast.bob, "Order 4182 of 'Tom' was not found")
    apart = failed(cast.bob, "Order 4182 of 'Tom' was not found", other)
    hours_ago(first, 50)
    failed(cast.charlie, "Order 17 of 'Maria' was not found")
    storing.run_once(20)
    rows = listed(cast.vera)
    assert {(row["agent"], row["message"], row["count"]) for row in rows} == {
        ("echo", "Order # of “…” was not found", 2),
        ("other", "Order # of “…” was not found", 1),
    }
    for row in rows:
        assert len(runs_of(cast.vera, row["id"])) == row["count"]
    [both] = [row for row in rows if row["agent"] == "echo"]
    assert set(runs_of(cast.vera, both["id"])) == {str(first.pk), str(second.pk)}
    assert (sum(both["days"]), both["days"][-1]) == (2, 1)
    assert both["first_seen"] < both["last_seen"]
    [alone] = [row for row in rows if row["agent"] == "other"]
    assert runs_of(cast.vera, alone["id"]) == [str(apart.pk)]
    assert listed(cast.charlie)[0]["id"] not in {row["id"] for row in rows}
    assert patched(cast.charlie, both["id"], {"status": "resolved"}).status == 404
    assert runs_of(cast.charlie, both["id"]) == []


class Unpaid(Exception):
    pass


def unpaid() -> None:
    raise Unpaid("Ann's card is refused")


async def test_exceptions_of_one_message_are_told_apart(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    """Whatever a Python agent raises, its run ends with the same message."""

    async def raising(ctx: RunContext) -> AsyncIterator[str]:
        yield "Hm. "
        if ctx.text == "card":
            unpaid()
        raise ValueError(ctx.text)

    agent = await db(register, "raising", raising)
    for text in ("card", "card", "one", "other"):
        body = {"messages": [{"id": "m", "role": "user", "content": text}]}
        run = await db(partial(start, cast.alice, agent, **body))
        assert (await perform(run, writer)).status == "failed"
    await db(storing.run_once, 20)
    rows = await db(listed, cast.bob)
    assert [row["count"] for row in rows] == [2, 2]
    assert {row["message"] for row in rows} == {
        "The agent stopped with an error; the host's log has the details."
    }
    pages = [await db(page_of, actor) for actor in (cast.alice, cast.bob)]
    assert [text.count("Unpaid: Ann&#x27;s card is refused") for text in pages] == [1, 0]
    assert [text.count("ValueError: other") for text in pages] == [1, 0]


def test_private_runs_count_for_those_who_see_them(cast: Cast) -> None:
    shared = failed(cast.bob, "No card", threadId="shared")
    hidden = failed(cast.bob, "No card", threadId="hidden")
    secret = failed(cast.bob, "Only mine", threadId="secret")
    for run in (hidden, secret):
        private(run, cast.bob)
    storing.run_once(20)
    assert {(row["message"], row["count"]) for row in listed(cast.bob)} == {
        ("No card", 2), ("Only mine", 1)
    }  # fmt: skip
    [row] = listed(cast.alice)
    assert (row["message"], row["count"], runs_of(cast.alice, row["id"])) == (
        "No card", 1, [str(shared.pk)]
    )  # fmt: skip
    [mine] = [row for row in listed(cast.bob) if row["count"] == 1]
    for body in ({"status": "resolved"}, {"note": "Hello"}):
        assert patched(cast.alice, mine["id"], body).status == 404
    # A grant shows the run, and so its failure.
    sharing.share(cast.bob.principal, secret, sharing.To(member="alice"), sharing.Terms())
    assert {row["count"] for row in listed(cast.alice)} == {1}
    assert runs_of(cast.alice, mine["id"]) == [str(secret.pk)]
    for row in listed(cast.alice):
        assert len(runs_of(cast.alice, row["id"])) == row["count"]
    private(shared, cast.bob)  # after it was stored
    assert [row["message"] for row in listed(cast.alice)] == ["Only mine"]


def test_resolved_assigned_and_come_back(cast: Cast) -> None:
    hours_ago(failed(cast.alice, "No card"), 5)
    storing.run_once(20)
    [row] = listed(cast.bob, "?status=open")
    answer = patched(
        cast.bob, row["id"], {"status": "resolved", "assigned_to": "alice", "note": "Was mine."}
    )
    assert answer.status == 200, answer.body
    assert (answer.json["status"], answer.json["assigned_to"]) == ("resolved", "alice")
    assert [(note["text"], note["author"]) for note in answer.json["notes"]] == [
        ("Was mine.", f"key:{cast.bob.key_prefix}")
    ]
    assert listed(cast.bob, "?status=open") == []
    assert [each["id"] for each in listed(cast.bob, "?status=resolved")] == [row["id"]]
    failed(cast.alice, "No card")
    storing.run_once(20)
    [again] = listed(cast.bob, "?status=open")
    assert (again["id"], again["count"], again["came_back"]) == (row["id"], 2, True)
    assert listed(cast.bob, "?status=resolved") == []
    assert patched(cast.bob, row["id"], {"status": "open"}).json["came_back"] is False
    assert patched(cast.bob, row["id"], {"assigned_to": None}).json["assigned_to"] is None
    changed = AuditEntry.objects.filter(team=cast.team, action="issue.changed")
    assert changed.count() == 3


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"status": "closed"}, 422), ({"assigned_to": "charlie"}, 422), ({"state": "open"}, 422),
        ({"note": "x" * 4001}, 422), ({"note": ""}, 422), ({}, 200),
    ],
)  # fmt: skip
def test_changes_that_make_no_sense(cast: Cast, body: Any, status: int) -> None:
    failed(cast.alice, "No card")
    storing.run_once(20)
    [row] = listed(cast.bob)
    assert patched(cast.bob, row["id"], body).status == status
    assert patched(cast.vera, row["id"], {}).status == 403
    assert ask_now("GET", "/api/v1/issues?status=x", cast.bob.headers).status == 422


def test_who_leaves_the_team_is_assigned_no_longer(cast: Cast) -> None:
    failed(cast.alice, "No card")
    storing.run_once(20)
    [row] = listed(cast.alice)
    patched(cast.alice, row["id"], {"assigned_to": "bob"})
    member = Membership.objects.get(team=cast.team, user=cast.bob.user)
    members.remove(cast.alice.principal, member.pk)
    assert listed(cast.alice)[0]["assigned_to"] is None


def test_an_issue_goes_with_its_last_run(cast: Cast) -> None:
    first, second = (failed(cast.alice, "No card", threadId=name) for name in "ab")
    storing.run_once(20)
    [row] = listed(cast.alice)
    patched(cast.alice, row["id"], {"note": "Hm."})
    retention.purge_run(first)
    assert listed(cast.alice)[0]["count"] == 1
    erasure.erase_thread(cast.alice.principal, second.thread)
    assert listed(cast.alice) == []
    storing.run_once(20)
    for model in (Issue, IssueRun, IssueNote):
        assert not model.objects.of_any_team().exists()


def test_a_page_shows_what_the_list_counts(cast: Cast) -> None:
    failed(cast.alice, "No card")
    storing.run_once(20)
    [issue] = issues.listed(cast.alice.principal)
    [run] = issues.runs(cast.alice.principal, issue)
    assert run.beginning == "No card"
    assert access.visible(cast.alice.principal).filter(pk=run.pk).exists()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Order 17 not found", "Order 4,182 not found"),
        ("No file '/a/b c'", "No file '/d'"),
        ('KeyError: "x"', 'KeyError: "y z"'),
        ("01a211a8-ad56-780c-a24b-594270c7edc3 lost", "7f1b7fa3-8000-4000-8000-000000000000 lost"),
        ("took 3.5 s of -2%", "took 12 s of 40.25%"),
        ("at 2026-11-27T10:00:01.5Z", "at 2025-01-02T23:59:59Z"),
        ("POST https://a.example/x?y=1 failed", "POST http://b.example/ failed"),
        ("mail to a@b.example bounced", "mail to c.d@e.example bounced"),
        ("order ord_8f3K2 is gone", "order ord_1 is gone"),
        ("a\n  b", "a b"),
    ],
)  # fmt: skip
def test_values_make_no_difference(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Order not found", "Customer not found"), ("can't open it", "can't close it"),
        ("", "x"), ("a 1", "a"),
    ],
)  # fmt: skip
def test_words_make_a_difference(one: str, other: str) -> None:
    assert normalised(one) != normalised(other)


def test_long_and_strange_messages(cast: Cast) -> None:
    assert len(normalised("word " * 1_000_000)) <= 500
    assert normalised("\0\ud800 x") == normalised("\0\ud800 x")
    assert len(fingerprint(cast.echo.pk, "x", normalised("é\u202e" * 1000))) == 32
    failed(cast.alice, "é\u202e" * 1000)
    assert storing.run_once(20) == 1
