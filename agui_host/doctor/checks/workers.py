"""Workers, the queues of agents that they serve, and their chores."""

from collections import Counter

from django.conf import settings
from django.db import connection

from agui_host.doctor.findings import Fault, check
from agui_host.runtimes.kinds import kinds
from agui_host.runtimes.models import DEFAULT_QUEUE, Agent
from agui_host.web.health import live_workers
from runs.lifecycle.chores import lags

SERVED = """
select queue, count(worker.id) from unnest(%(queues)s::text[]) queue
  left join runs_worker worker on queue = any (worker.queues) and not worker.draining
   and worker.heartbeat > now() - make_interval(secs => %(lost)s)
 group by 1 order by 1
"""


@check("workers", needs="migrations")
def workers() -> str | list[Fault]:
    """Whether a worker lives, and each queue of an enabled agent has one."""
    if not live_workers():
        return [
            Fault(
                "No worker runs, so runs stay queued.",
                "agui-host worker (docs/operations.md#processes)",
            )
        ]
    fed = [kind.name for kind in kinds.KINDS.values() if kind.fed]
    rows = Agent.objects.of_any_team().filter(enabled=True).exclude(kind__in=fed)
    used = Counter(rows.values_list("queue", flat=True).iterator())
    used.setdefault(DEFAULT_QUEUE, 0)
    with connection.cursor() as cursor:
        cursor.execute(SERVED, {"queues": list(used), "lost": settings.AGUI_WORKER_LOST_AFTER})
        served = dict(cursor.fetchall())
    faults = [
        Fault(
            f"No worker serves the queue {queue}, which {used[queue]} agents use."
            if used[queue]
            else f"No worker serves the queue {queue}, which has the host's own tasks.",
            f"agui-host worker --queues {queue} (docs/operations.md#queues)",
        )
        for queue, many in served.items()
        if not many
    ]
    return faults or ", ".join(f"{queue}: {many}" for queue, many in served.items())


@check("chores", needs="migrations")
def chores() -> str | list[Fault]:
    """Whether each keeps pace with the runs."""
    return [
        Fault(
            f"The chore {chore} is {seconds:.0f} s behind.",
            "Add a worker of the queue default, or look for its error in a worker's log"
            " (docs/operations.md).",
        )
        for chore, seconds in lags.read().items()
        if seconds > lags.BOUNDS[chore]
    ] or "keep pace"
