"""What a team sees of the host meanwhile: its runs, its events' delays, and the host's health."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from tests.acceptance.host import Host

RATE, LENGTH = 20, 100
"""Deltas per second, and how many a run has."""
PAUSE = 0.25


@dataclass
class Outcome:
    """A run as its reader saw it. Times are of ``time.time()``."""

    id: str
    began: float
    thread: str = ""
    attempts: int = 1
    accepted: float = 0.0
    first: float = 0.0
    ended: float = 0.0
    status: str = ""
    code: str = ""
    seqs: list[int] = field(default_factory=list)
    delays: list[tuple[float, float]] = field(default_factory=list)
    """When an event arrived, and how many seconds after the agent had made it."""

    @property
    def whole(self) -> bool:
        return self.seqs == list(range(1, len(self.seqs) + 1))


@dataclass(frozen=True)
class Gap:
    """A time without an answer of ``/health`` within a second."""

    began: float
    ended: float

    @property
    def seconds(self) -> float:
        return self.ended - self.began


class Watching:
    """Threads that start runs for a team, read them, and ask ``/health``, until they are ended."""

    def __init__(self, host: Host, key: str, readers: int = 4) -> None:
        self.host, self.key = host, key
        self.outcomes: list[Outcome] = []
        self.refused: list[str] = []
        self.probes: list[tuple[float, float]] = []
        self._ending = threading.Event()
        self._threads = [
            *(threading.Thread(target=self._play, daemon=True) for _ in range(readers)),
            threading.Thread(target=self._probe, daemon=True),
        ]

    def begin(self) -> None:
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Let the last runs end, and one after them."""
        self._ending.set()
        for thread in self._threads:
            thread.join(300)
            assert not thread.is_alive(), "a reader hangs"

    def gaps(self, longest: float = 1.0) -> list[Gap]:
        """From the last good answer before to the first one after; a good one is quick."""
        gaps, good = [], self.probes[0][0] if self.probes else 0.0
        for began, took in self.probes:
            if took <= longest:
                if began + took - good > longest + 2 * PAUSE:
                    gaps.append(Gap(good, began + took))
                good = began + took
        last = sum(self.probes[-1]) if self.probes else good
        return [*gaps, Gap(good, last)] if last - good > longest + 2 * PAUSE else gaps

    def _play(self) -> None:
        script = [{"text": "tick", "n": LENGTH, "rate": RATE}]
        body = {"agent": "scripted", "input": {"forwardedProps": {"script": script}}}
        last = False  # one more run when it ends: the host must work then
        with self.host.client(self.key) as client:
            while not last:
                last = self._ending.is_set()
                began = time.time()
                try:
                    answer = client.post("/api/v1/runs", json=body)
                except httpx.HTTPError as error:
                    answer = httpx.Response(599, text=type(error).__name__)
                if answer.status_code != 202:
                    self.refused.append(f"{answer.status_code} {answer.text[:200]}")
                    time.sleep(PAUSE)
                    continue
                run = answer.json()
                outcome = Outcome(run["id"], began, run["thread_id"], accepted=time.time())
                self.outcomes.append(outcome)
                read(client, outcome)
                while outcome.code == "worker_lost" and begin_again(client, outcome):
                    read(client, outcome)

    def _probe(self) -> None:
        with httpx.Client(base_url=self.host.url, timeout=60) as client:
            while not self._ending.wait(PAUSE):
                began = time.time()
                try:
                    good = client.get("/health", timeout=10).status_code == 200
                except httpx.HTTPError:
                    good = False
                self.probes.append((began, time.time() - began if good else float("inf")))


def read(client: httpx.Client, outcome: Outcome, seconds: float = 150.0) -> None:
    """Read a run to its end, and come back with the cursor when the stream is cut."""
    until = time.time() + seconds
    path = f"/api/v1/runs/{outcome.id}/events"
    while not outcome.status and time.time() < until:
        headers = {"Accept": "text/event-stream"}
        params = {"after": str(outcome.seqs[-1] if outcome.seqs else 0)}
        try:
            with client.stream("GET", path, headers=headers, params=params, timeout=30) as answer:
                for seq, event in events(answer):
                    now = time.time()
                    outcome.first = outcome.first or now
                    outcome.seqs.append(seq)
                    note(outcome, event, now)
        except httpx.HTTPError:
            pass
        if not outcome.status:
            time.sleep(PAUSE)
    outcome.ended = time.time()


def begin_again(client: httpx.Client, outcome: Outcome, seconds: float = 60.0) -> bool:
    """Go on with the attempt that the host starts in place of a lost one; False without one."""
    until = time.time() + seconds
    while time.time() < until:
        try:
            answer = client.get("/api/v1/runs", params={"thread_id": outcome.thread})
            runs = answer.json()["results"] if answer.status_code == 200 else []
        except httpx.HTTPError:
            runs = []
        for run in runs:
            if run["repeats"] == outcome.id:
                outcome.id, outcome.attempts = run["id"], run["attempt"]
                outcome.status, outcome.code, outcome.seqs = "", "", []
                return True
        time.sleep(PAUSE)
    return False


def note(outcome: Outcome, event: dict[str, object], now: float) -> None:
    """What one event says of its run."""
    match event["type"]:
        case "TEXT_MESSAGE_CONTENT":
            made = float(str(event["delta"]).split(" ", 1)[0])
            outcome.delays.append((now, now - made))
        case "RUN_FINISHED":
            outcome.status = "succeeded"
        case "RUN_ERROR":
            outcome.status, outcome.code = "failed", str(event.get("code"))


def events(answer: httpx.Response) -> Iterator[tuple[int, dict[str, object]]]:
    """The (seq, event) pairs of a stream; none of one that was refused."""
    seq = 0
    if answer.status_code == 200:
        for line in answer.iter_lines():
            if line.startswith("id:"):
                seq = int(line[3:])
            elif line.startswith("data:"):
                yield seq, json.loads(line[5:])


@contextmanager
def watching(host: Host, key: str) -> Iterator[Watching]:
    """Watch for as long as the block lasts; then the last runs end."""
    watch = Watching(host, key)
    watch.begin()
    try:
        yield watch
    finally:
        watch.end()
