"""GET /metrics: what this web process counts, and the queue of all teams."""

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connections
from django.db.models import Count, Min, Q, Sum
from django.utils.crypto import constant_time_compare
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from agui_host.backends import metrics
from agui_host.backends.postgres import clock, scope
from agui_host.backends.postgres.bridge import db
from agui_host.backends.stream_limit import seats
from agui_host.errors import MethodNotAllowed, NotFound, Unauthenticated
from agui_host.runtimes.models import DEFAULT_QUEUE
from agui_host.teams.models import Team
from agui_host.web.asgi_http import Request, answer, endpoint
from agui_host.web.health import live_workers
from agui_host.web.scope import Send
from events import partitions
from events.models import SealedObject
from runs.lifecycle.chores import lags
from runs.models import ADMITTED, Grain, Run, Status, TeamUsage, Usage

if TYPE_CHECKING:
    from prometheus_client import Metric

MOST_TEAMS = 50
"""The teams with the longest queues are named, so that the answer stays short."""


class Queue(Collector):
    """Queued runs by team, and the pool of connections, at the moment of the scrape."""

    streams: list[tuple[UUID, int, int]] = []
    """Teams with open streams, their number and their limit, as the event loop last read them."""

    def collect(self) -> "Iterator[Metric]":
        """The metrics that are read from the database while it can be reached."""
        # The rest is still worth knowing while the database is away.
        with suppress(DatabaseError, InterfaceError), scope.everywhere():
            yield from _queue()
            yield _queue_ages()
            yield from _streams(self.streams)
            yield GaugeMetricFamily(
                "agui_workers", "Workers that take runs.", value=live_workers() or 0
            )
            yield GaugeMetricFamily(
                "agui_partitions_ahead",
                "Months of events with a partition, with this one.",
                value=partitions.ahead(),
            )
            yield from _sealed()
            yield from _largest_teams()
            lag = GaugeMetricFamily(
                "agui_chore_lag_seconds", "Age of the oldest that waits.", labels=["chore"]
            )
            for chore, seconds in lags.recent().items():
                lag.add_metric([chore], seconds)
            yield lag
        yield from _pool()


def _queue() -> "Iterator[Metric]":
    depth = GaugeMetricFamily("agui_queued_runs", "Runs that wait.", labels=["team"])
    age = GaugeMetricFamily(
        "agui_oldest_queued_seconds", "Age of the run that waits longest.", labels=["team"]
    )
    queued = Run.objects.of_any_team().filter(status=Status.QUEUED).values("team__slug")
    totals = queued.annotate(many=Count("pk"), oldest=Min("created_at")).order_by("-many")
    now = clock.now()
    for row in totals[:MOST_TEAMS]:
        depth.add_metric([row["team__slug"]], row["many"])
        age.add_metric([row["team__slug"]], (now - row["oldest"]).total_seconds())
    yield depth
    yield age


def _queue_ages() -> GaugeMetricFamily:
    """By the queue that workers serve; deployments add workers by it."""
    ages = GaugeMetricFamily(
        "agui_queue_age_seconds",
        "Age of the oldest run for a worker.",
        labels=["queue"],
    )
    oldest = {DEFAULT_QUEUE: 0.0}
    waiting = Run.objects.of_any_team().filter(ADMITTED, status=Status.QUEUED)
    now = clock.now()
    for queue, since in waiting.values_list("agent__queue").annotate(Min("created_at")):
        oldest[queue] = (now - since).total_seconds()
    for queue, seconds in oldest.items():
        ages.add_metric([queue], seconds)
    return ages


def _streams(counts: list[tuple[UUID, int, int]]) -> "Iterator[Metric]":
    taken = GaugeMetricFamily("agui_streams", "Open streams of a team.", labels=["team"])
    most = GaugeMetricFamily("agui_streams_limit", "Its limit of them.", labels=["team"])
    teams = [team for team, _, _ in counts]
    slugs = dict(Team.objects.filter(pk__in=teams).values_list("pk", "slug"))
    for team, streams, limit in counts:
        if slug := slugs.get(team):
            taken.add_metric([slug], streams)
            most.add_metric([slug], limit)
    yield from (taken, most)


def _sealed() -> "Iterator[Metric]":
    total = SealedObject.objects.aggregate(
        objects=Count("pk"),
        bytes=Sum("size", default=0),
        logs=Sum("logs", default=0),
        unswept=Count("pk", filter=~Q(state="sealed")),
    )
    for name, text in (
        ("objects", "Objects with sealed logs."),
        ("bytes", "Bytes of these objects."),
        ("logs", "Logs in these objects, with erased ones that are still to be deleted."),
        ("unswept", "Objects that are being written, written again or deleted."),
    ):
        yield GaugeMetricFamily(f"agui_sealed_{name}", text, value=total[name])


def _largest_teams() -> "Iterator[Metric]":
    """The stored bytes of the largest teams, and their usage today."""
    stored = GaugeMetricFamily("agui_stored_bytes", "Bytes of stored events.", labels=["team"])
    for row in TeamUsage.objects.order_by("-stored_bytes").select_related("team")[:MOST_TEAMS]:
        stored.add_metric([row.team.slug], row.stored_bytes)
    tokens = GaugeMetricFamily(
        "agui_tokens_today", "Tokens of runs of this day in UTC.", labels=["team", "direction"]
    )
    cost = GaugeMetricFamily(
        "agui_cost_dollars_today", "Cost of runs of this day in UTC.", labels=["team"]
    )
    today = clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    days = Usage.objects.filter(grain=Grain.TEAM, at=today).values("team__slug")
    sums = days.annotate(paid=Sum("cost"), into=Sum("tokens_in"), out=Sum("tokens_out"))
    for day in sums.order_by("-paid", "-into")[:MOST_TEAMS]:
        tokens.add_metric([day["team__slug"], "in"], float(day["into"]))
        tokens.add_metric([day["team__slug"], "out"], float(day["out"]))
        cost.add_metric([day["team__slug"]], float(day["paid"]))
    yield from (stored, tokens, cost)


def _pool() -> "Iterator[Metric]":
    pool: Any = connections["default"].pool  # type: ignore[attr-defined]  # the stubs lack it
    counts = pool.get_stats() if pool else {}
    for name, text in (
        ("pool_size", "Connections of the pool."),
        ("pool_available", "Unused connections of the pool."),
        ("requests_waiting", "Callers that wait for a connection."),
    ):
        yield GaugeMetricFamily(f"agui_{name}", text, value=counts.get(name, 0))
    waited = counts.get("requests_wait_ms", 0) / 1000
    yield GaugeMetricFamily("agui_pool_wait_seconds", "Time waited for connections.", value=waited)


# Apart from the counters: collecting these takes a connection.
_looked_up = CollectorRegistry()
_queue_now = Queue()
_looked_up.register(_queue_now)


def _has_key(request: Request) -> bool:
    expected = f"Bearer {settings.AGUI_METRICS_KEY}"
    authorization = request.headers.get("authorization", "")
    return bool(settings.AGUI_METRICS_KEY) and constant_time_compare(authorization, expected)


async def _metrics(request: Request, send: Send) -> None:
    if not settings.AGUI_METRICS_KEY:
        raise NotFound
    if request.scope["method"] not in ("GET", "HEAD"):
        raise MethodNotAllowed(headers={"Allow": "GET, HEAD"})
    if not _has_key(request):
        raise Unauthenticated(
            "Send AGUI_METRICS_KEY as 'Authorization: Bearer <key>'.",
            headers={"WWW-Authenticate": "Bearer"},
        )
    _queue_now.streams = seats().fullest(MOST_TEAMS)
    body = metrics.render() + await db(generate_latest, _looked_up)
    await answer(send, 200, body, {"content-type": metrics.CONTENT_TYPE})


# A scrape addresses the process by IP and port, past the proxy.
metrics_page = endpoint(_metrics, any_host=_has_key)
