"""What clients were told beside what a later read says, while the server is killed in between.

    python -m benchmarks.durable.histories [--seed N] [--kills N] [NAME …]

NAME: host, AgentServer, DBOS, Agno, Aegra; all without one. Each run has two readers: the client
that started it, and one that joins later. SIGKILL ends the process that executes the runs (of the
host: its worker) and it is started again; readers come back with their cursors, as each server's
protocol says. When all has come to rest, each run is read again from its beginning: that is the
log. ``tests/histories/checker`` judges the file, which stays in ``.data/``.
"""

import argparse
import asyncio
import bisect
import json
import random
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from uuid import uuid4

import httpx

from benchmarks.durable import servers
from benchmarks.durable.wires import WIRES, Ask, Frame, Run, Wire, other
from benchmarks.peers.servers import this_host
from benchmarks.report import commit, keep
from tests.acceptance.host import ROOT
from tests.histories.checker import check, read
from tests.histories.checker.lines import hash_of
from tests.histories.recording import Recording

RUNS, DELTAS, RATE = 20, 60, 20
PATIENCE = 90.0
GONE = (httpx.HTTPError, OSError, json.JSONDecodeError)
QUICK = {
    "LOCK_GRACE": "6", "LEASE_DURATION_SECONDS": "6", "HEARTBEAT_INTERVAL_SECONDS": "2",
    "REAPER_INTERVAL_SECONDS": "2", "STUCK_PENDING_THRESHOLD_SECONDS": "6",
}  # fmt: skip
"""Agno and Aegra notice a death within seconds, as the host does."""
TERMINAL = {"RUN_FINISHED", "RUN_ERROR"}
NOT_READ = "unknown"


class Clients:
    """The readers of one server, and the record of what they receive."""

    def __init__(
        self, wire: Wire, url: str, headers: dict[str, str], recording: Recording, seed: int
    ) -> None:
        self.wire, self.recording, self.chance = wire, recording, random.Random(seed)
        self.http = httpx.AsyncClient(base_url=url, headers=headers, timeout=httpx.Timeout(10))
        self.runs: list[Run] = []
        self.deadline = time.monotonic() + PATIENCE
        self.refused: Counter[str] = Counter()

    async def whole_run(self, number: int) -> None:
        """Start a run, read it to its end, and let another reader join."""
        await asyncio.sleep(self.chance.uniform(0, 4))
        run = Run(thread=str(uuid4()))
        message = json.dumps([{"text": f"of {number}", "n": DELTAS, "rate": RATE}])
        reading = asyncio.create_task(self._reading(f"starter-{number}", run, message))
        await asyncio.sleep(self.chance.uniform(0.5, 3))
        if run.id:
            await self._reading(f"joiner-{number}", run)
        await reading

    async def _reading(self, name: str, run: Run, message: str = "") -> None:
        """Until the run's end, with as many connections as that takes."""
        reader = Reader(self, name, run)
        if message:
            ask = self.wire.start(run, message)
            while not await reader.connect(ask, opens=False) and time.monotonic() < self.deadline:
                await asyncio.sleep(0.2)  # the server is not there
            self._started(name, run, message)
            if not run.id:
                return  # the client does not know its run: it cannot come back
        while not reader.ended and time.monotonic() < self.deadline:
            progress = reader.next
            await reader.connect(self.wire.back(run, reader.next - 1))
            if not reader.ended and reader.next == progress and await self._has_ended(run):
                # It can have ended between this read and the look.
                await reader.connect(self.wire.back(run, reader.next - 1))
                if not reader.ended and reader.next == progress > 1:
                    reader.end()
            await asyncio.sleep(0.2)

    async def _has_ended(self, run: Run) -> bool:
        return await self.status(run) in self.wire.statuses.values()

    def _started(self, name: str, run: Run, message: str) -> None:
        self.recording.write(
            "start", client=name, key=None, body=hash_of(json.dumps(message)),
            thread=run.thread, run=run.id or None, status=200 if run.id else None,
        )  # fmt: skip
        if run.id:
            self.runs.append(run)

    async def status(self, run: Run) -> str:
        """The status in the checker's words; what it is else, in the server's."""
        try:
            answer = await self.http.get(self.wire.look(run))
            status = str(answer.json().get("status"))
        except GONE:
            return NOT_READ
        return self.wire.statuses.get(status, status)

    async def rest(self) -> None:
        """Wait until each run has ended, and write down the later read."""
        for run in self.runs:
            status = await self.status(run)
            while status not in self.wire.statuses.values() and time.monotonic() < self.deadline:
                await asyncio.sleep(0.5)
                status = await self.status(run)
            log = Reader(self, "", run)
            await log.connect(self.wire.back(run, 0))
            events = log.received
            self.recording.write(
                "run", run=run.id, thread=run.thread, status=status, head=len(events)
            )
            for seq, payload in events:
                self.recording.write("log", run=run.id, seq=seq, payload=payload)


class Reader:
    """One reader of one run; without a name it writes nothing."""

    def __init__(self, clients: Clients, name: str, run: Run) -> None:
        self.clients, self.name, self.run = clients, name, run
        self.next, self.ended = 1, False
        self.received: list[tuple[int, str]] = []

    def write(self, kind: str, **members: object) -> None:
        if self.name:
            self.clients.recording.write(kind, reader=self.name, run=self.run.id, **members)

    def opened(self) -> None:
        self.write("open", transport=self.clients.wire.name, after=self.next - 1)

    async def connect(self, ask: Ask, *, opens: bool = True) -> bool:
        """Read one answer as far as it comes; whether the server took the request."""
        method, path, options = ask
        if opens:
            self.opened()
        try:
            async with self.clients.http.stream(method, path, **options) as answer:
                if answer.status_code != 200:
                    error = (await answer.aread()).decode(errors="replace")[:200]
                    self.clients.refused[f"{answer.status_code} {error}"] += 1
                    return True
                if not self.run.id:
                    path = answer.headers.get("content-location", "")
                    self.run.id = self.clients.wire.located(path)
                async for frame in frames(answer):
                    if not self.run.id:
                        self.run.id = self.clients.wire.named(frame)
                    if not opens and self.run.id:
                        self.opened()
                        opens = True
                    if event := self.clients.wire.event(frame):
                        self.take(event[0] or self.next, json.dumps(event[1]))
        except httpx.ConnectError:
            return False
        except GONE:
            pass
        return True

    def take(self, seq: int, payload: str) -> None:
        self.received.append((seq, payload))
        self.write("event", seq=seq, hash=hash_of(payload))
        self.next = max(self.next, seq + 1)
        if json.loads(payload)["type"] in TERMINAL and not self.ended:
            self.end()

    def end(self) -> None:
        """Its run has ended, and it gets nothing more: it believes that it has everything."""
        self.ended = True
        self.write("end")


async def frames(answer: httpx.Response) -> AsyncIterator[Frame]:
    """The server-sent events that have JSON."""
    event, data, id = "", "", ""
    async for line in answer.aiter_lines():
        name, _, value = line.partition(":")
        match name:
            case "event":
                event = value.strip()
            case "data":
                data += value
            case "id":
                id = value.strip()
            case "" if not line:
                if data:
                    yield Frame(event, dict(json.loads(data)), id)
                event, data, id = "", "", ""


async def load(clients: Clients, kill: Callable[[], None], kills: int) -> None:
    """Runs, and kills among these."""
    runs = [asyncio.create_task(clients.whole_run(number)) for number in range(RUNS)]
    for _ in range(kills):
        await asyncio.sleep(clients.chance.uniform(1.5, 3))
        await asyncio.to_thread(kill)
        clients.recording.fault("SIGKILL")
    await asyncio.gather(*runs)
    await clients.rest()
    await clients.http.aclose()


@contextmanager
def server(name: str) -> Iterator[tuple[str, dict[str, str], Callable[[], None]]]:
    """Its address, headers, and what kills and starts it again."""
    with ExitStack() as stack:
        # The peers use the host's engines.
        host = stack.enter_context(this_host())
        if name == "host":
            yield host.url, host.headers, partial(host.restart, host.worker, signal_=signal.SIGKILL)
            return
        peer = next(peer for peer in servers.ALL if peer.name == name)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        running = stack.enter_context(servers.running(peer, host.data, folder, **QUICK))

        def kill() -> None:
            running.kill()
            running.start()

        yield running.server.url, {}, kill


def renumber(path: Path) -> int:
    """Give the events of each run places without gaps; how many runs the later read refused.

    Those are left out: nothing is there to compare with. A server may leave numbers out. A number
    that a reader was shown and that the later read lacks stays, and has an event of another kind
    in the log.
    """
    lines = list(read(path))
    logs: defaultdict[str, set[int]] = defaultdict(set)
    numbers: defaultdict[str, set[int]] = defaultdict(set)
    for line in lines:
        if line["kind"] in ("event", "log"):
            numbers[line["run"]].add(line["seq"])
            if line["kind"] == "log":
                logs[line["run"]].add(line["seq"])
    ranks = {run: sorted(seqs) for run, seqs in numbers.items()}
    unread = {line["run"] for line in lines if line["kind"] == "run"} - logs.keys()
    with path.open("w") as file:
        for line in lines:
            if line.get("run") in unread:
                continue
            run, fresh = line.get("run"), dict(line)
            for member in ("seq", "after"):
                if member in line and run in ranks:
                    fresh[member] = bisect.bisect_right(ranks[run], line[member])
            if line["kind"] == "run":
                fresh["head"] = len(ranks.get(run, []))
            file.write(json.dumps(fresh) + "\n")
        for run, seqs in numbers.items():
            for seq in sorted(seqs - logs[run]) if run not in unread else ():
                place = bisect.bisect_right(ranks[run], seq)
                payload = json.dumps(other("absent from the later read"))
                line = {"kind": "log", "run": run, "seq": place, "payload": payload}
                file.write(json.dumps(line) + "\n")
    return len(unread)


def judged(name: str, seed: int, kills: int) -> str:
    """A line of the table."""
    path = ROOT / ".data" / f"durable-{name.lower()}-{seed}.jsonl"
    path.parent.mkdir(exist_ok=True)
    version = "this commit " + commit()
    if name != "host":
        version = next(peer.version for peer in servers.ALL if peer.name == name)
    try:
        with server(name) as (url, headers, kill), Recording(path) as recording:
            recording.write("history", version=1, seed=seed)
            clients = Clients(WIRES[name], url, headers, recording, seed)
            asyncio.run(load(clients, kill, kills))
            for error, count in clients.refused.most_common(5):
                print(f"  {name}: refused {count} times: {error}", flush=True)
    except servers.NotInstalled as why:
        return f"| {name} | {version} | {seed} | | | | {why} |"
    unread = renumber(path)
    violations, counts = check(partial(read, path))
    statuses = Counter(line["status"] for line in read(path) if line["kind"] == "run")
    wrong = Counter(violation.kind for violation in violations)
    subjects = {violation.subject.split(" of ")[-1] for violation in violations}
    for violation in violations[:12]:
        print(f"  {name}: {violation}", flush=True)
    verdict = ", ".join(f"{kind} {count}" for kind, count in sorted(wrong.items())) or "0 wrong"
    if violations:
        verdict += f", in {len(subjects)} runs"
    if unread:
        verdict += f"; {unread} runs cannot be read again"
    ended = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
    return (
        f"| {name} | {version} | {seed} | {counts['fault']} | {counts['event']:,} | {ended} |"
        f" {verdict} |"
    )


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser("benchmarks.durable.histories", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("names", nargs="*", metavar="NAME", default=list(WIRES))
    options = parser.parse_args(arguments)
    table = [
        f"{RUNS} runs of {DELTAS} deltas at {RATE}/s, each with two readers",
        "| server | version | seed | kills | events received | runs | verdict |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in options.names:
        table.append(judged(name, options.seed, options.kills))
        print(table[-1], flush=True)
    keep(f"durable-histories-seed-{options.seed}", table)


if __name__ == "__main__":
    main(sys.argv[1:])
