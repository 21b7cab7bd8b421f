"""Deliveries on their way: whatever the receiver does, and whoever dies meanwhile."""

import asyncio
import json
import random
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.core import mail
from django.utils import timezone
from pytest_django import Settings
from standardwebhooks.webhooks import Webhook as Judge

from agui_host.backends.postgres.bridge import db
from agui_host.security import outbound
from events.writer import JournalWriter
from runs.lifecycle.webhooks import deliveries, signing
from runs.lifecycle.webhooks.choice import PER_WEBHOOK
from runs.models import Webhook, WebhookDelivery
from runs.models.webhook import EVENTS
from runs.worker import tasks
from tests.asgi import ask
from tests.cast import Cast, LiveRun, start
from tests.runs.webhooks.receiver import (
    BROKEN,
    delivering,
    hooked,
    receiving,
    row_of,
    rows,
    statuses,
    until,
)

pytestmark = pytest.mark.django_db(transaction=True)
ENDLESS = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + b"4000\r\n" + b"x" * 0x4000
MOVED = b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"
GONE = b"HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n"


async def enqueued(cast: Cast, webhook: dict[str, Any], number: int = 1) -> list[str]:
    """Deliveries of a webhook that are due, without runs behind them."""

    def make() -> list[str]:
        made = WebhookDelivery.objects.bulk_create(
            WebhookDelivery(
                team=cast.team, webhook_id=webhook["id"], type="webhook.test", due_at=timezone.now()
            )
            for _ in range(number)
        )
        return [str(row.pk) for row in made]

    return await db(make)


async def test_what_a_run_sends(cast: Cast, writer: JournalWriter) -> None:
    """In the transactions of the writer: small, with links, signed; contents on request."""
    async with receiving() as receiver, receiving() as curious, delivering():
        hook = await hooked(cast.alice.headers, receiver.url, *EVENTS)
        full = await hooked(cast.alice.headers, curious.url, *EVENTS, contents=True)
        run = await db(start, cast.alice, threadId="t", runId="r")
        live = await LiveRun.begin(run, writer)
        await live.ask("i")
        failing = await db(start, cast.alice, threadId="u")
        live = await LiveRun.begin(failing, writer)
        await live.fail()
        await until(lambda: statuses() == ["delivered"] * 14)
        assert {message.headers["webhook-id"] for message in receiver.messages} == {
            str(row.pk) for row in await db(rows, hook)
        }
    judge = Judge(hook["secret"])
    received = [judge.verify(message.body, message.headers) for message in receiver.messages]
    by_type = {message["type"]: message for message in received}
    assert {name for name in by_type if by_type[name]} == {
        "thread.created", "run.started", "run.interrupted", "interrupt.opened", "run.failed",
    }  # fmt: skip
    interrupted = next(m for m in received if m["type"] == "run.interrupted")["data"]
    assert (interrupted["id"], interrupted["run_id"], interrupted["thread_id"]) == (
        str(run.pk),
        "r",
        "t",
    )
    assert (interrupted["agent"], interrupted["status"]) == ("echo", "interrupted")
    assert interrupted["links"]["self"].endswith(f"/api/v1/runs/{run.pk}")
    assert by_type["run.failed"]["data"]["error"] == {"code": "agent_error"}
    assert "question" not in by_type["interrupt.opened"]["data"]
    with pytest.raises(Exception, match="signature"):
        Judge(full["secret"]).verify(receiver.messages[0].body, receiver.messages[0].headers)
    outspoken = {m["type"]: m["data"] for m in (json.loads(each.body) for each in curious.messages)}
    assert outspoken["interrupt.opened"]["question"]["id"] == "i"
    assert outspoken["run.failed"]["error"] == {"code": "agent_error", "message": "it broke"}


async def test_deliveries_that_a_failed_call_leaves_are_tried_soon(
    cast: Cast, settings: Settings
) -> None:
    """Long before their lease, of twice the longest try, is over."""
    settings.AGUI_WEBHOOK_TIMEOUT = 300.0
    async with receiving(*[BROKEN] * PER_WEBHOOK) as receiver, delivering():
        hook = await hooked(cast.alice.headers, receiver.url, "run.failed")
        await enqueued(cast, hook, 20)
        await until(lambda: statuses() == ["delivered"] * 20)
    assert len({message.headers["webhook-id"] for message in receiver.messages}) == 20


async def test_a_receiver_that_was_down_and_then_broken(cast: Cast) -> None:
    """One successful delivery, under one id on every try."""
    async with receiving(BROKEN, BROKEN, BROKEN) as receiver, delivering():
        await receiver.close()
        hook = await hooked(cast.alice.headers, receiver.url, "run.failed")
        (delivery,) = await enqueued(cast, hook)
        await until(lambda: len(rows()[0].attempts) >= 2)
        await receiver.open()
        await until(lambda: statuses() == ["delivered"])
    ids = [message.headers["webhook-id"] for message in receiver.messages]
    assert ids == [delivery] * 4
    for message in receiver.messages:
        Judge(hook["secret"]).verify(message.body, message.headers)
    log = await ask("GET", f"/api/v1/webhooks/{hook['id']}/deliveries", cast.alice.headers)
    (entry,) = log.json["results"]
    codes = [attempt["status"] for attempt in entry["attempts"]]
    assert codes[-4:] == [500, 500, 500, 200]
    assert set(codes[:-4]) == {None}
    assert entry["attempts"][0]["error"] == "It could not be called (ConnectError)."
    assert (entry["status"], entry["next_try_at"]) == ("delivered", None)
    assert (await db(row_of, hook)).failing_since is None


async def test_what_a_receiver_may_answer(cast: Cast, settings: Settings) -> None:
    """A redirect is not followed, an endless answer not read, a silent one not waited for."""
    settings.AGUI_WEBHOOK_RETRIES = []
    settings.AGUI_WEBHOOK_TIMEOUT = 0.5
    never = asyncio.Event()
    cases = {
        MOVED: (302, "It redirects, which is not followed; use its final URL."),
        ENDLESS: (200, ""),
        never: (None, "It did not answer in time."),
        b"hello\r\n\r\n": (None, "It could not be called (RemoteProtocolError)."),
    }
    for answer, outcome in cases.items():
        async with receiving(answer) as receiver, delivering():
            hook = await hooked(cast.alice.headers, receiver.url, "run.failed")
            await enqueued(cast, hook)
            await until(lambda hook=hook: statuses(hook)[0] != "pending")
            (attempt,) = (await db(rows, hook))[0].attempts
            assert (attempt["status"], attempt["error"]) == outcome
            if answer is never:
                never.set()
        await db(Webhook.objects.all().delete)


async def test_a_name_that_leads_inside(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noticed when it is called, whatever the name meant when the webhook was made."""

    async def resolver(host: str, port: int) -> list[str]:
        return ["10.0.0.7"]

    client = outbound.client
    monkeypatch.setattr(outbound, "client", lambda **options: client(resolver=resolver, **options))
    async with delivering():
        hook = await hooked(cast.alice.headers, "http://hooks.example.com/", "run.failed")
        await enqueued(cast, hook)
        await until(lambda: rows()[0].attempts)
    assert "not public" in (await db(rows))[0].attempts[0]["error"]


async def test_both_secrets_sign_for_a_day(cast: Cast) -> None:
    async with receiving() as receiver, delivering():
        hook = await hooked(cast.alice.headers, receiver.url, "run.failed")
        path = f"/api/v1/webhooks/{hook['id']}"
        rotated = (await ask("POST", f"{path}/rotate", cast.alice.headers)).json
        await ask("POST", f"{path}/test", cast.alice.headers)
        await until(lambda: statuses() == ["delivered"])
        (message,) = receiver.messages
        for secret in (hook["secret"], rotated["secret"]):
            assert Judge(secret).verify(message.body, message.headers)["type"] == "webhook.test"
        column = (await db(row_of, hook)).secrets
        later = timezone.now() + signing.OVERLAP + timedelta(minutes=1)
        assert len(signing.headers(column, "x", later, b"")["webhook-signature"].split()) == 1


async def test_a_slow_receiver_holds_up_nobody(cast: Cast, settings: Settings) -> None:
    """Not the team's other receivers, and not other teams, whatever waits for it."""
    settings.AGUI_WEBHOOK_CONCURRENCY = 6
    slow = asyncio.Event()
    async with receiving(*[slow] * 100) as stuck, receiving() as quick, delivering():
        hook = await hooked(cast.alice.headers, stuck.url, "run.failed")
        await enqueued(cast, hook, 50)
        await until(lambda: len(stuck.messages) >= PER_WEBHOOK)
        other = await hooked(cast.charlie.headers, quick.url, "run.failed")
        path = f"/api/v1/webhooks/{other['id']}/test"
        await ask("POST", path, cast.charlie.headers)
        await until(lambda: statuses(other) == ["delivered"])
        assert len(stuck.messages) == PER_WEBHOOK
        slow.set()
        await until(lambda: statuses(hook) == ["delivered"] * 50)
    ids = [message.headers["webhook-id"] for message in stuck.messages]
    assert len(ids) == len(set(ids)) == 50


async def killed(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, settings: Settings, kills: int
) -> None:
    """Deliverers that die at any moment, two at a time, until all is delivered."""
    monkeypatch.setattr(deliveries, "MARGIN", 0.1)
    settings.AGUI_WEBHOOK_TIMEOUT = 0.2
    dice = random.Random(7)
    async with receiving(BROKEN, BROKEN) as receiver:
        hook = await hooked(cast.alice.headers, receiver.url, "run.failed")
        deaths = 0
        while deaths < kills:
            await enqueued(cast, hook, 3)
            async with delivering(), delivering():
                await asyncio.sleep(dice.uniform(0, 0.1))  # the moment of the kill
            deaths += 2
        async with delivering():
            await until(lambda: set(statuses()) == {"delivered"})
        for row in await db(rows):
            successes = [each for each in row.attempts if each["status"] == 200]
            assert len(successes) == 1
        assert {m.headers["webhook-id"] for m in receiver.messages} >= {
            str(row.pk) for row in await db(rows)
        }


async def test_a_kill_loses_none(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    await killed(cast, monkeypatch, settings, 6)


@pytest.mark.soak
async def test_a_hundred_kills_lose_none(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    await killed(cast, monkeypatch, settings, 100)


async def test_an_outcome_that_comes_too_late(cast: Cast) -> None:
    """A worker that was frozen has lost its delivery to another: it changes nothing any more."""
    hook = await hooked(cast.alice.headers, "http://127.0.0.1:9/", "run.failed")
    await enqueued(cast, hook)
    ((first,),) = await db(deliveries.claim, [])
    assert await db(deliveries.claim, []) == []
    await db(WebhookDelivery.objects.all().update, due_at=timezone.now() - timedelta(seconds=1))
    ((second,),) = await db(deliveries.claim, [])
    outcome = deliveries.Outcome(timezone.now(), 1, 200)
    assert await db(deliveries.record, second, outcome)
    assert not await db(deliveries.record, first, outcome)
    assert len((await db(rows))[0].attempts) == 1


async def test_the_waits_between_tries(cast: Cast, settings: Settings) -> None:
    """The first three retries come within three minutes, the last one after a day or more."""
    from agui_project import settings as shipped

    pauses = shipped.AGUI_WEBHOOK_RETRIES
    settings.AGUI_WEBHOOK_RETRIES = pauses
    longest = settings.AGUI_WEBHOOK_TIMEOUT = shipped.AGUI_WEBHOOK_TIMEOUT
    assert sum(pauses[:3]) * (1 + deliveries.JITTER) + 4 * longest <= 180
    assert sum(pauses) * (1 - deliveries.JITTER) >= 24 * 3600
    delivery = WebhookDelivery(type="x")
    now = timezone.now()
    for pause in pauses:
        _, status, due_at = deliveries._next(delivery, deliveries.Outcome(now, 1, 500))
        assert status == "pending"
        assert abs((due_at - now).total_seconds() - pause) <= pause * deliveries.JITTER + 5
        delivery.tries += 1
        delivery.attempts.append({"at": now.isoformat()})
    assert deliveries._next(delivery, deliveries.Outcome(now, 1, 500))[1] == "failed"


async def test_a_receiver_that_never_works_is_disabled(cast: Cast, settings: Settings) -> None:
    """After the last retry, with a mail to the owners; enabled again, it goes on."""
    settings.AGUI_WEBHOOK_RETRIES = [0.01, 0.01]
    cast.alice.user.email = "alice@example.com"
    await db(cast.alice.user.save)
    async with receiving(*[BROKEN] * 3) as receiver, delivering():
        hook = await hooked(cast.alice.headers, receiver.url, "run.failed", "run.cancelled")
        (delivery,) = await enqueued(cast, hook)
        await until(lambda: not row_of(hook).enabled)
        assert (await db(row_of, hook)).stopped == "failing"
        assert await db(statuses) == ["failed"]
        await until(lambda: mail.outbox)
        assert mail.outbox[0].to == ["alice@example.com"]
        assert "/team/webhooks/" in mail.outbox[0].body
        assert receiver.url not in mail.outbox[0].body, "of the URL only its host"
        path = f"/api/v1/webhooks/{hook['id']}"
        redeliver = f"{path}/deliveries/{delivery}/redeliver"
        assert (await ask("POST", redeliver, cast.alice.headers)).code == "webhook_disabled"
        await ask("PATCH", path, cast.alice.headers, json={"enabled": True})
        again = await ask("POST", redeliver, cast.alice.headers)
        assert (again.status, again.json["id"]) == (202, delivery)
        await until(lambda: statuses() == ["delivered"])
    assert {message.headers["webhook-id"] for message in receiver.messages} == {delivery}
    assert len((await db(rows))[0].attempts) == 4


async def test_one_that_works_now_and_then_is_not_disabled(cast: Cast, settings: Settings) -> None:
    settings.AGUI_WEBHOOK_RETRIES = [0.01]
    async with receiving(BROKEN) as receiver, delivering():
        hook = await hooked(cast.alice.headers, receiver.url, "run.failed")
        await enqueued(cast, hook)
        await until(lambda: statuses() == ["delivered"])
        receiver.answers = [BROKEN]
        settings.AGUI_WEBHOOK_RETRIES = [60.0]
        await enqueued(cast, hook)
        await until(lambda: row_of(hook).failing_since)
        receiver.answers = []
        await enqueued(cast, hook)
        await until(lambda: not row_of(hook).failing_since)
        settings.AGUI_WEBHOOK_RETRIES, receiver.answers = [0.01], [BROKEN]
        await db(WebhookDelivery.objects.filter(status="pending").update, due_at=timezone.now())
        await until(lambda: statuses()[1] == "failed")
        assert (await db(row_of, hook)).enabled, "a delivery between its tries got through"


async def test_gone_is_for_good(cast: Cast) -> None:
    async with receiving(GONE) as receiver, delivering():
        hook = await hooked(cast.alice.headers, receiver.url, "run.failed")
        await enqueued(cast, hook)
        await until(lambda: not row_of(hook).enabled)
    assert (await db(row_of, hook)).stopped == "gone"
    assert await db(statuses) == ["failed"]


async def test_what_was_erased_is_not_told(cast: Cast) -> None:
    hook = await hooked(cast.alice.headers, "http://127.0.0.1:9/", "thread.created")
    run = await db(start, cast.alice)
    await db(WebhookDelivery.objects.update, run=uuid4())
    async with delivering():
        await until(lambda: statuses(hook) == ["failed"])
    assert (await db(row_of, hook)).failing_since is None
    assert (await db(rows))[0].attempts[0]["error"] == "Its subject has been erased."
    assert run


def test_a_backlog_that_is_too_long_disables(cast: Cast, settings: Settings) -> None:
    """And what is old is deleted."""
    settings.AGUI_WEBHOOK_BACKLOG = 2
    row = Webhook.objects.create(
        team=cast.team,
        url="http://127.0.0.1:9/",
        events=["run.failed"],
        created_by="x",
        creator="x",
    )
    for _ in range(2):
        WebhookDelivery.objects.create(team=cast.team, webhook=row, type="webhook.test")
    tasks.sweep_webhooks(0)
    assert Webhook.objects.get().enabled
    old = WebhookDelivery.objects.create(team=cast.team, webhook=row, type="webhook.test")
    before = timezone.now() - timedelta(days=settings.AGUI_WEBHOOK_RETENTION_DAYS, hours=1)
    WebhookDelivery.objects.filter(pk=old.pk).update(created_at=before)
    tasks.sweep_webhooks(0)
    assert Webhook.objects.get().stopped == "backlog"
    assert WebhookDelivery.objects.count() == 2
