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
from tests.acceptance.recovery.twenty_effects import EFFECTS, PHASES, lines, value_of
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
AGENTS = ("twenty-effects", "twenty-in-a-thread")
POLICIES = ("retry", "ask", "fail")
ENDS = {"retry": "succeeded", "ask": "interrupted", "fail": "failed"}
"""How a run ends whose effect is unverified."""
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
            url,
            additional_headers=self.host.headers,
            subprotocols=["agui.host.v1"],
            ping_interval=None,
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


class Playing:
    """One run of a round: where it is to stand still or to kill its worker, and what it did.

    Every second run is a plain function's, in a thread. ``policy`` is that of its effects.
    """

    def __init__(
        self, host: Host, folder: Path, number: int, chance: random.Random, *, kills: bool,
        pace: float,
    ) -> None:  # fmt: skip
        self.host, self.folder, self.kills = host, folder, kills
        self.point = (chance.randrange(EFFECTS), chance.choice(PHASES))
        self.policy = chance.choice(POLICIES)
        folder.mkdir(parents=True)
        self.begun = host.begin(
            AGENTS[number % len(AGENTS)],
            forwardedProps={
                "folder": str(folder), "point": self.point, "kills": kills, "policy": self.policy,
                "seed": chance.random(), "pace": pace,
            },
        )  # fmt: skip
        self.followers = followers.follow(host, self.begun)
        self.readers = [Stream(host, self.id), Socket(host, self.id)]

    @property
    def id(self) -> str:
        return str(self.begun["id"])

    def stands(self) -> bool:
        """Whether its readers have begun and it is at its point, or before the one that kills."""
        reads = all(each.events for each in self.readers) and all(f.frames for f in self.followers)
        return reads and (self.folder / ("near" if self.kills else "reached")).exists()

    def worker(self) -> int:
        """The process in which it began."""
        return int(lines(self.folder / "worker")[0][0])

    def go_on(self) -> None:
        (self.folder / "on").touch()

    def ended(self, *, unverified: bool) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Wait for its end, which is that of its policy; the run and its log."""
        wait_for(lambda: self.host.run(self.id)["ended_at"], f"the end of {self.id}", PATIENCE)
        run, log = self.host.run(self.id), [each["event"] for each in self.host.events(self.id)]
        expected = ENDS[self.policy if unverified else "retry"]
        assert run["status"] == expected, (self.point, self.policy, log[-1])
        assert run["run_id"] == log[0]["runId"]
        types = [event["type"] for event in log]
        assert types.count("RUN_STARTED") == 1
        assert types.count("RUN_FINISHED") + types.count("RUN_ERROR") == 1
        if expected == "failed":
            assert log[-1]["code"] == "effect_unverified"
        elif expected == "interrupted":
            (question,) = log[-1]["outcome"]["interrupts"]
            assert question["metadata"] == {"effect": f"effect-{self.point[0]}"}
            self._check_answer()
        else:
            assert log[-1]["result"] == RESULT
        for reader in self.readers:
            reader.join(PATIENCE)
            assert not reader.is_alive(), "its stream ends"
        followers.check(self.followers, log)
        return run, log

    def _check_answer(self) -> None:
        """Say whether its effect has happened: the run that brings the answer ends as others do."""
        number, phase = self.point
        yes = {"happened": True, "value": value_of(number)}
        answer = {
            "status": "resolved",
            "payload": yes if phase == "happened" else {"happened": False},
        }
        with self.host.client() as client:
            questions = client.get("/api/v1/interrupts", params={"run": self.id}).json()["results"]
            url = f"/api/v1/interrupts/{questions[0]['id']}/answer"
            answering = client.post(url, json=answer).json()["run"]["id"]
        wait_for(lambda: self.host.run(answering)["ended_at"], "the answering run", PATIENCE)
        end = self.host.events(answering)[-1]["event"]
        assert end.get("result") == RESULT, (self.point, end)

    def check_effects(self, *, unverified: bool, can_wake: bool) -> int:
        """Each effect that has returned happened once; how many were made again.

        ``can_wake``: the lost worker can still end the call at which it was lost.
        """
        happened = Counter(int(effect) for effect, _ in lines(self.folder / "happened"))
        number, phase = self.point
        fails = unverified and self.policy == "fail"
        assert set(happened) >= set(range(number if fails else EFFECTS)), (self.point, happened)
        again = {effect: times - 1 for effect, times in happened.items() if times > 1}
        assert again in ({}, {number: 1} if unverified else {}), (self.point, happened)
        if not can_wake:
            repeats = unverified and self.policy == "retry" and phase == "happened"
            assert bool(again) == repeats, (self.point, self.policy, happened)
        return len(again)


class Round:
    """Runs that are executed at the same time, and all stand still when the fault comes.

    The first one can kill its worker by itself. Each run has readers by the stream, by the socket
    of many runs, and on each other wire (``followers.NAMES``). Each effect takes ``pace`` times
    75 ms on average.
    """

    def __init__(
        self, host: Host, folder: Path, seed: int, runs: int, *, kills: bool, pace: float
    ) -> None:
        chance = random.Random(seed)
        self.host, self.folder = host, folder
        self.runs = [
            Playing(
                host, folder / str(number), number, chance, kills=kills and number == 0, pace=pace
            )
            for number in range(runs)
        ]
        wait_for(lambda: all(run.stands() for run in self.runs), "all to stand still", PATIENCE)

    def on(self, worker: int) -> list[Playing]:
        """The runs that began in the process."""
        return [run for run in self.runs if run.worker() == worker]

    def go_on(self) -> None:
        for run in self.runs:
            run.go_on()

    def wait_for_the_kill(self) -> float:
        """The moment at which the first run has killed its worker."""
        first = self.runs[0]
        first.go_on()
        wait_for(lambda: lines(first.folder / "fired"), f"the kill at {first.point}")
        return float(lines(first.folder / "fired")[0][2])

    def ended(self, unverified: list[Playing]) -> list[list[dict[str, Any]]]:
        """Wait for the ends; the logs, with whose readers the histories' checker finds nothing."""
        ends = [run.ended(unverified=run in unverified) for run in self.runs]
        rows, logs = [row for row, _ in ends], [log for _, log in ends]
        readers = [run.readers for run in self.runs]
        assert judged.violations(self.folder / "history.jsonl", rows, readers, logs) == []
        return logs


def continued_after(log: list[dict[str, Any]], moment: float) -> tuple[str, float] | None:
    """Why the run got another worker, and how many seconds after the moment readers saw it."""
    for event in log:
        if event["type"] == "CUSTOM" and event["name"] == "agui_host.recovered":
            return event["value"]["reason"], event["timestamp"] / 1000 - moment
    return None


class Hurt(NamedTuple):
    """What became of the runs that a fault met, each at its point."""

    delays: list[float]
    """Seconds from the fault until its readers saw each run continue."""
    unverified: Counter[str]
    """By their policies, the runs that were cut within an effect."""
    repeated: int
    """How many effects were made again."""


def hurt(
    workers: "Pair",
    folder: Path,
    seed: int,
    runs: int,
    fault: str,
    *,
    pace: float = 1.0,
    slowness: Callable[[float], float] = lambda _: 1.0,
) -> Hurt:
    """Play a round whose worker is hurt, and check each log, reader's stream and effect.

    It is killed (``kill``), frozen (``stop``), replaced (``term``), or reaches neither PostgreSQL
    nor Valkey (``hole``). ``pace`` as of a Round. ``slowness`` is how many times as long the
    machine has taken for everything since a moment.
    """
    workers.revive()
    with ExitStack() as stack:
        ways = stack.enter_context(workers.apart()) if fault == "hole" else []
        kills = fault == "kill"
        of_seed = Round(workers.host, folder, seed, runs, kills=kills, pace=pace)
        apart = workers.second.process if ways else None
        victim = workers.process(apart.pid if apart else of_seed.runs[0].worker())
        struck = of_seed.on(victim.pid)
        cut = [run for run in struck if fault != "term" and run.point[1] in ("started", "happened")]
        if kills:
            moment = of_seed.wait_for_the_kill()
            of_seed.go_on()
            logs = of_seed.ended(cut)
        else:
            moment = time.time()
            with _broken(victim, fault, ways, of_seed.go_on):
                logs = of_seed.ended(cut)
        of_run = dict(zip(of_seed.runs, logs, strict=True))
        recoveries = {run: continued_after(log, moment) for run, log in of_run.items()}
        assert struck, "the fault meets runs"
        others = {run for run in struck if not recoveries[run]}
        assert {run for run, each in recoveries.items() if each} | others == set(struck)
        # A worker that leaves lets its runs go on to their next effect, which some do not have.
        assert not others or (fault == "term" and min(r.point[0] for r in others) >= EFFECTS - 2)
        those = [each for each in recoveries.values() if each]
        reason, within = ("shutdown", 0.0) if fault == "term" else ("worker_lost", KNOWN_AFTER)
        assert {why for why, _ in those} == {reason}
        delays = sorted(round(seconds, 1) for _, seconds in those)
        assert delays[-1] < within + WITHIN * slowness(moment), (delays, slowness(moment))
        if can_wake := fault in ("stop", "hole"):  # What it does then does not count.
            wait_for(lambda: victim.poll() is not None, "the pruned worker to leave", 60)
            for run, log in of_run.items():
                assert [frame["event"] for frame in workers.host.events(run.id)] == log
        repeated = sum(
            run.check_effects(unverified=run in cut, can_wake=can_wake and run in struck)
            for run in of_seed.runs
        )
    return Hurt(delays, Counter(run.policy for run in cut), repeated)


@contextmanager
def _broken(
    victim: "subprocess.Popen[bytes]", fault: str, ways: list[Proxy], go_on: Callable[[], None]
) -> Iterator[None]:
    """Until the end, the process is frozen or cut off; or it leaves at once (``term``).

    The runs go on as soon as the fault is there.
    """
    if ways:
        for way in ways:
            way.dark = True
            way.swallow()
    else:
        victim.send_signal(signal.SIGSTOP if fault == "stop" else signal.SIGTERM)
    go_on()
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
