"""The primary is killed every minute, its synchronous standby is promoted, the old one comes back.

Half of the old primaries are rewound, the others replaced by a new copy. Before that each of them
runs alone for a moment, a primary in its own eyes. PROMOTION_SECONDS is the length. With
PROMOTION_PROXY=haproxy the host knows only HAProxy's address; then each old primary is replaced by
a copy at once, since HAProxy would take it for the primary. With PROMOTION_PROXY=patroni HAProxy
asks Patroni, which promotes by itself and rewinds the old primary once it is started again.
"""

import os
import time
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import pytest

from benchmarks.report import keep
from tests.acceptance.engines.haproxy import ProxiedHost
from tests.acceptance.engines.patroni.cluster import PatroniHost
from tests.acceptance.engines.replicated import Pair, ReplicatedHost
from tests.acceptance.engines.test_promotion import AFTER, END_ALL, HOSTS, TICKED, WRITTEN
from tests.acceptance.host import wait_for
from tests.soak.watching import Watching, watching

SECONDS = float(os.environ.get("PROMOTION_SECONDS", "1800"))
EVERY = 60.0
NOTICED = 3.0
"""Seconds between the kill and the promotion, which a cluster manager needs to be sure."""
ALONE = 5.0
PROXY = os.environ.get("PROMOTION_PROXY", "")
HOST_KINDS = {"": ReplicatedHost, "haproxy": ProxiedHost, "patroni": PatroniHost}
pytestmark = [pytest.mark.soak, pytest.mark.timeout(SECONDS + 900)]


class Promotion(NamedTuple):
    """When it began and ended, in seconds of ``time.time()``, and what became of the old one."""

    killed: float
    promoted: float
    rejoined: str


def test_nothing_is_lost_by_a_promotion_every_minute(data_dir: Path) -> None:
    host = HOST_KINDS[PROXY](data_dir, AGUI_DATABASE_APP_PASSWORD="a-password-of-the-application")
    promotions: list[Promotion] = []
    try:
        host.start()
        web, worker = host.web.process, host.worker.process
        with watching(host, host.key) as watch:
            until = time.monotonic() + SECONDS
            for way in cycle(("rewound", "copied")):
                began = time.monotonic()
                promotions.append(promote(host.pair, way))
                if began + EVERY > until:
                    break
                time.sleep(max(0.0, began + EVERY - time.monotonic()))
        last = int(promotions[-1].promoted)
        wait_for(lambda: host.pair.primary.ask(TICKED, last) > 3, "periodic tasks", 90)
        assert (host.web.process, host.worker.process) == (web, worker)
        assert web is not None
        assert worker is not None
        assert (web.poll(), worker.poll()) == (None, None), "nobody started them again"
        silent = [silence(watch, each) for each in promotions]
        wrong = [
            each.id
            for each in watch.outcomes
            if not each.whole
            or (each.status, len(each.seqs)) != ("succeeded", host.run(each.id)["events"])
        ]
        table(watch, promotions, silent, wrong)
    finally:
        host.stop()
    assert wrong == []
    assert max(silent) <= AFTER


def promote(pair: Pair, way: str) -> Promotion:
    """One failover, and the return of the old primary."""
    killed = time.time()
    pair.fail_over(lambda: time.sleep(NOTICED))
    promoted = time.time()
    if PROXY:
        pair.standby.follow(pair.primary)
        pair.primary.wait_for_standby()
        return Promotion(killed, promoted, "rejoined" if PROXY == "patroni" else "copied")
    old = pair.standby.start()
    old.ask("alter system reset synchronous_standby_names")
    old.ask("select pg_reload_conf()")
    before = old.ask(WRITTEN)
    pair.primary.ask(END_ALL)  # all connect again, while both servers accept commits
    time.sleep(ALONE)
    assert (old.ask(WRITTEN), old.ask(HOSTS)) == (before, 1), "the old primary is left alone"
    old.stop()
    if way == "rewound":
        old.rewind(pair.primary)
    else:
        old.follow(pair.primary)
    pair.primary.wait_for_standby()
    return Promotion(killed, promoted, way)


def silence(watch: Watching, promotion: Promotion) -> float:
    """Seconds after the promotion until the last of the runs that were live then went on."""
    firsts = [
        min(moment for moment, _ in run.delays if moment > promotion.promoted)
        for run in watch.outcomes
        if run.delays and run.delays[0][0] < promotion.promoted < run.delays[-1][0]
    ]
    return max(firsts, default=promotion.promoted) - promotion.promoted


def table(
    watch: Watching, promotions: list[Promotion], silent: list[float], wrong: list[str]
) -> None:
    events = sum(len(run.seqs) for run in watch.outcomes)
    rows = [
        f"{number:>9}  {each.promoted - each.killed:>18.1f}  {quiet:>14.1f}  {each.rejoined}"
        for number, (each, quiet) in enumerate(zip(promotions, silent, strict=True), 1)
    ]
    head = f"{'promotion':>9}  {'kill to promotion':>18}  {'streams after':>14}  old primary"
    keep(
        f"promotions-{PROXY}" if PROXY else "promotions",
        [
            f"{SECONDS:.0f} s, a kill every {EVERY:.0f} s, 4 runs at a time at 20 events/s each",
            f"{len(watch.outcomes)} runs, {events} events shown, {len(wrong)} runs with a lost,"
            f" doubled or reordered event, {len(watch.refused)} starts refused with 503 or later",
            head, *rows,
        ],
    )  # fmt: skip
