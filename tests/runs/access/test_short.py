"""Lists never read long values, however many megabytes their rows hold: each list of this host."""

import json
import re
from typing import Any

import pytest
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from agui_host.backends.postgres.bridge import db
from agui_host.dashboard.inbox import cards
from agui_host.runtimes.models import Document
from runs.lifecycle.webhooks import deliveries
from runs.lifecycle.webhooks.deliveries import Outcome
from runs.models import (
    Comment,
    Failure,
    Feedback,
    Interrupt,
    Run,
    Schedule,
    ThreadHistory,
    Webhook,
    WebhookDelivery,
)
from runs.models.short import SHORT, is_long, short, value
from tests.asgi import ask, ask_now
from tests.cast import Cast, bell, cast, register
from tests.runs.asking import interrupted, question
from tests.tenancy.doors import AGUI, ASGI
from tests.tenancy.test_doors import DJANGO, House, house

__all__ = ["bell", "cast", "house", "register"]
pytestmark = pytest.mark.django_db(transaction=True)

LONG = "long-value " * 10_000
BODY = json.dumps({"metadata": {"a": LONG}, "payload": LONG, "messages": []})
HTML = {"accept": "text/html"}
BOUND = 20_000
"""Bytes of one value that a list may read, or of one row that it may send."""
ONE = re.compile(r"<uuid:|<str:|<int:|\?P<chat>|\?P<thread_id>")
"""A part of an address that names one object."""
LISTS = sorted(
    {route for route, door in (DJANGO | ASGI).items() if "GET" in door.answers}
    - {route for route in DJANGO | ASGI if ONE.search(route)}
    - {"account/data/export"}  # a person's own file, which is whole
    - {rf"{AGUI}/agent/(?P<slug>[-\w]+)/run/?$"}  # one run, by its runId
)
MORE = {"team/webhooks/<uuid:webhook_id>/", "api/v1/webhooks/<uuid:webhook_id>/deliveries"}
"""Lists below one object."""


@pytest.fixture
def planted(house: House) -> House:
    """Alice's house, whose rows have 100 KB in each column that may be long."""
    interrupted(house.cast.alice, question("again"), thread="asked")
    answered = Interrupt.objects.get(interrupt_id="again")
    Interrupt.objects.filter(pk=answered.pk).update(
        status="answered", answer=BODY, answered_by="user:alice", answered_at=timezone.now()
    )
    Run.objects.of_one_thread().update(
        input=BODY, context=BODY, result=BODY, usage=json.dumps([{"model": LONG}])
    )
    Run.objects.of_one_thread().filter(pk=house.failed.pk).update(
        status="failed", error_code="agent_error", error_message=LONG
    )
    Interrupt.objects.of_one_thread().update(
        question=BODY, response_schema=BODY, message=LONG, reason=LONG
    )
    Schedule.objects.of_one_thread().update(input=BODY)
    Comment.objects.of_one_thread().update(text=LONG)
    Feedback.objects.create(
        team=house.cast.team, run=house.run, author="x", writer="x", thumb="up", text=LONG
    )
    Failure.objects.of_one_thread().update(details=BODY)
    Document.objects.of_one_thread().update(text=LONG)
    ThreadHistory.objects.update(fold=BODY)
    for webhook in Webhook.objects.of_one_thread():
        delivery = WebhookDelivery.objects.create(
            team=webhook.team, webhook=webhook, type="webhook.test", due_at=timezone.now()
        )
        for _ in range(deliveries.ATTEMPTS + 1):
            deliveries.record(delivery, Outcome(timezone.now(), 1, error=LONG))
            WebhookDelivery.objects.filter(pk=delivery.pk).update(
                status="pending", ended_at=None, tries=0
            )
            delivery.refresh_from_db()
    return house


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that read a long value, on any connection."""
    queries: list[str] = []
    execute = CursorWrapper.execute

    def watched(self: Any, sql: Any, params: Any = None) -> Any:
        answer = execute(self, sql, params)
        result = self.cursor.pgresult
        if result is not None:
            longest = max(
                (len(result.get_value(row, column) or b"")
                 for row in range(result.ntuples) for column in range(result.nfields)),
                default=0,
            )  # fmt: skip
            if longest > BOUND:
                queries.append(f"{longest} {sql}")
        return answer

    monkeypatch.setattr(CursorWrapper, "execute", watched)
    return queries


async def test_no_list_reads_or_sends_long_values(
    planted: House, bell: None, large: list[str]
) -> None:
    wrong = []
    tables = DJANGO | ASGI
    assert len(LISTS) > 40
    for route in [*LISTS, *MORE]:
        door = tables[route]
        large.clear()
        headers = {**planted.askers["owner"], **door.headers}
        answer = await ask("GET", planted.url(door, route), headers)
        assert answer.status == door.answers["GET"].owner, f"{route}: {answer.status}"
        if large:
            wrong.append(f"{route}: {large[0][:300]}")
        if answer.body.count(b"long-value") * len("long-value ") > 3 * BOUND:
            wrong.append(f"{route} sends {len(answer.body)} bytes")
    assert wrong == [], "\n".join(wrong)


@pytest.mark.parametrize("method", ["resources/list", "tools/list", "prompts/list"])
async def test_no_list_of_mcp_does(
    planted: House, bell: None, large: list[str], method: str
) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": method}
    answer = await ask("POST", "/mcp", planted.askers["owner"], json=body)
    assert (answer.status, large) == (200, [])
    assert len(answer.body) < BOUND


async def test_the_guard_notices_an_object_that_is_read_whole(
    planted: House, bell: None, large: list[str]
) -> None:
    address = f"/api/v1/interrupts/{planted.question.pk}"
    answer = await ask("GET", address, planted.askers["owner"])
    assert answer.json["metadata"] == {"a": LONG}
    assert "question" in large[0]


def test_a_question_in_a_list_names_what_it_leaves_out(cast: Cast) -> None:
    run = interrupted(cast.alice, question("short", metadata={"a": 1}), question("long"))
    rows = Interrupt.objects.of_one_thread().filter(interrupt_id="long")
    rows.update(question=BODY, message="é" * (SHORT // 2), response_schema=f'"{"x" * SHORT}"')
    listed = {
        each["interrupt_id"]: each
        for each in ask_now("GET", "/api/v1/interrupts", cast.alice.headers).json["results"]
    }
    assert listed["short"]["omitted"] == []
    assert listed["short"]["metadata"] == {"a": 1}
    assert listed["long"]["omitted"] == ["response_schema", "metadata"]
    assert listed["long"]["metadata"] is listed["long"]["response_schema"] is None
    assert listed["long"]["message"] == "é" * (SHORT // 2)
    one = ask_now("GET", f"/api/v1/interrupts/{listed['long']['id']}", cast.alice.headers).json
    assert one["metadata"] == {"a": LONG}
    assert one["run"] == str(run.pk)


def test_long_and_short_values(cast: Cast) -> None:
    interrupted(cast.alice, question("i"))
    for text, long in (("x" * SHORT, False), ("x" * (SHORT + 1), True)):
        Interrupt.objects.of_one_thread().update(message=text, response_schema=None)
        row = short(Interrupt.objects.of_one_thread(), "message", "response_schema").get()
        assert row.get_deferred_fields() == {"message", "response_schema"}
        assert (value(row, "message"), is_long(row, "message")) == (None if long else text, long)
        assert (value(row, "response_schema"), is_long(row, "response_schema")) == (None, False)


async def test_the_page_of_a_run_shows_long_questions_within_a_bound(
    cast: Cast, bell: None, large: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first open one, more within the bound, and a link to each of the others."""
    names = ["answered", "first", "second", "third"]
    run = await db(interrupted, cast.alice, *map(question, names))
    rows = await db(lambda: list(Interrupt.objects.of_one_thread().order_by("pk")))
    schema = json.dumps({"type": "string", "description": LONG})
    await db(Interrupt.objects.of_one_thread().update, question=BODY, response_schema=schema)
    answered = Interrupt.objects.of_one_thread().filter(pk=rows[0].pk)
    await db(answered.update, status="answered", answer=BODY, answered_by="user:alice",
             answered_at=timezone.now())  # fmt: skip
    for bound, whole in ((len(BODY), rows[1:2]), (5 * len(BODY), rows[1:])):
        monkeypatch.setattr(cards, "MOST_BYTES", bound)
        for address in (f"/runs/{run.pk}/questions", f"/runs/{run.pk}/"):
            page = (await ask("GET", address, cast.alice.cookie | HTML)).body.decode()
            for row in rows:
                assert (f"/inbox/{row.pk}/answer" in page) == (row in whole)
                assert (f'href="/api/v1/interrupts/{row.pk}"' in page) == (row not in whole)
    large.clear()
    stamp = page.partition("questions?shows=")[2].partition('"')[0]
    address = f"/runs/{run.pk}/questions?shows={stamp}"
    assert (await ask("GET", address, cast.alice.cookie | HTML)).status == 204
    assert large == [], "nothing long is read to find that nothing has changed"


async def test_the_inbox_leads_to_a_question_that_is_too_long(planted: House, bell: None) -> None:
    headers = {**planted.askers["owner"], "accept": "text/html"}
    page = (await ask("GET", "/inbox/", headers)).body.decode()
    assert f'href="/runs/{planted.question.run_id}/">read it and answer on the page' in page
    assert f"/inbox/{planted.question.pk}/answer" not in page
    await db(Interrupt.objects.of_one_thread().update, question="{}", response_schema=None)
    page = (await ask("GET", "/inbox/", headers)).body.decode()
    assert f"/inbox/{planted.question.pk}/answer" in page
