"""What a whole short run costs with one worker and with four on the same processors.

``python -m benchmarks.peers.more_workers``, or ``benchmarks.against COMMIT peers.more_workers``:
processor time of all processes for each run, 10 at a time, and how often workers look for runs.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from agui_host.embedded import supervisor
from benchmarks.peers import clients
from benchmarks.peers.servers import Server, this_host
from benchmarks.peers.start_profile import FETCH, logged, processes
from benchmarks.report import keep
from tests.acceptance.host import Host, wait_for

WARM, COUNTED, TRACED = 150, 600, 100
MORE = 3


@contextmanager
def more_workers(host: Host) -> Iterator[list[supervisor.Job]]:
    """Further workers, once they are there."""
    jobs = [supervisor.worker(2.0) for _ in range(MORE)]
    try:
        for job in jobs:
            host.spawn(job)
        wait_for(lambda: host.ready().get("workers", 0) == 1 + MORE, "workers")
        yield jobs
    finally:
        for job in jobs:
            job.stop()


def cost(host: Host, *jobs: supervisor.Job) -> float:
    """Milliseconds of processor time of a run."""
    server = Server("host", host.port, host.headers)
    more = {job.process.pid: job.name for job in jobs if job.process}
    clients.runs_per_second(server, WARM, 10)
    before = processes(host, more)
    clients.bare_runs_per_second(server, COUNTED, 10)
    after = processes(host, more)
    return sum(after[name] - before[name] for name in after) * 1000 / COUNTED


def looks(host: Host) -> float:
    """How often workers look for runs, for each run."""
    with logged(host) as fresh:
        clients.runs_per_second(Server("host", host.port, host.headers), TRACED, 10)
        return sum(FETCH in message.text for message in fresh()) / TRACED


def main() -> None:
    with this_host() as host:
        one, one_looks = cost(host), looks(host)
        with more_workers(host) as jobs:
            four, four_looks = cost(host, *jobs), looks(host)
    lines = [
        f"processor time of a run, 10 at a time, one worker   {one:.2f} ms",
        f"processor time of a run, 10 at a time, four workers   {four:.2f} ms",
        f"four workers ÷ one: {four / one:.2f}",
        f"looks for runs, each run: {one_looks:.2f} by one worker, {four_looks:.2f} by four",
    ]
    keep("more-workers", lines)


if __name__ == "__main__":
    main()
