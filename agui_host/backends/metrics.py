"""What this process counts and times, for Prometheus: at ``/metrics``, or a worker's port.

Every metric is defined here; the code that does the thing counts it. Names and meanings:
``docs/howto-monitoring.md``.
"""

import asyncio
import errno
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
    start_http_server,
)
from prometheus_client.process_collector import ProcessCollector

from agui_host.protocol.errors import RunErrorCode

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
LOOK_EVERY = 0.5
MOST_AGENTS = 200
"""Slugs of agents that one process uses as labels; the runs of others count as ``other``."""
OTHER = "other"
PORTS = 7
"""The port of AGUI_METRICS_ADDRESS and those after it: one for each worker of a machine."""
LONG = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0)
QUICK = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)

log = structlog.get_logger(__name__)
disable_created_metrics()  # type: ignore[no-untyped-call]
REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)


def _counter(name: str, text: str, *labels: str) -> Counter:
    return Counter(f"agui_{name}", text, labels, registry=REGISTRY)


def _gauge(name: str, text: str, *labels: str) -> Gauge:
    return Gauge(f"agui_{name}", text, labels, registry=REGISTRY)


def _histogram(name: str, text: str, buckets: tuple[float, ...] = QUICK) -> Histogram:
    return Histogram(f"agui_{name}", text, buckets=buckets, registry=REGISTRY)


statements = _counter("statements", "SQL statements of Django's connections.")
start_seconds = _histogram("start_seconds", "From a start's permission check to its commit.")
handed_starts = _counter("handed_starts", "Starts that were handed to a worker at once.")
start_statements = _histogram(
    "start_statements", "SQL statements of a start.", (5, 10, 15, 20, 25, 30, 40, 60, 100)
)
replica_reads = _counter(
    "replica_reads", "Reads for which there is a read replica, by the server that answered.", "by"
)
refusals = _counter("refused_requests", "Requests refused by the gate.", "kind")
joins = _counter("joins", "Readers that began to follow a run.")
readers = _gauge("readers", "Readers that follow a run now.")
gap_fills = _counter("gap_fills", "Reads of the journal by live readers that missed a message.")
stalls = _counter("stalled_readers", "Readers cut because they took nothing.")
deliveries = _histogram(
    "delivery_seconds", "From a commit's announcement to the readers' mailboxes."
)
lost_bells = _counter("lost_bells", "Announcements that could not be published.")
append_seconds = _histogram("append_seconds", "One commit of the journal's writer.")
append_events = _histogram(
    "append_events", "Events of one commit.", (1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500)
)
runs = _gauge("worker_runs", "Runs that this worker executes now.")
slots = _gauge("worker_slots", "Runs that this worker executes at most.")
unsealed = _counter("unsealed_bytes", "Bytes of old logs unpacked from the file store.")
work = _counter("team_work", "Units of work done for a team or a link's address.", "team", "kind")
runs_ended = _counter("runs_ended", "Runs that ended.", "outcome", "code", "agent")
# Without labels, so that it begins at 0: Prometheus sees no increase in a series that begins at 1.
lost_runs = _counter("lost_runs", "Runs that ended because their worker was lost.")
run_seconds = _histogram("run_seconds", "From a run's claim to its end.", LONG)
queue_seconds = _histogram("queue_seconds", "From a run's start request to its claim.", LONG)
http_requests = _counter("http_requests", "HTTP answers that began.", "route", "status")
webhook_deliveries = _counter(
    "webhook_deliveries", "Tries of webhooks: delivered, retried or failed for good.", "state"
)
for _state in ("delivered", "retried", "failed"):
    webhook_deliveries.labels(_state)
chore_failures = _counter("chore_failures", "Periodic tasks that failed.", "chore")
build_info = _gauge("build_info", "Always 1; the labels name the code.", "version", "commit")
loop_lag = _histogram("loop_lag_seconds", "How much later than asked the event loop continued.")

_of_thread = threading.local()
_agents: set[str] = set()


def count_statement() -> None:
    """Count a statement of this thread."""
    statements.inc()
    _of_thread.statements = getattr(_of_thread, "statements", 0) + 1


@contextmanager
def timed_start() -> Iterator[None]:
    """Time a start, which happens in this thread, and count its statements."""
    began, before = time.perf_counter(), getattr(_of_thread, "statements", 0)
    yield
    start_seconds.observe(time.perf_counter() - began)
    start_statements.observe(getattr(_of_thread, "statements", 0) - before)


def count_end(outcome: str, code: str, agent: str | None, waited: float, ran: float | None) -> None:
    """Count the end of a run, ``ran`` seconds after its claim; None if no worker has claimed it.

    ``code`` is one of the host's, or ``other``: what agents write must not make series.
    """
    if agent is None or (agent not in _agents and len(_agents) >= MOST_AGENTS):
        agent = OTHER
    else:
        _agents.add(agent)
    runs_ended.labels(outcome, code, agent).inc()
    if code == RunErrorCode.WORKER_LOST:
        lost_runs.inc()
    if ran is not None:
        run_seconds.observe(max(0.0, ran))
        queue_seconds.observe(max(0.0, waited))


async def watch_loop() -> None:
    """Measure for ever how late this event loop continues."""
    while True:
        began = time.perf_counter()
        await asyncio.sleep(LOOK_EVERY)
        loop_lag.observe(max(0.0, time.perf_counter() - began - LOOK_EVERY))


def serve(address: str) -> str:
    """Answer scrapes at ``HOST:PORT`` in a thread, or at the next free port of PORTS.

    Workers of one machine share their environment. Returns the address; without a free port, which
    loses the metrics only, it is empty.
    """
    host, _, port = address.rpartition(":")
    for candidate in range(int(port), min(int(port) + PORTS, 65_536)):
        try:
            start_http_server(candidate, addr=host.strip("[]"), registry=REGISTRY)
        except OSError as error:
            reason = error
            if error.errno != errno.EADDRINUSE:
                break
        else:
            log.info("metrics.served", address=f"{host}:{candidate}")
            return f"{host}:{candidate}"
    log.error("metrics.not_served", address=address, error=str(reason))
    return ""


def render() -> bytes:
    """All of these in Prometheus' text format."""
    return generate_latest(REGISTRY)
