"""Push notifications of A2A's tasks as callers manage them: each sees and removes its own.

One is a row of the webhooks' table, so it is called as carefully as they are, ends with its maker's
access, and a lost worker loses none.
"""

from collections.abc import Mapping
from uuid import UUID

from agui_host.backends.postgres import clock
from agui_host.dialects.a2a import verbs as a2a
from agui_host.dialects.a2a.push import PushConfig
from agui_host.errors import Conflict, NotFound
from agui_host.security.addresses import check_url
from agui_host.teams import audit
from agui_host.teams.access import members
from agui_host.teams.authentication import Principal
from agui_host.teams.tenancy import TeamQuerySet
from runs.access import access, sight
from runs.lifecycle.webhooks import pushes
from runs.models import ACTIVE, Run, Status, Webhook, WebhookDelivery

MOST = 10
"""Push notification configs of one task."""


class PushConfigsFull(Conflict):
    """This task has as many push notification configs as it may; remove one first."""

    code = "push_configs_full"


class PushConfigNotFound(NotFound):
    """There is no such push notification config."""

    code = "push_config_not_found"


def check(config: PushConfig) -> None:
    """Refuse, before anything is started, what ``put`` would refuse. Raises AddressRefused."""
    check_url(config.url)


def put(
    principal: Principal, slug: str | None, task_id: str, config: PushConfig
) -> tuple[PushConfig, UUID]:
    """Set a config of a task: a new one, or in place of the caller's own of that name.

    The receiver is told at once if the task has ended, or waits for an answer. Raises TaskNotFound,
    Forbidden, AddressRefused, PushConfigsFull.
    """
    turn = _task(principal, slug, task_id, "run")
    check(config)
    first, last = turn[0], turn[-1]
    with members.holding(principal) as now:
        access.require_for(now, "run", first)
        # A run that ends now either sees the row or has ended before: the second of the two waits.
        run = Run.objects.of_one_thread().select_for_update(no_key=True, of=("self",))
        status = run.get(thread=first.thread_id, pk=last.pk).status
        _own(now, first).filter(name=config.name).delete()
        rows = Webhook.objects.for_team(now.team).filter(task=first.pk)
        if rows.count() >= MOST:
            raise PushConfigsFull(details={"max": MOST})
        row = Webhook(
            team=now.team, task=first.pk, thread_id=first.thread_id, url=config.url,
            events=list(pushes.EVENTS), agents=[first.agent.slug], created_by=principal.label,
            creator=principal.actor_id,
            secrets=pushes.sealed(config.token, config.scheme, config.credentials),
        )  # fmt: skip
        row.name = config.name or str(row.pk)
        row.save(force_insert=True)
        if status not in ACTIVE:
            WebhookDelivery(
                team=now.team, webhook=row, type=Status(status).event, thread=first.thread_id,
                run=last.pk, due_at=clock.now(),
            ).save(force_insert=True)  # fmt: skip
        audit.record(principal, now.team, "webhook.created", str(row.pk), task=str(first.pk))
    return _config(row), first.pk


def find(
    principal: Principal, slug: str | None, task_id: str, name: str
) -> tuple[PushConfig, UUID]:
    """A config of the caller's. Raises TaskNotFound, PushConfigNotFound."""
    first = _task(principal, slug, task_id)[0]
    return _config(_one(principal, first, name)), first.pk


def of_task(
    principal: Principal, slug: str | None, task_id: str, query: Mapping[str, str]
) -> tuple[list[PushConfig], UUID, str]:
    """A page of the caller's configs of a task, oldest first, and the token of the next one.

    Raises TaskNotFound; BadRequest for a bad page size or token.
    """
    first = _task(principal, slug, task_id)[0]
    size = a2a.page_size(query)
    rows = _own(principal, first)
    if token := query.get("pageToken"):
        rows = rows.filter(pk__gt=a2a.page_token(token))
    listed = list(rows.order_by("pk")[: size + 1])
    following = str(listed[size - 1].pk) if len(listed) > size else ""
    return [_config(row) for row in listed[:size]], first.pk, following


def remove(principal: Principal, slug: str | None, task_id: str, name: str) -> None:
    """Remove a config of the caller's. Raises TaskNotFound, PushConfigNotFound."""
    first = _task(principal, slug, task_id)[0]
    with members.holding(principal) as now:
        row = _one(now, first, name)
        key = str(row.pk)
        row.delete()
        audit.record(principal, now.team, "webhook.deleted", key)


def _task(principal: Principal, slug: str | None, task_id: str, action: str = "view") -> list[Run]:
    """The runs of a task whose thread the caller sees: what others share is not told of."""
    turn = a2a.find(principal, slug, task_id, action)
    if turn[0].team_id != principal.team.pk or sight.of(principal, turn[0]):
        raise a2a.UnsupportedOperation("Push notifications are for tasks of your own team.")
    return turn


def _own(principal: Principal, first: Run) -> TeamQuerySet[Webhook]:
    rows: TeamQuerySet[Webhook] = Webhook.objects.for_team(principal.team)
    return rows.filter(task=first.pk, creator=principal.actor_id)


def _one(principal: Principal, first: Run, name: str) -> Webhook:
    row = _own(principal, first).filter(name=name).first()
    if row is None:
        raise PushConfigNotFound
    return row


def _config(row: Webhook) -> PushConfig:
    return PushConfig(row.name, row.url, **pushes.secrets(row))
