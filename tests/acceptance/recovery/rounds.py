"""Rounds of runs of twenty effects whose worker is hurt, and what must be true of each run."""

import json
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from websockets.sync.client import connect

from agui_host.embedded import paths, supervisor
from tests.acceptance.host import Host, sse, wait_for
from tests.acceptance.recovery.transports import followers
from tests.acceptance.recovery.twenty_effects import EFFECTS, PHASES, lines
from tests.conftest import own_data_dir
from tests.histories import judged
from tests.proxy import Proxy

SETTINGS = {
    "AGUI_AGENT_MODULES": "tests.acceptance.recovery.twenty_effects",
    "AGUI_HEARTBEAT": "0.5",
    "AGUI_WORKER_LOST_AFTER": "3",
    "AGUI_REAP_EVERY": "0.5",
    "AGUI_WORKER_GRACE": "120",
}
KNOWN_AFTER = 3.0 + 0.5
"""Seconds until a silent worker counts as lost."""
WITHIN = 5.0
"""Seconds from then on until readers see that the run continues."""
PATIENCE = 240.0
"""Seconds for the ends of many runs, on a machine that is busy with other work."""
RESULT = sum(number * number for number in range(EFFECTS))


class Reader(threading.Thread):
    """The numbers and types of the events of one run, as one transport brings them."""

    transport: str

    def __init__(self, host: Host, run: str) -> None:
        super().__init__(daemon=True)
        self.host, self.wanted_run = host, run
        self.seqs: list[int] = []
        self.events: list[dict[str, Any]] = []
        self.start()

    def take(self, seq: int, event: dict[str, Any]) -> bool:
        """Whether that was the last event."""
        self.seqs.append(seq)
        self.events.append(event)
        return event["type"] in ("RUN_FINISHED", "RUN_ERROR")


class Stream(Reader):
    transport = "sse"

    def run(self) -> None:
        url = f"/api/v1/runs/{self.wanted_run}/events?after=0"
        accept = {"Accept": "text/event-stream"}
        with (
            self.host.client() as client,
            client.stream("GET", url, headers=accept, timeout=120) as answer,
        ):
            for seq, event in sse(answer.iter_lines()):
                assert seq is not None
                if self.take(seq, event):
                    return


class Socket(Reader):
    transport = "socket"

    def run(self) -> None:
        url = self.host.url.replace("http", "ws") + "/ws/"
        with connect(
            url, additional_headers=self.host.headers, subprotocols=["agui.host.v1"]
        ) as socket:
            params = {"run": self.wanted_run, "after": 0}
            call = {"jsonrpc": "2.0", "id": 1, "method": "run.subscribe", "params": params}
            socket.send(json.dumps(call))
            while True:
                frame = json.loads(socket.recv(120))
                if frame.get("method") != "event":
                    continue
                event = frame["params"]
                ack = {name: event[name] for name in ("subscription", "run", "seq")}
                socket.send(json.dumps({"jsonrpc": "2.0", "method": "ack", "params": ack}))
                if self.take(event["seq"], event["event"]):
                    return


class Round:
    """Runs that are executed at the same time; the first one can kill its worker by itself.

    ``follows``: it has a reader on the wire of each dialect. Each run has two that count events.
    Each effect takes ``pace`` times 75 ms on average, so that many runs are in their middle.
    """

    def __init__(
        self,
        host: Host,
        folder: Path,
        seed: int,
        runs: int,
        *,
        kills: bool,
        follows: bool,
        pace: float,
    ) -> None:
        self.host, self.folder = host, folder
        self.random = random.Random(seed)
        self.point = [self.random.randrange(EFFECTS), self.random.choice(PHASES)]
        self.folders = [folder / str(number) for number in range(runs)]
        begun: list[dict[str, Any]] = []
        for number, own in enumerate(self.folders):
            own.mkdir(parents=True)
            props: dict[str, Any] = {"folder": str(own), "seed": self.random.random()}
            props |= {"gate": str(folder / "gate"), "pace": pace}
            if kills and number == 0:
                props["kills_at"] = self.point
            begun.append(host.begin("twenty-effects", forwardedProps=props))
        self.ids = [run["id"] for run in begun]
        self.followers = followers.follow(host, begun[0]) if follows else []
        self.readers = [[Stream(host, run), Socket(host, run)] for run in self.ids]
        for own in self.folders:
            wait_for(lambda own=own: (own / "worker").exists(), "a run to begin")
        (folder / "gate").touch()

    def wait_for_the_middle(self, worker: int | None = None) -> int:
        """A run is in its middle, with most of its effects before it; the process of its worker.

        Only runs of the process ``worker`` count, if one is given.
        """
        least = self.random.randrange(2, EFFECTS // 3)
        workers: list[int] = []

        def reached() -> bool:
            done = {own: len(lines(own / "happened")) for own in self.folders}
            middle = [own for own in self.folders if least <= done[own] <= EFFECTS // 2]
            pids = [int(lines(own / "worker")[0][0]) for own in middle]
            workers[:] = [pid for pid in pids if worker in (None, pid)]
            return bool(workers)

        wait_for(reached, "the middle")
        return workers[0]

    def wait_for_the_kill(self) -> float:
        """The moment at which the first run has killed its worker."""
        wait_for(lambda: lines(self.folders[0] / "fired"), f"the kill at {self.point}")
        return float(lines(self.folders[0] / "fired")[0][2])

    def ended(self) -> list[list[dict[str, Any]]]:
        """Wait for the ends; the logs, with whose readers the histories' checker finds nothing."""
        logs, rows = [], []
        for run, readers in zip(self.ids, self.readers, strict=True):
            wait_for(lambda run=run: self.host.run(run)["ended_at"], f"the end of {run}", PATIENCE)
            done = self.host.run(run)
            log = [frame["event"] for frame in self.host.events(run)]
            assert done["status"] == "succeeded", (self.point, log[-1])
            assert done["run_id"] == log[0]["runId"] == log[-1]["runId"]
            assert log[-1]["result"] == RESULT
            types = [event["type"] for event in log]
            assert types.count("RUN_STARTED") == types.count("RUN_FINISHED") == 1
            for reader in readers:
                reader.join(PATIENCE)
                assert not reader.is_alive(), "its stream ends"
            logs.append(log)
            rows.append(done)
        assert judged.violations(self.folder / "history.jsonl", rows, self.readers, logs) == []
        followers.check(self.followers, logs[0])
        return logs

    def check_effects(self, *, most_repeated: int) -> Counter[int]:
        """Each effect that has returned happened once; how often each run's were repeated."""
        repeated: Counter[int] = Counter()
        for number, own in enumerate(self.folders):
            happened = Counter(effect for effect, _ in lines(own / "happened"))
            assert set(happened) == {str(effect) for effect in range(EFFECTS)}
            first = {effect for effect, attempt in lines(own / "returned") if attempt == "1"}
            assert all(happened[effect] == 1 for effect in first), (self.point, own)
            repeated[number] = sum(times - 1 for times in happened.values())
            assert repeated[number] <= most_repeated, (self.point, happened)
        return repeated


def continued_after(log: list[dict[str, Any]], moment: float) -> tuple[str, float] | None:
    """Why the run got another worker, and how many seconds after the moment readers saw it."""
    for event in log:
        if event["type"] == "CUSTOM" and event["name"] == "agui_host.recovered":
            return event["value"]["reason"], event["timestamp"] / 1000 - moment
    return None


class Hurt(NamedTuple):
    """Why and how soon the runs of a round continued, and how many effects were made again."""

    recoveries: list[tuple[str, float]]
    repeated: int


def hurt(
    workers: "Pair",
    folder: Path,
    seed: int,
    runs: int,
    fault: str,
    *,
    follows: bool = False,
    pace: float = 1.0,
    slowness: Callable[[float], float] = lambda _: 1.0,
) -> Hurt:
    """Play a round whose worker is hurt, and check each log, reader's stream and effect.

    It is killed (``kill``), frozen (``stop``), replaced (``term``), or reaches neither PostgreSQL
    nor Valkey (``hole``). ``follows`` and ``pace`` as of a Round. ``slowness`` is how many times as
    long the machine has taken for everything since a moment.
    """
    workers.revive()
    with ExitStack() as stack:
        ways = stack.enter_context(workers.apart()) if fault == "hole" else []
        kills = fault == "kill"
        of_seed = Round(workers.host, folder, seed, runs, kills=kills, follows=follows, pace=pace)
        if fault == "kill":
            moment, logs = of_seed.wait_for_the_kill(), of_seed.ended()
            assert continued_after(logs[0], moment), "the fault has fired"
        else:
            apart = workers.second.process if ways else None
            victim = workers.process(of_seed.wait_for_the_middle(apart.pid if apart else None))
            moment = time.time()
            with _broken(victim, fault, ways):
                logs = of_seed.ended()
        recoveries = [each for log in logs if (each := continued_after(log, moment))]
        assert recoveries, "the fault has fired"
        reason, within = ("shutdown", 0.0) if fault == "term" else ("worker_lost", KNOWN_AFTER)
        assert {why for why, _ in recoveries} == {reason}
        delays = sorted(round(seconds, 1) for _, seconds in recoveries)
        assert delays[-1] < within + WITHIN * slowness(moment), (delays, slowness(moment))
        repeated = of_seed.check_effects(most_repeated=0 if fault == "term" else 1)
        if fault in ("stop", "hole"):  # What such a worker does afterwards does not count.
            wait_for(lambda: victim.poll() is not None, "the pruned worker to leave", 60)
            for run, log in zip(of_seed.ids, logs, strict=True):
                assert [frame["event"] for frame in workers.host.events(run)] == log
    return Hurt(recoveries, sum(repeated.values()))


@contextmanager
def _broken(victim: "subprocess.Popen[bytes]", fault: str, ways: list[Proxy]) -> Iterator[None]:
    """Until the end, the process is frozen or cut off; or it leaves at once (``term``)."""
    if ways:
        for way in ways:
            way.dark = True
            way.swallow()
    else:
        victim.send_signal(signal.SIGSTOP if fault == "stop" else signal.SIGTERM)
    try:
        if fault == "term":
            wait_for(lambda: victim.poll() is not None, "the worker to leave", 20)
        yield
    finally:
        for way in ways:
            way.dark = False
        victim.send_signal(signal.SIGCONT)


class Pair:
    """A host with two workers; one that was hurt is started again."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.second = supervisor.worker(2.0)
        self.second.name = "second"
        host.spawn(self.second)
        self.jobs = [host.worker, self.second]
        self.wait_for_both()

    def wait_for_both(self) -> None:
        wait_for(lambda: self.host.ready().get("workers") == 2, "two workers")

    def revive(self) -> None:
        for job in self.jobs:
            if job.process is None or job.process.poll() is not None:
                job.stop()
                self.host.spawn(job)
        self.wait_for_both()

    @contextmanager
    def apart(self) -> Iterator[list[Proxy]]:
        """The second worker is another process, whose only ways to both engines are proxies."""
        sockets = paths.socket_dir(self.host.data)
        with Proxy(str(sockets / ".s.PGSQL.5432")) as sql, Proxy(str(sockets / "valkey")) as bell:
            self.second.stop()
            self.host.spawn(
                self.second,
                DATABASE_URL=f"postgres://postgres@{sql.host}:{sql.port}/postgres",
                REDIS_URL=f"redis://{bell.host}:{bell.port}/0",
            )
            self.wait_for_both()
            yield [sql, bell]

    def process(self, pid: int) -> "subprocess.Popen[bytes]":
        """The worker's process with this number."""
        processes = [job.process for job in self.jobs if job.process]
        return next(process for process in processes if process.pid == pid)


@contextmanager
def pair() -> Iterator[Pair]:
    with own_data_dir() as data:
        host = Host(data, **SETTINGS)
        try:
            both = Pair(host.start())
            yield both
        finally:
            if "both" in locals():
                both.second.kill()
                both.second.stop()
            host.worker.kill()
            host.stop()
