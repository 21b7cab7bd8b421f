"""Alerts: their values, who is told of them, and bodies that the API refuses."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.db import close_old_connections
from django.utils import timezone
from pytest_django import Settings

from agui_host.teams import keys
from agui_host.teams.models import AuditEntry, Membership, Role
from runs.access.alerts import checking, selection
from runs.access.notices import warnings
from runs.lifecycle import lifecycle
from runs.lifecycle.usage import rollup
from runs.lifecycle.webhooks import payloads
from runs.lifecycle.words import storing as words
from runs.models import Alert, Interrupt, Notice, Run, Thread, ToolCall, WebhookDelivery
from tests.asgi import Answer, ask_now
from tests.cast import Actor, Cast, Register, start
from tests.runs.asking import interrupted, question
from tests.runs.jobs import FAILED, FINISHED
from tests.runs.usage.test_usage import run_of

pytestmark = pytest.mark.django_db(transaction=True)
LIST = "/api/v1/alerts"
ASKED = [{"id": "1", "role": "user", "content": "A refund, please"}]


def made(actor: Actor, measure: str = "failed_runs", threshold: float = 2, **more: Any) -> Alert:
    body = {"name": measure, "measure": measure, "threshold": threshold, **more}
    answer = ask_now("POST", LIST, actor.headers, json=body)
    assert answer.status == 201, answer.body
    return Alert.objects.for_team(actor.team).get(pk=answer.json["id"])


def look(alert: Alert) -> Alert:
    """Check all alerts as a minute later."""
    Alert.objects.of_any_team().update(checked_at=None)
    checking.run_once(60)
    alert.refresh_from_db()
    return alert


def be_calm(alert: Alert) -> None:
    long_ago = timezone.now() - timedelta(minutes=6)
    Alert.objects.for_team(alert.team).filter(pk=alert.pk).update(calm_since=long_ago)


def changes(alert: Alert) -> list[str]:
    rows = Notice.objects.for_team(alert.team).filter(subject=alert.pk).order_by("pk")
    return [row.type.partition(".")[2] for row in rows]


def patch(cast: Cast, alert: Alert, **body: Any) -> Answer:
    return ask_now("PATCH", f"{LIST}/{alert.pk}", cast.alice.headers, json=body)


@pytest.fixture
def busy(cast: Cast, register: Register) -> Cast:
    """Two of Alice's three runs failed, one of ``other``; Bob's failed in a private thread."""
    other = register("other", lambda ctx: ctx.text)
    run_of(cast.alice, cast.echo, FINISHED)
    run_of(cast.alice, cast.echo, FAILED)
    run_of(cast.alice, other, FAILED)
    run_of(cast.alice, other, FAILED, timezone.now() - timedelta(hours=5))
    secret = run_of(cast.bob, cast.echo, FAILED)
    Thread.objects.filter(pk=secret.thread_id).update(
        visibility="private", creator=cast.bob.principal.actor_id
    )
    Run.objects.filter(started_at__isnull=False).update(started_at=timezone.now())
    return cast


@pytest.mark.parametrize("is_added_up", [False, True])
@pytest.mark.parametrize(
    ("body", "value"),
    [
        ({"measure": "failed_runs"}, 2),
        ({"measure": "failed_runs", "window_hours": 24}, 3),
        ({"measure": "failed_runs", "agent": "other"}, 1),
        ({"measure": "failed_runs", "started_by": "user:bob"}, 0),
        ({"measure": "failed_runs", "started_by": "user:alice", "agent": "echo"}, 1),
        ({"measure": "failure_rate"}, 200 / 3),
        ({"measure": "failure_rate", "least_runs": 4}, None),
        ({"measure": "cost", "window_hours": 24}, 4),
        ({"measure": "cost", "agent": "echo"}, 2),
        ({"measure": "waiting_questions", "window_hours": 0}, 0),
    ],
)
def test_values_are_those_of_threads_of_the_team(
    busy: Cast, body: dict[str, Any], value: float | None, is_added_up: bool
) -> None:
    if is_added_up:
        rollup.run_once(60)
    # Owner of a private thread or not, everyone sees the same number.
    alert = look(made(busy.alice, **{"threshold": 1000, **body}))
    shown_value = ask_now("GET", f"{LIST}/{alert.pk}", busy.bob.headers).json["value"]
    assert shown_value == (None if value is None else pytest.approx(value))


def test_durations_and_questions(busy: Cast) -> None:
    slow = run_of(busy.alice, busy.echo, FINISHED)
    Run.objects.filter(pk=slow.pk, team=busy.team).update(
        ended_at=timezone.now() + timedelta(seconds=100)
    )
    value = look(made(busy.alice, "p95_duration", 50, agent="echo")).value
    assert value is not None
    assert 90 < value < 110
    assert look(made(busy.alice, "p95_duration", 50, least_runs=100)).value is None
    Run.objects.filter(pk=slow.pk, team=busy.team).update(
        created_at=timezone.now() - timedelta(hours=3)
    )
    for count in (bool, rollup.run_once):  # before the runs are added up, and after
        count(60)
        values = [look(made(busy.alice, "p95_duration", 50, agent="echo", window_hours=hours)).value
                  for hours in (1, 4, 100)]  # fmt: skip
        assert values[0] is not None
        assert values[0] < 10, "the slow run is older than the window"
        assert values[1] == values[2] == value
    open_run = interrupted(busy.alice, question("i"))
    now = made(busy.alice, "waiting_questions", 1, window_hours=0)
    later = made(busy.alice, "waiting_questions", 1, window_hours=1)
    assert [look(now).value, look(later).value] == [1, 0]
    Interrupt.objects.for_team(busy.team).update(created_at=timezone.now() - timedelta(hours=2))
    assert look(later).value == 1
    Thread.objects.filter(pk=open_run.thread_id).update(visibility="private")
    assert look(later).value == 0


def test_it_fires_once_and_is_resolved_once(busy: Cast) -> None:
    """Both go to the webhooks for its agent and to mail; the history has them."""
    hooks = [
        ask_now("POST", "/api/v1/webhooks", busy.alice.headers, json={
            "url": "https://example.com/", "events": ["alert.fired", "alert.resolved"],
            "agents": agents,
        }).json["id"]
        for agents in (None, ["echo"], ["other"])
    ]  # fmt: skip
    EmailAddress.objects.create(user=busy.alice.user, email="a@example.com", verified=True)
    alert = made(busy.alice, threshold=1, agent="echo", name="Echo fails")
    for _ in range(3):
        assert look(alert).state == "firing"
    assert changes(alert) == ["fired"]
    (line,) = warnings.standing(busy.alice.principal)
    assert line == (
        "\N{FIRST STRONG ISOLATE}Echo fails\N{POP DIRECTIONAL ISOLATE} is firing",
        f"/alerts/{alert.pk}/",
    )
    assert warnings.standing(busy.bob.principal) == []
    Run.objects.for_team(busy.team).filter(status="failed").update(
        created_at=timezone.now() - timedelta(days=2)
    )
    assert look(alert).state == "firing"
    be_calm(alert)
    for _ in range(2):
        assert look(alert).state == "ok"
    assert changes(alert) == ["fired", "resolved"]
    deliveries = {hook: list(WebhookDelivery.objects.for_team(busy.team).filter(webhook=hook))
            for hook in hooks}  # fmt: skip
    assert [len(deliveries[hook]) for hook in hooks] == [2, 2, 0]
    first = min(deliveries[hooks[1]], key=lambda row: row.pk)
    message = json.loads(payloads.body(first, None, False) or b"")
    assert message["type"] == "alert.fired"
    assert {"name": "Echo fails", "value": 1, "threshold": 1, "agent": "echo"}.items() <= (
        message["data"].items()
    )
    (mail,) = warnings.written(busy.team, warnings.take())
    assert "Firing: Echo fails 1 failed runs (fires at 1 failed runs)" in mail.body
    assert "Resolved: Echo fails 0 failed runs" in mail.body
    history = ask_now("GET", f"{LIST}/{alert.pk}/history", busy.vera.headers).json["results"]
    assert [(row["type"], row["value"]) for row in history] == [
        ("alert.resolved", 0), ("alert.fired", 1),
    ]  # fmt: skip


def test_many_workers_tell_it_once(busy: Cast) -> None:
    alerts = [made(busy.alice, threshold=1) for _ in range(5)]
    ready = threading.Barrier(4)

    def work(_: int) -> None:
        try:
            ready.wait()
            checking.run_once(60)
        finally:
            close_old_connections()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert [changes(alert) for alert in alerts] == [["fired"]] * 5
    assert checking.run_once(60) == 0


def test_teams_take_turns(busy: Cast) -> None:
    many = [made(busy.alice) for _ in range(3)]
    other = made(busy.charlie)
    order = checking.due(timezone.now())
    assert order.index(other.pk) < 2
    assert set(order) == {alert.pk for alert in (*many, other)}


def test_one_that_cannot_be_checked_holds_up_no_other(busy: Cast) -> None:
    bad, good = made(busy.alice), made(busy.alice, threshold=1)
    Alert.objects.for_team(busy.team).filter(pk=bad.pk).update(person="\\", window_hours=32_000)
    look(bad)
    assert look(good).state == "firing"


def test_a_snoozed_alert_tells_nothing(busy: Cast) -> None:
    alert = made(busy.alice, threshold=1)
    until = (timezone.now() + timedelta(hours=1)).isoformat()
    address = f"{LIST}/{alert.pk}/snooze"
    assert ask_now("POST", address, busy.alice.headers, json={"until": until}).status == 200
    assert look(alert).state == "ok"
    assert ask_now("POST", address, busy.alice.headers, json={"until": None}).status == 200
    assert look(alert).state == "firing"
    assert ask_now("POST", address, busy.alice.headers, json={"until": until}).status == 200
    patched = patch(busy, alert, threshold=1000)
    assert patched.json["state"] == "ok"
    assert changes(alert) == ["fired", "resolved"]
    newest = Notice.objects.for_team(busy.team).filter(subject=alert.pk).first()
    assert newest is not None
    assert newest.tell == [], "nobody is told of the change"
    for wrong in ("2020-01-01T00:00:00Z", "2100-01-01T00:00:00Z", "soon"):
        answer = ask_now("POST", address, busy.alice.headers, json={"until": wrong})
        assert answer.status == 422, wrong


def test_a_change_or_pause_resolves_it(busy: Cast) -> None:
    alert = look(made(busy.alice, threshold=1))
    assert patch(busy, alert, name="New name", tell=[]).json["state"] == "firing"
    assert patch(busy, alert, enabled=False).json["state"] == "ok"
    assert look(alert).checked_at is None
    assert changes(alert) == ["fired", "resolved"]
    assert patch(busy, alert, enabled=True).status == 200
    assert look(alert).state == "firing"
    quiet = Notice.objects.for_team(busy.team).filter(subject=alert.pk).first()
    assert quiet is not None
    assert quiet.tell == []
    assert ask_now("DELETE", f"{LIST}/{alert.pk}", busy.alice.headers).status == 204
    assert changes(alert) == []
    actions = AuditEntry.objects.for_team(busy.team).filter(action__startswith="alert.")
    assert set(actions.values_list("action", flat=True)) == {
        "alert.created", "alert.changed", "alert.deleted",
    }  # fmt: skip


def test_a_saved_view_gives_its_filters(busy: Cast) -> None:
    alert = made(
        busy.alice, view=view(busy.alice, "status=failed&agent=echo&started_by=user%3Aalice")
    )
    assert (alert.agent, alert.person) == ("echo", "user:alice")
    assert alert.query == "", "the usage has sums of these"
    for query, measure in (("agent=gone", "cost"), ("took=long", "cost"), ("status=odd", "runs"),
                           ("issue=1", "runs"), ("q=---", "runs"), ("nonsense=1", "runs"),
                           ("tag=vip", "waiting_questions"),
                           ("error=timeout", "double_calls")):  # fmt: skip
        body = {"name": "a", "measure": measure, "threshold": 1, "view": view(busy.alice, query)}
        answer = ask_now("POST", LIST, busy.alice.headers, json=body)
        assert answer.status == 422, query
    twice = made(busy.alice, view=view(busy.alice, "agent=other&agent=echo"))
    assert twice.agent == "echo", "the last one, as in the list of runs"
    long = {
        "name": "a",
        "measure": "cost",
        "threshold": 1,
        "view": view(busy.alice, f"started_by={'a' * 201}"),
    }
    assert ask_now("POST", LIST, busy.alice.headers, json=long).status == 422
    body = {"name": "a", "measure": "cost", "threshold": 1, "view": view(busy.bob, "agent=echo")}
    assert ask_now("POST", LIST, busy.alice.headers, json=body).status == 404


def view(actor: Actor, query: str) -> str:
    body = {"name": query[:60], "query": query}
    return str(ask_now("POST", "/api/v1/views", actor.headers, json=body).json["id"])


@pytest.mark.parametrize(
    ("query", "measure", "value"),
    [
        ("tag=vip", "runs", 1),
        ("tag=vip&agent=other", "runs", 0),
        ("tag=vip&started_by=user%3Abob", "runs", 0),
        ("status=failed&status=cancelled&since=1h&columns=cost", "runs", 2),
        ("error=agent_error", "runs", 2),
        ("error=agent_error&agent=echo", "cost", 1),
        ("error=timeout", "failed_runs", 0),
        ("tool=charge", "failed_runs", 1),
        ("model=m", "failure_rate", 200 / 3),
        ("model=none", "failure_rate", None),
        ("took=>1m", "runs", 1),
        ("took=>1m", "p95_duration", 100),
        ("took=>1h", "p95_duration", None),
        ("findings=yes", "runs", 0),
        ("thumb=down", "runs", 0),
        ("version=1", None, None),
        ("agent_version=1", "runs", 0),
        ("thread_id=vip", "runs", 1),
        ("q=refund", "runs", 1),
    ],
)
def test_any_saved_view_is_counted(
    busy: Cast, query: str, measure: str | None, value: float | None
) -> None:
    """Alice's three runs of the hour; Bob's in a private thread never counts."""
    for run in Run.objects.for_team(busy.team):
        ToolCall.objects.create(
            team=busy.team, run=run, agent=run.agent, seq=1, call="1", at=timezone.now(),
            name="charge" if run.agent.slug == "echo" else "look", root=run.pk, status="ok",
        )  # fmt: skip
    vip = start(busy.alice, threadId="vip", messages=ASKED)
    lifecycle.claim(vip.pk)
    lifecycle.finish(vip.pk, FINISHED)
    Run.objects.filter(pk=vip.pk, team=busy.team).update(
        started_at=timezone.now(), ended_at=timezone.now() + timedelta(seconds=100)
    )
    Thread.objects.filter(pk=vip.thread_id).update(tags=["vip"])
    words.run_once(20)
    if measure is None:
        body = {"name": "a", "measure": "runs", "threshold": 1, "view": view(busy.alice, query)}
        assert ask_now("POST", LIST, busy.alice.headers, json=body).status == 422
        return
    alert = look(made(busy.alice, measure, 1_000, view=view(busy.alice, query)))
    assert alert.value == (None if value is None else pytest.approx(value, abs=0.1))
    row = ask_now("GET", f"{LIST}/{alert.pk}", busy.bob.headers).json
    assert "since" not in row["filters"]


def test_an_alert_looks_at_a_bounded_number_of_runs(
    busy: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "MOST", 2)
    assert look(made(busy.alice, "runs", 10, view=view(busy.alice, "took=<1h"))).value == 2


def test_calls_made_twice(busy: Cast) -> None:
    mine, secret = (run_of(actor, busy.echo, FINISHED) for actor in (busy.alice, busy.bob))
    for number, (run, double, owner) in enumerate(
        [(mine, "ok", ""), (mine, "none", ""), (mine, "error", ""), (mine, "", ""),
         (secret, "ok", busy.bob.principal.actor_id)]
    ):  # fmt: skip
        ToolCall.objects.create(
            team=busy.team, run=run, agent=run.agent, seq=number, call=str(number), name="charge",
            at=timezone.now(), root=run.pk, status="ok", double=double, owner=owner,
        )  # fmt: skip
    alert = look(made(busy.alice, "double_calls", 1))
    assert (alert.value, alert.state) == (2, "firing")
    assert look(made(busy.alice, "double_calls", 1, agent="other")).value == 0
    assert look(made(busy.alice, "double_calls", 1, started_by="user:bob")).value == 0
    ToolCall.objects.for_team(busy.team).update(at=timezone.now() - timedelta(hours=3))
    assert look(alert).value == 0


@pytest.mark.parametrize("body", [
    {"threshold": 0}, {"threshold": "nan"}, {"threshold": 1e300}, {"threshold": "lots"},
    {"measure": "mood"}, {"name": ""}, {"name": "a" * 121}, {"name": "a\u0007b"},
    {"agent": "nobody"}, {"window_hours": 0}, {"window_hours": 721}, {"window_hours": -1},
    {"tell": ["pigeon"]}, {"tell": ["mail"] * 4}, {"least_runs": 0}, {"state": "firing"},
    {"measure": "p95_duration", "started_by": "user:alice"}, {"view": "x"},
])  # fmt: skip
def test_nonsense_is_refused(cast: Cast, body: dict[str, Any]) -> None:
    values = {"name": "a", "measure": "cost", "threshold": 1, **body}
    assert ask_now("POST", LIST, cast.alice.headers, json=values).status in (400, 422)
    assert not Alert.objects.for_team(cast.team).exists()


def test_a_team_has_so_many(cast: Cast, settings: Settings) -> None:
    settings.AGUI_ALERTS_MAX = 1
    made(cast.alice)
    body = {"name": "a", "measure": "cost", "threshold": 1}
    refused = ask_now("POST", LIST, cast.alice.headers, json=body)
    assert (refused.status, refused.code) == (409, "alerts_full")


def test_a_key_of_some_agents_has_their_alerts(busy: Cast) -> None:
    row, key = keys.create_key(busy.team, "k", Role.ADMIN)
    type(row).objects.filter(pk=row.pk).update(agents=["echo"])
    headers = {"authorization": f"Bearer {key}"}
    mine, _ = made(busy.alice, agent="echo"), made(busy.alice)
    rows = ask_now("GET", LIST, headers).json["results"]
    assert [alert["id"] for alert in rows] == [str(mine.pk)]
    for agent, status in ((None, 422), ("other", 422)):
        body = {"name": "a", "measure": "cost", "threshold": 1, "agent": agent}
        assert ask_now("POST", LIST, headers, json=body).status == status


def test_a_former_admin_gets_no_mail(busy: Cast) -> None:
    EmailAddress.objects.create(user=busy.bob.user, email="b@example.com", verified=True)
    look(made(busy.alice, threshold=1))
    assert warnings.written(busy.team, warnings.take()) == []
    Membership.objects.filter(user=busy.bob.user).update(role=Role.ADMIN)
    look(made(busy.alice, threshold=1))
    assert [mail.to for mail in warnings.written(busy.team, warnings.take())] == [["b@example.com"]]
