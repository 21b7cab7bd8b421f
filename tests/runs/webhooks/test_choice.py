"""Which deliveries come next: a loud team, or a silent receiver, delays no other team's."""

import asyncio
from datetime import timedelta
from unittest.mock import patch
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from agui_host.teams.models import Team
from runs.lifecycle.webhooks import choice, deliveries, signing
from runs.lifecycle.webhooks.choice import Choice, Due
from runs.models import Webhook, WebhookDelivery
from tests.runs.webhooks.receiver import delivering, receiving, rows, until

READ = """
select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0) from pg_stat_xact_user_tables
 where relname in ('runs_webhook', 'runs_webhookdelivery', 'teams_team')
"""
MANY = 1_000


def team_with(
    webhooks: int,
    url: str = "http://127.0.0.1:9/",
    *,
    each: int = 1,
    due: float = -60.0,
    **more: object,
) -> Team:
    """A new team whose webhooks have ``each`` deliveries, due in so many seconds."""
    team = Team.objects.create(name="T", slug=f"t{uuid4().hex}")
    at, secrets = timezone.now() + timedelta(seconds=due), signing.sealed(signing.new())
    hooks = Webhook.objects.bulk_create(
        Webhook(
            team=team, url=url, events=["run.failed"], secrets=secrets,
            created_by="x", creator="x", **more,
        ) for _ in range(webhooks)
    )  # fmt: skip
    WebhookDelivery.objects.bulk_create(
        WebhookDelivery(team=team, webhook=hook, type="webhook.test", due_at=at)
        for hook in hooks
        for _ in range(each)
    )
    return team


def busy(team: UUID, *, failing: bool = False, hook: UUID | None = None) -> WebhookDelivery:
    since = timezone.now() if failing else None
    return WebhookDelivery(team_id=team, webhook=Webhook(id=hook or uuid4(), failing_since=since))


def test_shares(settings: Settings) -> None:
    """A team's webhooks share its calls, the oldest first."""
    settings.AGUI_WEBHOOK_TEAM_CONCURRENCY = 6
    team, hooks = uuid4(), [uuid4() for _ in range(3)]
    due = [Due(uuid4(), hook, team) for hook in hooks for _ in range(5)]
    now = [busy(team, hook=hooks[0]) for _ in range(2)]
    assert Choice().choose(due, now, 62) == [each.id for each in [*due[:2], *due[5:7]]]
    assert Choice().choose(due, [], 19) == [each.id for each in due[:3]]


def test_teams_take_turns(settings: Settings) -> None:
    """The team with the fewest calls first, then the one called less recently."""
    settings.AGUI_WEBHOOK_CONCURRENCY = 4
    loud, other, quiet = uuid4(), uuid4(), uuid4()
    due = [Due(uuid4(), uuid4(), loud) for _ in range(9)]
    due += [Due(uuid4(), uuid4(), other) for _ in range(9)]
    ours, theirs = [e.id for e in due[:9]], [e.id for e in due[9:]]
    chooser = Choice()
    assert chooser.choose(due, [], 4) == [ours[0], theirs[0], ours[1]]
    assert chooser.choose(due, [busy(uuid4())] * 3, 1) == [theirs[0]]
    assert chooser.choose(due, [busy(uuid4())] * 3, 1) == [ours[0]]
    last = Due(uuid4(), uuid4(), quiet)
    assert chooser.choose([*due, last], [busy(loud)] * 2 + [busy(other)], 1) == [last.id]
    assert chooser.choose(due, [busy(loud)] * 2 + [busy(other)], 1) == []


def test_failing_webhooks_leave_half_of_the_calls(settings: Settings) -> None:
    settings.AGUI_WEBHOOK_CONCURRENCY = 8
    silent = [Due(uuid4(), uuid4(), uuid4(), failing=True) for _ in range(20)]
    works = Due(uuid4(), uuid4(), uuid4())
    assert Choice().choose([*silent, works], [], 8) == [e.id for e in [*silent[:4], works]]
    now = [busy(uuid4(), failing=True) for _ in range(4)]
    assert Choice().choose([*silent, works], now, 4) == [works.id]
    hook, team = uuid4(), uuid4()
    one = [Due(uuid4(), hook, team, failing=True) for _ in range(3)]
    assert Choice().choose(one, [], 8) == [one[0].id]


def test_a_call_goes_on_with_others_of_its_webhook() -> None:
    """Shared evenly among the webhook's calls; a failing webhook gets one delivery at a time."""
    team, hook, failing = uuid4(), uuid4(), uuid4()
    due = [Due(uuid4(), hook, team) for _ in range(40)]
    names = [each.id for each in due]
    late = [Due(uuid4(), failing, team, failing=True) for _ in range(3)]
    calls = choice.chained([*due, *late], [*names[:2], late[0].id])
    assert calls == [names[0:15:2], names[1:16:2], [late[0].id]]


@pytest.mark.django_db(transaction=True)
async def test_silent_receivers_of_eight_teams_delay_no_other(settings: Settings) -> None:
    settings.AGUI_WEBHOOK_TIMEOUT = 120.0
    slow = asyncio.Event()
    async with receiving(*[slow] * 200) as stuck, receiving() as quick, delivering():
        for _ in range(8):
            await db(team_with, 20, stuck.url, each=4)
        await until(lambda: len(stuck.messages) >= 48)
        for _ in range(6):
            await db(team_with, 1, quick.url)
        await until(lambda: len(quick.messages) == 6)
        assert not slow.is_set()
        assert len(stuck.messages) <= 50


@pytest.mark.django_db
def test_a_claim_reads_as_little_beside_many_that_wait() -> None:
    """Configurations of push notifications that wait for a retry, and a backlog that is due."""
    with connection.cursor() as cursor:
        few = team_with(1)
        totals = []
        for later in (lambda: None, lambda: team_with(MANY, due=600), lambda: team_with(MANY)):
            later()
            cursor.execute("analyze runs_webhook, runs_webhookdelivery, teams_team")
            before = _read(cursor)
            assert Choice().next([])
            totals.append(_read(cursor) - before)
    assert few
    assert totals[1] <= totals[0] + 10
    assert totals[2] <= totals[0] + 10 * choice.OLDEST


def _read(cursor: object) -> int:
    cursor.execute(READ)  # type: ignore[attr-defined]
    return int(cursor.fetchone()[0])  # type: ignore[attr-defined]


@pytest.mark.django_db
def test_a_backlog_that_may_not_be_tried_hides_no_other_webhook() -> None:
    """Of disabled webhooks, and of failing ones: a claim's window moves on until it finds one."""
    with patch.object(choice, "OLDEST", 5):
        team = team_with(12, each=9, enabled=False, stopped="paused")
        last = Webhook.objects.filter(team=team).order_by("-id")[0]
        Webhook.objects.filter(pk=last.pk).update(enabled=True, stopped="")
        WebhookDelivery.objects.filter(webhook=last).update(
            due_at=timezone.now() - timedelta(seconds=1), attempts=[]
        )
        WebhookDelivery.objects.exclude(webhook=last).update(
            due_at=timezone.now() - timedelta(seconds=90)
        )
        chooser, tries = Choice(), list[UUID]()
        for _ in range(3):
            tries = tries or [name for call in chooser.next([]) for name in call]
    ours = {row.pk for row in rows() if row.webhook_id == last.pk}
    assert tries
    assert set(tries) <= ours


@pytest.mark.django_db
def test_a_claim_leaves_out_teams_that_are_archived() -> None:
    team = team_with(2)
    assert len(deliveries.claim([])) == 2
    WebhookDelivery.objects.update(due_at=timezone.now() - timedelta(seconds=60))
    Team.objects.filter(pk=team.pk).update(archived_at=timezone.now())
    assert deliveries.claim([]) == []
