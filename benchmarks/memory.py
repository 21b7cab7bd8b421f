"""Memory over a run of 100,000 events.

1. web and worker stay flat: what they hold after the run is at most 30 MB above before it;
2. 50 readers that stop reading: the web process grows by less than 120 MB.
"""

import socket
import time

from benchmarks.report import keep
from tests.acceptance.host import Host, cpu_and_memory, wait_for
from tests.conftest import own_data_dir

EVENTS, STALLED, PAD = 100_000, 50, 100
MB = 1e6


def resident(host: Host) -> tuple[float, float]:
    """Megabytes of the web process and of the worker, children included."""
    assert host.web.process
    assert host.worker.process
    return (
        cpu_and_memory(host.web.process.pid)[1] / MB,
        cpu_and_memory(host.worker.process.pid)[1] / MB,
    )


def warm_up(host: Host) -> None:
    run = host.begin(script=[{"text": "", "n": 3000, "pad": PAD}])
    host.wait_status(run["id"], "succeeded")
    host.events(run["id"])


def stalled_reader(host: Host, run_id: str) -> socket.socket:
    """A client that asks for the whole run and never reads the answer."""
    link = socket.create_connection(("127.0.0.1", host.port))
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    link.sendall(
        f"GET /api/v1/runs/{run_id}/events HTTP/1.1\r\nHost: 127.0.0.1:{host.port}\r\n"
        f"Accept: text/event-stream\r\nAuthorization: Bearer {host.key}\r\n\r\n".encode()
    )
    return link


def flood(host: Host) -> tuple[str, list[float], list[float]]:
    """The run, and the memory of web and worker while one reader follows it."""
    script = [{"text": "", "n": EVENTS, "pad": PAD, "rate": 8000}]
    run = host.begin(script=script)
    web, worker = [], []
    with host.client() as client:
        headers = {"Accept": "text/event-stream"}
        url = f"/api/v1/runs/{run['id']}/events"
        with client.stream("GET", url, headers=headers) as answer:
            sampled = 0.0
            for _ in answer.iter_raw():
                if time.monotonic() - sampled > 0.5:
                    sampled = time.monotonic()
                    now = resident(host)
                    web.append(now[0])
                    worker.append(now[1])
    host.wait_status(run["id"], "succeeded")
    return run["id"], web, worker


def stall(host: Host, run_id: str) -> float:
    """How far the web process grows while readers stall, in MB."""
    before = resident(host)[0]
    links = [stalled_reader(host, run_id) for _ in range(STALLED)]
    peak = before
    settled = time.monotonic() + 15
    wait_for(lambda: host.ready()["status"] == "ready", "the host to answer beside them")
    while time.monotonic() < settled:
        peak = max(peak, resident(host)[0])
        time.sleep(0.2)
    for link in links:
        link.close()
    return peak - before


def main() -> None:
    with own_data_dir() as data:
        host = Host(data)
        try:
            host.start(fsync=True)
            warm_up(host)
            before = resident(host)
            run_id, web, worker = flood(host)
            after = resident(host)
            growth = stall(host, run_id)
        finally:
            host.stop()
    rows = []
    for name, start, end, peak in (
        ("web", before[0], after[0], max(web)),
        ("worker", before[1], after[1], max(worker)),
    ):
        verdict = "kept" if end - start <= 30 else "BROKEN"
        rows.append(
            f"{name:<7} {start:>6.0f} MB before, {peak:>6.0f} at most, {end:>6.0f} after"
            f"   promise +30 MB: {verdict}"
        )
    verdict = "kept" if growth < 120 else "BROKEN"
    rows.append(
        f"web with {STALLED} stalled readers: +{growth:.0f} MB   promise +120 MB: {verdict}"
    )
    keep("memory", rows)


if __name__ == "__main__":
    main()
