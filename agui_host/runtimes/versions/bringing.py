"""Brings this process's code to the versions of agents, after ``provisioning.bring``."""

from collections.abc import Sequence

from django.db.models import Q

from agui_host.runtimes import registry
from agui_host.runtimes.models import Agent
from agui_host.runtimes.versions import digests
from agui_host.teams.tenancy import TeamQuerySet

BATCH = 1_000


def bring(queues: Sequence[str] | None = None) -> None:
    """Store the digests of the code of this process, and the versions of rows that have none.

    ``queues``: only agents of these, since workers of other queues can have other code.
    """
    rows = Agent.objects.of_any_team()
    served = rows if queues is None else rows.filter(queue__in=queues)
    for slug, entry in registry.all().items():
        code = digests.of_code(entry.target)
        written = Q(target=slug) | Q(target="", slug=slug)
        _store(served.filter(written, kind="python").exclude(code=code), code)
    _store(rows.filter(version=""))


def _store(outdated: TeamQuerySet[Agent], code: str | None = None) -> None:
    keys = list(outdated.order_by().values_list("pk", flat=True))
    for start in range(0, len(keys), BATCH):
        some = Agent.objects.of_any_team().filter(pk__in=keys[start : start + BATCH])
        rows = list(some.select_for_update(of=("self",)))
        for row in rows:
            row.code = row.code if code is None else code
            row.version = row.present_version()
        Agent.objects.of_any_team().bulk_update(rows, ["code", "version"])
