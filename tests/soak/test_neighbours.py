"""One team attacks the host with everything at once; its neighbour notices as good as nothing."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.report import keep, percentile
from tests.acceptance.fairness import B_KEY, TEAM_B
from tests.acceptance.host import ROOT
from tests.acceptance.supervised import Supervised
from tests.soak.attacks import SEED
from tests.soak.hooked import hooked
from tests.soak.peaks import Peaks
from tests.soak.watching import Outcome, Watching, watching

SECONDS = float(os.environ.get("SOAK_SECONDS", "300"))
WARM = 5.0
"""Seconds of a host that has just started: its first runs are slower, and compared with nothing."""
IDLE = min(30.0, max(10.0, SECONDS / 5))
RECOVERY = 30.0
"""Seconds in which a killed process works again."""
RATIO, ALWAYS_FINE, NEVER = 5.0, 0.05, 0.25
"""The bound of the neighbour's p99: so many times its p99 on an idle host, and in seconds."""
HOOK_RATIO, HOOK_FINE = 2.0, 5.0
BEHIND_RESTART = 10.0
"""Seconds in which a worker that was started again begins what has queued up."""
AGAIN = "starting it again"
REPEATABLE = """
Agent.objects.filter(team=team).update(repeatable=True)
"""
"""A run of B whose worker is killed is started again, as a new attempt."""

pytestmark = [pytest.mark.soak, pytest.mark.timeout(SECONDS + 600)]


@dataclass
class Restarts:
    """When ``up`` said that it starts a process again, by process."""

    host: Supervised
    times: dict[str, list[float]] = field(default_factory=lambda: {"web": [], "worker": []})

    def look(self) -> None:
        lines = [line for line in self.host.log().splitlines() if AGAIN in line]
        for name, times in self.times.items():
            count = sum(line.startswith(f"up: {name} ") for line in lines)
            times += [time.time()] * (count - len(times))

    def since(self, moment: float) -> float:
        """Seconds since the newest restart of a process before this time."""
        before = [moment - time for times in self.times.values() for time in times if time < moment]
        return min(before, default=float("inf"))

    def near(self, name: str, began: float, ended: float) -> bool:
        """Whether such a restart belongs to this time."""
        return any(began - 1 <= moment <= ended + RECOVERY for moment in self.times[name])


def attack(
    host: Supervised, restarts: Restarts, peaks: Peaks, mode: list[str]
) -> dict[str, dict[str, int]]:
    """The attackers in a process of their own; what they were answered."""
    command = [sys.executable, "-m", "tests.soak.attacks", host.url, host.key, str(SECONDS), *mode]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as attackers:
        while attackers.poll() is None:
            restarts.look()
            peaks.look()
            time.sleep(0.5)
        restarts.look()
        assert attackers.returncode == 0
        assert attackers.stdout
        answers: dict[str, dict[str, int]] = json.load(attackers.stdout)
    return answers


def delays(outcomes: list[Outcome]) -> list[float]:
    return [delay for outcome in outcomes for _, delay in outcome.delays]


def starts(outcomes: list[Outcome]) -> list[float]:
    """Seconds until each start was answered."""
    return [each.accepted - each.began for each in outcomes]


def fine(loud: float, calm: float) -> bool:
    return loud <= min(max(RATIO * calm, ALWAYS_FINE), NEVER)


def late_ones(outcomes: list[Outcome], limit: float, restarts: Restarts) -> str:
    """How many events came later than that, and how many of them soon after a restart."""
    late = [at for each in outcomes for at, delay in each.delays if delay > limit]
    behind = sum(restarts.since(moment) < BEHIND_RESTART for moment in late)
    return (
        f"{len(late)} of {len(delays(outcomes))} events later than {limit * 1000:.0f} ms, {behind}"
        f" of them in the {BEHIND_RESTART:.0f} s after a process was started again"
    )


def longest_silence(outcomes: list[Outcome]) -> float:
    """The longest time in which no run brought an event."""
    arrivals = sorted(moment for outcome in outcomes for moment, _ in outcome.delays)
    return max((later - earlier for earlier, later in pairwise(arrivals)), default=float("inf"))


def row(name: str, watch: Watching) -> str:
    times = [value * 1000 for value in delays(watch.outcomes)]
    first = [(each.first - each.began) * 1000 for each in watch.outcomes if each.first]
    good = [took for _, took in watch.probes if took != float("inf")]
    delay = f"p50 {percentile(times, 0.5):.1f}  p99 {percentile(times, 0.99):.1f}"
    return (
        f"{name:<14} {len(watch.outcomes):>5} runs   event {delay}, most {max(times):.0f} ms"
        f"   start p99 {percentile(starts(watch.outcomes), 0.99) * 1000:.0f} ms"
        f"   first p50 {percentile(first, 0.5):.0f} ms   /health max {max(good):.2f} s"
    )


@pytest.mark.parametrize("attacks", ["every", "dear"])
def test_neighbours(data_dir: Path, attacks: str) -> None:
    """All runs of B succeed: in a new attempt where their worker was killed, since A held it.

    Of ``every`` attack one holds the interpreter, which costs its worker. The ``dear`` ones kill
    nothing.
    """
    every = attacks == "every"
    host = Supervised(
        data_dir,
        seed=TEAM_B + REPEATABLE + SEED,
        AGUI_AGENT_MODULES="tests.acceptance.stuck",
        AGUI_LIMIT_RUNS_PER_MINUTE="0",
        AGUI_OUTBOUND_ALLOW="127.0.0.1",
    )
    restarts, peaks = Restarts(host), Peaks(host)
    try:
        host.start(fsync=True)
        with host.client(B_KEY) as client, hooked(client) as arrivals:
            with watching(host, B_KEY) as fresh:
                time.sleep(WARM)
            with watching(host, B_KEY) as idle:
                time.sleep(IDLE)
            with watching(host, B_KEY) as busy:
                answers = attack(host, restarts, peaks, [] if every else [attacks])
            restarts.look()
            hooks = [arrivals.delays(watch.outcomes) for watch in (idle, busy)]
    finally:
        host.stop()
        print(host.log()[-3000:])

    again = sum(outcome.attempts > 1 for outcome in busy.outcomes)
    wrong = [
        f"{each.status or 'not ended'} {each.code} {'' if each.whole else 'with holes'}"
        for each in [*fresh.outcomes, *idle.outcomes, *busy.outcomes]
        if not (each.status == "succeeded" and each.whole)
    ]
    gaps = busy.gaps()
    slow = [gap for gap in gaps if not restarts.near("web", gap.began, gap.ended)]
    calm, loud = (percentile(delays(watch.outcomes), 0.99) for watch in (idle, busy))
    soon, late = (percentile(starts(watch.outcomes), 0.99) for watch in (idle, busy))
    alone, beside = (percentile(values, 0.99) for values in hooks)
    killed = sum(map(len, restarts.times.values()))
    silence = longest_silence(busy.outcomes)
    without_health = ", ".join(f"{gap.seconds:.1f} s" for gap in gaps) or "never"
    keep(
        "neighbours" if every else "neighbours-dear",
        [
            f"team A attacks for {SECONDS:.0f} s; of the runs of team B:",
            row("just started", fresh),
            row("idle host", idle),
            row("under attack", busy),
            f"p99 ratio {loud / calm:.1f}; {again} runs succeeded in a new attempt after their"
            f" worker was killed, {len(wrong)} did not succeed, {len(busy.refused)} starts refused",
            f"killed and started again: worker {len(restarts.times['worker'])}, web"
            f" {len(restarts.times['web'])}; longest time without an event {silence:.1f} s",
            f"starts: p99 ratio {late / soon:.1f}; webhooks, from a run's end: p99 {alone:.2f} s,"
            f" under attack {beside:.2f} s",
            "most memory: " + ", ".join(f"{n} {mb:.0f} MB" for n, mb in peaks.most.items()),
            late_ones(busy.outcomes, RATIO * calm, restarts),
            f"/health silent for over 1 s: {without_health}",
            *(f"  {name:<24} {json.dumps(counts)}" for name, counts in answers.items()),
        ],
    )
    assert all(answers.values()), "every attack took place"
    assert not wrong, wrong[:5]
    assert not busy.refused, busy.refused[:5]
    assert not peaks.too_large, "above the limits that we ship"
    assert fine(loud, calm), "events"
    assert fine(late, soon), "starts"
    assert beside <= max(HOOK_RATIO * alone, HOOK_FINE), "webhooks"
    assert not slow, slow
    assert all(gap.seconds <= RECOVERY for gap in gaps), gaps
    assert bool(restarts.times["worker"]) is every, "what holds the interpreter costs its worker"
    assert every or not killed, "none of these kills a process"
    assert silence <= RECOVERY, f"{killed} processes were killed"
