"""Where the milliseconds of a start go, hop by hop, and its processor time, process by process.

    python -m benchmarks.peers.start_profile

PostgreSQL logs each message with its end and its duration (``log_min_duration_statement = 0``), and
the client notes its own moments by the same clock: nothing in the host is changed for the profile.
"""

import os
import re
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import psycopg

from agui_host.embedded import paths
from benchmarks.peers import clients
from benchmarks.peers.clients import DELTA, PATH, run_input
from benchmarks.peers.servers import Server, this_host
from benchmarks.report import keep
from tests.acceptance.host import Host, wait_for

WARM, TRACED, COUNTED = 100, 40, 200
MOST_KINDS = 14
LINE = re.compile(
    r"\[(.*?) (\d+\.\d+)\] LOG:\s+duration: ([\d.]+) ms  (?:statement|execute [^:]*):(.*)",
    re.DOTALL,
)
START, FETCH, APPEND = "agui_start_handed", "agui_take_due_runs", "agui_append"
LOGGING = ("log_min_duration_statement = 0", "log_line_prefix = '[%a %n] '")


class Message(NamedTuple):
    """A message to PostgreSQL: who sent it, when it came and when it was answered, in seconds."""

    sender: str
    began: float
    ended: float
    text: str


class Trace(NamedTuple):
    """One run: when its client sent the request and had its first delta, and all messages."""

    start: float
    delta: float
    messages: list[Message]

    def hops(self) -> dict[str, float] | None:
        """Milliseconds by hop; None if something else went on at the same time."""
        by_web, by_worker, by_writer = (
            [message for message in self.messages if message.sender == sender]
            for sender in ("web", "worker", "agui-writer")
        )
        made = next((m for m in by_web if START in m.text), None)
        fetch = next(
            (m for m in by_worker if FETCH in m.text and made and m.began > made.began), None
        )
        append = next((m for m in by_writer if APPEND in m.text), None)
        if not (made and append):
            return None
        fetched = (fetch.began, fetch.ended) if fetch and fetch.ended < append.began else (0.0, 0.0)
        moments = {
            "web: the request, its key and body": made.began,
            "PostgreSQL: run made, admitted, committed": made.ended,
            # A run that is handed over needs neither.
            "NOTIFY, the worker wakes": max(fetched[0], made.ended),
            "PostgreSQL: runs taken and claimed": max(fetched[1], made.ended),
            "worker: the agent starts, its first events": append.began,
            "PostgreSQL: events and end, committed": append.ended,
            "the bell, the web process, the client": self.delta,
        }
        moments_before = [self.start, *moments.values()]
        return {
            name: (end - before) * 1000
            for (name, end), before in zip(moments.items(), moments_before, strict=False)
        }


@contextmanager
def logged(host: Host) -> Iterator[Callable[[], list[Message]]]:
    """Let PostgreSQL log every message; the function returns those since its last call."""
    log, sockets = host.data / "postgres.log", str(paths.socket_dir(host.data))
    with psycopg.connect(host=sockets, user="postgres", autocommit=True) as operator:
        for option in LOGGING:
            operator.execute(f"alter system set {option}")
        operator.execute("select pg_reload_conf()")
        place = log.stat().st_size

        def fresh() -> list[Message]:
            nonlocal place
            with log.open("rb") as file:
                file.seek(place)
                text = file.read().decode(errors="replace")
                place = file.tell()
            return list(_messages(text))

        try:
            wait_for(fresh, "PostgreSQL to log its messages")
            yield fresh
        finally:
            for option in LOGGING:
                operator.execute(f"alter system reset {option.split()[0]}")
            operator.execute("select pg_reload_conf()")


def _messages(text: str) -> Iterator[Message]:
    for line in re.split(r"\n(?=\[)", text):
        if match := LINE.match(line):
            ended, took = float(match[2]), float(match[3]) / 1000
            yield Message(match[1], ended - took, ended, " ".join(match[4].split()))


def hops(host: Host) -> Iterator[str]:
    """The medians of runs one at a time."""
    traces = []
    with logged(host) as fresh, httpx.Client(base_url=host.url, headers=host.headers) as client:
        for _ in range(TRACED):
            fresh()
            began, delta = time.time(), 0.0
            with client.stream("POST", PATH, content=run_input(1)) as answer:
                for piece in answer.iter_raw():
                    if DELTA in piece:
                        delta = delta or time.time()
            traces.append(Trace(began, delta, [m for m in fresh() if m.began >= began - 0.001]))
    each = [hop for trace in traces if (hop := trace.hops())]
    yield f"POST → first delta, one at a time: medians of {len(each)} runs, ms"
    for name in each[0]:
        yield f"  {name:<46} {statistics.median(hop[name] for hop in each):>7.1f}"
    yield f"  {'all':<46} {statistics.median(sum(hop.values()) for hop in each):>7.1f}"


def messages(host: Host, server: Server) -> Iterator[str]:
    """What PostgreSQL is asked, 10 runs at a time, and how long its answers take."""
    with logged(host) as fresh:
        clients.runs_per_second(server, COUNTED, 10)
        took: dict[tuple[str, str], list[float]] = defaultdict(list)
        for message in fresh():
            took[message.sender, kind(message.text)].append(message.ended - message.began)
    yield "messages to PostgreSQL, 10 runs at a time: number and ms, for each run"
    for (sender, text), values in sorted(took.items(), key=lambda it: -sum(it[1]))[:MOST_KINDS]:
        number, ms = len(values) / COUNTED, sum(values) * 1000 / COUNTED
        yield f"  {number:>5.2f} {ms:>7.2f}  {sender + ':':<18} {text}"


def kind(text: str) -> str:
    """A message by its function or its table."""
    text = re.sub(r"set local [^;]*;", "", text)
    functions = re.findall(r"\b(?:agui|procrastinate)_\w+(?=\()", text)
    tables = re.findall(r'\b(?:from|into|update|copy) "?(\w+_\w+)', text, re.IGNORECASE)
    return (functions[-1:] or tables[:1] or [text.strip()[:40]])[0]


def processes(host: Host, more: Mapping[int, str] | None = None) -> dict[str, float]:
    """The processor seconds so far of the web process, the worker, PostgreSQL and Valkey.

    ``more`` are names of further processes, by pid.
    """
    seconds: dict[str, float] = defaultdict(float)
    assert host.web.process
    assert host.worker.process
    names = {host.web.process.pid: "web", host.worker.process.pid: "worker", **(more or {})}
    parents, own = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            command = (folder / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        pid = int(folder.name)
        parents[pid], own[pid] = int(stat[1]), int(stat[11]) + int(stat[12])
        if parents[pid] == os.getpid() and str(paths.socket_dir(host.data)) in command:
            names[pid] = "valkey" if "valkey" in command else "postgres"
    for pid, ticks in own.items():
        while pid and pid not in names:
            pid = parents.get(pid, 0)
        if pid:
            seconds[names[pid]] += ticks / os.sysconf("SC_CLK_TCK")
    return seconds


def cpu(host: Host, server: Server) -> Iterator[str]:
    """The processor time of a whole run."""
    yield "processor time of a run of one delta, ms"
    for at_once in (1, 10, 50):
        before = processes(host)
        clients.runs_per_second(server, COUNTED, at_once)
        after = processes(host)
        each = {name: (after[name] - before[name]) * 1000 / COUNTED for name in after}
        parts = ", ".join(f"{name} {ms:.1f}" for name, ms in sorted(each.items()))
        yield f"  {at_once:>2} at a time: {sum(each.values()):>5.1f}  ({parts})"


def main() -> None:
    with this_host() as host:
        server = Server("host", host.port, host.headers)
        clients.runs_per_second(server, WARM, 10)
        keep("start-profile", [*hops(host), *messages(host, server), *cpu(host, server)])


if __name__ == "__main__":
    main()
