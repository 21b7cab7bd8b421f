"""Brings changes of this host's code to the agents of existing teams.

`migrate` and each start of a worker do it. A team's own change of a name, a description or a queue
stays: a row remembers the values that the code gave it, and follows the code while it has them.
"""

import importlib.util
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from agui_host.backends.postgres import scope
from agui_host.runtimes import registry
from agui_host.runtimes.models import Agent
from agui_host.runtimes.registry import Registered
from agui_host.runtimes.versions import bringing
from agui_host.teams.models import AuditEntry, Team
from agui_host.teams.tenancy import TeamQuerySet

LOCK = 0x61677569_61676E74
"""The advisory lock: processes that start at the same moment take turns."""
BATCH = 1_000
FIELDS = ("name", "description", "queue")


def bring(queues: Sequence[str] | None = None) -> None:
    """Give every team that has this host's agents the new ones, and changes of the others.

    An agent that is no longer in the code is disabled, if it belongs to one of ``queues``: workers
    of other queues can have other code. Without ``queues`` (``migrate``) that is so for those of
    AGUI_WORKER_QUEUES, and for agents of any queue whose module this process has, without them. It
    is enabled again when it returns, unless a person has disabled it.
    """
    with scope.everywhere(), transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("select pg_advisory_xact_lock(%s)", [LOCK])
        for slug in registry.offered():
            entry = registry.get(slug)
            _update(entry)
            _add(entry)
        _withdraw(settings.AGUI_WORKER_QUEUES if queues is None else queues)
        if queues is None:
            _withdraw_of_known_modules()
        bringing.bring(queues)


def _provided() -> TeamQuerySet[Agent]:
    return Agent.objects.of_any_team().filter(kind="python", target=F("slug"))


def _update(entry: Registered) -> None:
    outdated = Q(withdrawn=True) | Q(provided=None) | ~Q(provided=entry.provided)
    rows = list(_provided().filter(outdated, slug=entry.slug).select_for_update(of=("self",)))
    edited = _edited(entry.slug, [row.team_id for row in rows if row.provided is None])
    for row in rows:
        for field in FIELDS:
            if _follows(row, field, edited):
                setattr(row, field, entry.provided[field])
        row.enabled = row.enabled or row.withdrawn
        row.provided, row.withdrawn = entry.provided, False
    Agent.objects.of_any_team().bulk_update(
        rows, [*FIELDS, "enabled", "provided", "withdrawn"], batch_size=BATCH
    )


def _follows(row: Agent, field: str, edited: set[tuple[UUID, str]]) -> bool:
    if row.provided is None:
        return (row.team_id, field) not in edited
    return bool(row.provided.get(field) == getattr(row, field))


def _edited(slug: str, teams: list[UUID]) -> set[tuple[UUID, str]]:
    """The fields that people have changed, by the audit log: for rows of earlier versions."""
    if not teams:
        return set()
    entries = AuditEntry.objects.of_any_team().filter(
        team__in=teams, action="agent.changed", target=slug
    )
    return {
        (team, field)
        for team, details in entries.values_list("team_id", "details")
        for field in json.loads(details).get("fields", ())
    }


def without(slug: str) -> QuerySet[Team]:
    """The teams that get the agents of this host, and have none of this slug."""
    provided = _provided().filter(team=OuterRef("pk"))
    taken = Agent.objects.of_any_team().filter(team=OuterRef("pk"), slug=slug)
    teams = Team.objects.exclude(Exists(taken))
    if settings.AGUI_AGENTS_FOR == [registry.EVERY_TEAM]:
        return teams
    if settings.AGUI_AGENTS_FOR:
        return teams.filter(slug__in=settings.AGUI_AGENTS_FOR)
    return teams.filter(Exists(provided))


def _add(entry: Registered) -> None:
    """A row for each team that gets the agents of this host, but has not this one."""
    for some in _batches(without(entry.slug).values_list("pk", flat=True)):
        rows = [
            Agent(
                team_id=team, slug=entry.slug, target=entry.slug, repeatable=entry.repeatable,
                raw=entry.raw, on_busy_chat=entry.on_busy_chat.value, is_tool=True,
                heals_history=entry.heals_history, recovery=entry.recovery,
                on_code_change=entry.on_code_change,
                middleware=list(entry.middleware), provided=entry.provided,
                context_providers=list(entry.context_providers), on_bad_state=entry.on_bad_state,
                worker_grace=entry.worker_grace,
                **entry.values,
            )
            for team in some
        ]  # fmt: skip
        Agent.objects.bulk_create(rows, ignore_conflicts=True)


def _batches(keys: Iterable[UUID]) -> Iterator[list[UUID]]:
    every = list(keys)
    for start in range(0, len(every), BATCH):
        yield every[start : start + BATCH]


def _withdraw(queues: Sequence[str]) -> None:
    _gone().filter(queue__in=queues).update(enabled=False, withdrawn=True)


def _withdraw_of_known_modules() -> None:
    modules = _gone().values_list("provided__module", flat=True).distinct().order_by()
    known = [module for module in modules if module and _is_known(module)]
    _gone().filter(provided__module__in=known).update(enabled=False, withdrawn=True)


def _gone() -> TeamQuerySet[Agent]:
    return _provided().filter(enabled=True).exclude(slug__in=registry.all())


def _is_known(module: str) -> bool:
    """Whether this process has the code of a module, or has its package without the module."""
    package = module.rpartition(".")[0]
    return module in sys.modules or (
        package in sys.modules and importlib.util.find_spec(module) is None
    )
