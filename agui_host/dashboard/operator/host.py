"""The whole host at present: its queues, workers and open streams, and the biggest teams."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Count, F, Min, Q, Sum

from agui_host.backends import stream_limit
from agui_host.backends.postgres import clock
from agui_host.runtimes.models import DEFAULT_QUEUE
from agui_host.teams.models import Team
from runs.access.usage import figures
from runs.access.usage.figures import DAY
from runs.models import ADMITTED, WAITING, Grain, Run, Status, TeamUsage, Usage, Worker

DAYS = 30
"""The days of the usage of teams, with today."""
MOST = 20
"""Teams of the table."""
MOST_WORKERS = 200
SORTS = {"cost": "Cost", "runs": "Runs", "bytes": "Stored events", "waiting": "Waiting"}
USUAL = "cost"


@dataclass(slots=True)
class Queue:
    """A queue: runs that a worker could take, and the workers that serve it."""

    name: str
    waiting: int = 0
    oldest: datetime | None = None
    workers: int = 0


@dataclass(frozen=True, slots=True)
class WorkerLine:
    """A worker; ``is_lost`` if its heartbeat is too old."""

    worker: Worker
    is_lost: bool


@dataclass(slots=True)
class TeamLine:
    """A team with its usage of the latest days and its size at present."""

    team: Team
    runs: int = 0
    failed: int = 0
    cost: float = 0.0
    bytes: int = 0
    waiting: int = 0
    streams: int | None = None


@dataclass(frozen=True, slots=True)
class Host:
    """All of the page. ``streams`` is None if the server that counts them is away.

    ``since`` is when the oldest run was requested that waits for its turn.
    """

    running: int
    for_worker: int
    for_turn: int
    since: datetime | None
    free: int
    queues: list[Queue]
    workers: list[WorkerLine]
    streams: int | None
    teams: list[TeamLine]
    sort: str
    sorts: dict[str, str] = field(default_factory=lambda: SORTS)

    @property
    def oldest(self) -> datetime | None:
        """When the oldest run was requested that a worker could take."""
        return min((queue.oldest for queue in self.queues if queue.oldest), default=None)

    @property
    def alive(self) -> int:
        """Workers that take runs."""
        return sum(not (line.is_lost or line.worker.draining) for line in self.workers)


def of(sort: str) -> Host:
    """The host, for an operator, with its biggest teams by ``sort``."""
    sort = sort if sort in SORTS else USUAL
    workers = _workers()
    queues = _queues(workers)
    runs = Run.objects.for_operators()
    now = runs.filter(ADMITTED | WAITING).aggregate(
        running=Count("pk", filter=Q(status=Status.RUNNING)),
        for_turn=Count("pk", filter=WAITING),
        since=Min("created_at", filter=WAITING),
    )
    streams = _streams()
    return Host(
        running=now["running"],
        for_worker=sum(queue.waiting for queue in queues),
        for_turn=now["for_turn"],
        since=now["since"],
        free=sum(line.worker.free for line in workers if not line.is_lost),
        queues=queues,
        workers=workers,
        streams=None if streams is None else sum(streams.values()),
        teams=_teams(sort, streams),
        sort=sort,
    )


def _workers() -> list[WorkerLine]:
    since = clock.now() - timedelta(seconds=settings.AGUI_WORKER_LOST_AFTER)
    rows = Worker.objects.order_by("pk")[:MOST_WORKERS]
    return [WorkerLine(row, row.heartbeat <= since) for row in rows]


def _queues(workers: list[WorkerLine]) -> list[Queue]:
    """The queues of waiting runs and of workers, the usual one first."""
    queues = {DEFAULT_QUEUE: Queue(DEFAULT_QUEUE)}
    due = Run.objects.for_operators().filter(ADMITTED, status=Status.QUEUED)
    rows = due.order_by().values_list("agent__queue").annotate(Count("pk"), Min("created_at"))
    for name, number, oldest in rows:
        queues[name] = Queue(name, number, oldest)
    for line in workers:
        for name in () if line.is_lost or line.worker.draining else line.worker.queues:
            queues.setdefault(name, Queue(name)).workers += 1
    return sorted(queues.values(), key=lambda queue: (queue.name != DEFAULT_QUEUE, queue.name))


def _streams() -> dict[UUID, int] | None:
    """The open streams of every team."""
    teams = list(Team.objects.filter(archived_at=None).values_list("pk", flat=True))
    numbers = stream_limit.counts(teams)
    return None if numbers is None else dict(zip(teams, numbers, strict=True))


def _teams(sort: str, streams: dict[UUID, int] | None) -> list[TeamLine]:
    since = figures.day_of(clock.now()) - (DAYS - 1) * DAY
    usage = Usage.objects.filter(grain=Grain.TEAM, at__gte=since).order_by().values("team")
    sums = usage.annotate(ran=Sum("runs"), bad=Sum("failed"), paid=Sum("cost"))
    stored = TeamUsage.objects.filter(stored_bytes__gt=0)
    queued = Run.objects.for_operators().filter(status=Status.QUEUED).order_by()
    depth = queued.values("team").annotate(waiting=Count("pk"))
    ordered: dict[str, Any] = {
        "cost": sums.order_by("-paid", "-ran", "team").values_list("team", flat=True),
        "runs": sums.order_by("-ran", "team").values_list("team", flat=True),
        "bytes": stored.order_by("-stored_bytes", "team").values_list("team", flat=True),
        "waiting": depth.order_by("-waiting", "team").values_list("team", flat=True),
    }
    names = list(ordered[sort][:MOST])
    rows = Team.objects.in_bulk(names)
    lines = {key: TeamLine(rows[key]) for key in names if key in rows}
    for key, runs, failed, cost in sums.filter(team__in=lines).values_list(
        "team", "ran", "bad", "paid"
    ):
        line = lines[key]
        line.runs, line.failed, line.cost = runs, failed, float(cost)
    for key, size in stored.filter(team__in=lines).values_list("team", F("stored_bytes")):
        lines[key].bytes = size
    for key, number in depth.filter(team__in=lines).values_list("team", "waiting"):
        lines[key].waiting = number
    for key, line in lines.items():
        line.streams = None if streams is None else streams.get(key, 0)
    return list(lines.values())
