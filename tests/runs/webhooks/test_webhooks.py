"""The webhooks of a team over the API: who may do what with them, and what is refused."""

from typing import Any

import pytest
from pytest_django import Settings

from agui_host.security import secrets
from agui_host.teams import keys
from agui_host.teams.access import members
from agui_host.teams.models import AuditEntry, Membership, Role, Scope
from runs.models import Run, Thread, Visibility, Webhook, WebhookDelivery
from runs.models.webhook import EVENTS
from tests.asgi import Answer, ask_now
from tests.cast import Cast, Register, start
from tests.runs.asking import asking, end, yes
from tests.runs.webhooks.receiver import rows

pytestmark = pytest.mark.django_db(transaction=True)
HOOKS = "/api/v1/webhooks"
NEW: dict[str, Any] = {"url": "https://example.com/hook", "events": ["run.succeeded"]}


def made(cast: Cast, headers: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    answer = ask_now("POST", HOOKS, headers or cast.alice.headers, json={**NEW, **more})
    assert answer.status == 201, answer.body
    return dict(answer.json)


def types(webhook: dict[str, Any] | None = None) -> list[str]:
    return sorted(row.type for row in rows(webhook))


def test_a_webhook_from_its_making_to_its_end(cast: Cast) -> None:
    """Its secret is in two answers, sealed in the database, and nowhere else."""

    def ask(method: str, path: str = "", body: Any = None) -> Answer:
        return ask_now(method, f"{HOOKS}/{hook['id']}{path}", cast.alice.headers, json=body)

    hook = made(cast, agents=["echo"])
    assert hook["secret"].startswith("whsec_")
    public = {name: value for name, value in hook.items() if name != "secret"}
    assert public["enabled"] is True
    assert public["events"] == ["run.succeeded"]
    assert (public["agents"], public["contents"]) == (["echo"], False)
    assert ask_now("GET", HOOKS, cast.alice.headers).json["results"] == [public]
    assert ask("GET").json == public
    row = Webhook.objects.get(pk=hook["id"])
    assert hook["secret"] not in row.secrets

    change = {"url": "https://example.com/other", "events": ["run.failed", "run.failed"]}
    changed = ask("PATCH", body=change)
    assert changed.json == {**public, "url": change["url"], "events": ["run.failed"]}
    assert ask("PATCH", body={"enabled": False}).json["disabled_reason"] == "paused"
    assert ask("POST", "/test").code == "webhook_disabled"
    assert ask("PATCH", body={"enabled": True, "agents": None}).json["disabled_reason"] == ""
    again = ask("POST", "/rotate")
    assert again.status == 200
    assert again.json["secret"].startswith("whsec_")
    assert again.json["secret"] != hook["secret"]
    assert secrets.rotate_all() == (1, 0)

    trial = ask("POST", "/test")
    assert trial.status == 202
    assert (trial.json["type"], trial.json["status"]) == ("webhook.test", "pending")
    assert ask("POST", "/test").code == "delivery_pending"
    assert ask("GET", "/deliveries").json["results"] == [trial.json]
    assert ask("GET", "/deliveries?status=failed").json["results"] == []
    assert ask("POST", f"/deliveries/{trial.json['id']}/redeliver").code == "delivery_pending"
    assert ask("POST", f"/deliveries/{hook['id']}/redeliver").status == 404

    assert ask("DELETE").status == 204
    assert ask("GET").status == 404
    assert not WebhookDelivery.objects.exists()
    acts = AuditEntry.objects.for_team(cast.team).filter(action__startswith="webhook.")
    assert list(acts.order_by("id").values_list("action", flat=True)) == [
        "webhook.created", "webhook.changed", "webhook.changed", "webhook.changed",
        "webhook.rotated", "webhook.tested", "webhook.deleted",
    ]  # fmt: skip
    assert not acts.filter(details__contains="whsec_").exists()


REFUSED = [
    ({"url": "http://169.254.169.254/latest"}, 422, "address_refused"),
    ({"url": "http://10.0.0.1/"}, 422, "address_refused"),
    ({"url": "http://localhost:8000/"}, 422, "address_refused"),
    ({"url": "ftp://example.com/"}, 422, "address_refused"),
    ({"url": "https://user:pass@example.com/"}, 422, "address_refused"),
    ({"url": "hook"}, 422, "address_refused"),
    ({"url": "https://example.com/" + "x" * 2_000}, 422, "invalid"),
    ({"url": 7_000 * [1]}, 422, "invalid"),
    ({"url": None}, 422, "invalid"),
    ({"events": []}, 422, "invalid"),
    ({"events": ["run.exploded"]}, 422, "invalid"),
    ({"events": "run.failed"}, 422, "invalid"),
    ({"agents": ["nobody"]}, 422, "invalid"),
    ({"agents": []}, 422, "invalid"),
    ({"agents": ["../x"]}, 422, "invalid"),
]


def test_what_is_refused(cast: Cast) -> None:
    for change, status, code in REFUSED:
        answer = ask_now("POST", HOOKS, cast.alice.headers, json={**NEW, **change})
        assert (answer.status, answer.code) == (status, code), (change, answer.body)
    assert not Webhook.objects.exists()


def test_a_change_is_checked_like_a_new_one(cast: Cast) -> None:
    hook = made(cast)
    for change, code in (
        ({"url": "http://10.0.0.1/"}, "address_refused"),
        ({"secret": "mine"}, "unknown_member"),
        ({"events": []}, "invalid"),
    ):
        answer = ask_now("PATCH", f"{HOOKS}/{hook['id']}", cast.alice.headers, json=change)
        assert answer.code == code
    assert Webhook.objects.get().url == NEW["url"]


def test_a_team_has_so_many(cast: Cast, settings: Settings) -> None:
    settings.AGUI_WEBHOOKS_MAX = 1
    made(cast)
    answer = ask_now("POST", HOOKS, cast.alice.headers, json=NEW)
    assert (answer.status, answer.code) == (409, "webhooks_full")
    made(cast, cast.charlie.headers)


def test_a_key_for_some_agents(cast: Cast, register: Register) -> None:
    """It makes and sees webhooks about its agents only."""
    register("other", lambda ctx: "")
    all_agents, others = made(cast), made(cast, agents=["echo", "other"])
    _, key = keys.create_key(cast.team, "echo", Role.ADMIN, scopes=[Scope.ADMIN], agents=["echo"])
    headers = {"authorization": f"Bearer {key}"}
    for agents, status in ((None, 403), (["other"], 422), (["echo"], 201)):
        answer = ask_now("POST", HOOKS, headers, json={**NEW, "agents": agents})
        assert answer.status == status, answer.body
    assert [row["id"] for row in ask_now("GET", HOOKS, headers).json["results"]] == [
        answer.json["id"]
    ]
    for hook in (all_agents, others):
        assert ask_now("GET", f"{HOOKS}/{hook['id']}", headers).status == 404


def test_every_change_of_status_is_a_delivery_for_those_who_want_it(
    cast: Cast, register: Register
) -> None:
    everything = made(cast, events=list(EVENTS))
    some = made(cast, events=["run.failed", "interrupt.opened"])
    other_agent = register("other", lambda ctx: "")
    others = made(cast, events=list(EVENTS), agents=["other"])
    strangers = made(cast, cast.charlie.headers, events=list(EVENTS))

    start(cast.alice, threadId="one")
    assert types() == ["thread.created"]
    end(Run.objects.get())
    assert types(everything) == ["run.started", "run.succeeded", "thread.created"]
    WebhookDelivery.objects.all().delete()

    asking_run = asking(cast.alice, "i", thread="two")
    start(cast.alice, threadId="two", resume=[yes("i")])
    expected = [
        "interrupt.answered", "interrupt.opened", "run.interrupted", "run.started",
        "thread.created",
    ]  # fmt: skip
    assert types(everything) == expected
    assert types(some) == ["interrupt.opened"]
    opened = rows(some)[0]
    assert (opened.run, opened.interrupt) == (asking_run.pk, asking_run.interrupts.get().pk)
    WebhookDelivery.objects.all().delete()

    start(cast.alice, other_agent, threadId="three")
    assert types(others) == ["thread.created"]
    assert types(strangers) == []


def test_nobody_hears_of_anothers_private_thread(cast: Cast) -> None:
    """Only the webhook of the person who began it tells of it."""
    hers = made(cast, cast.alice.cookie | {"origin": "http://localhost"}, events=list(EVENTS))
    keyed = made(cast, events=list(EVENTS))
    run = start(cast.alice, threadId="private")
    Thread.objects.update(visibility=Visibility.PRIVATE)
    WebhookDelivery.objects.all().delete()
    end(run)
    assert types(hers) == ["run.started", "run.succeeded"]
    assert types(keyed) == []


def test_a_leavers_webhooks_end(cast: Cast) -> None:
    """They would tell him more of the team; whoever enables one answers for it."""
    Membership.objects.filter(user=cast.bob.user).update(role=Role.ADMIN)
    bobs = made(cast, cast.bob.cookie | {"origin": "http://localhost"})
    alices = made(cast)
    member = Membership.objects.get(user=cast.bob.user)
    members.remove(cast.alice.principal, member.pk)
    row = Webhook.objects.get(pk=bobs["id"])
    assert (row.enabled, row.stopped) == (False, "maker_left")
    assert Webhook.objects.get(pk=alices["id"]).enabled
    end(start(cast.alice))
    assert types(bobs) == []
    assert types(alices) == ["run.succeeded"]
    url = f"{HOOKS}/{bobs['id']}"
    enabled = ask_now("PATCH", url, cast.alice.headers, json={"enabled": True})
    assert enabled.json["created_by"] == f"key:{cast.alice.key_prefix}"
    assert "webhook.disabled" in AuditEntry.objects.for_team(cast.team).values_list(
        "action", flat=True
    )
