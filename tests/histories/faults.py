"""What a nemesis does to a host; each fault asserts that it fired."""

import time
from collections.abc import Callable

from tests.acceptance.host import wait_for
from tests.acceptance.supervised import fill
from tests.histories.engines.engine import Strike
from tests.histories.engines.postgresql import be_asynchronous
from tests.histories.hosts import Place
from tests.histories.nemesis import Nemesis

Fault = Callable[[Nemesis], None]

WORKER = r"agui_project run_worker"
WEB = r"web\.application:application"
VALKEY = r"valkey-server"
POSTMASTER = r"bin/postgres -D"
POSTGRES = rf"{POSTMASTER}|^postgres: "
"""Regular expressions for the command lines of the processes."""
FULL = "No space left on device"
FOLLOWING = "select count(*) from pg_stat_wal_receiver"
LOST = 20
"""Events that clients are shown and an asynchronous standby does not have, at least."""
NOTICED = 3.0
"""Seconds between the kill and the promotion, which a cluster manager needs to be sure."""
CLOCKS = (0.5, 2, 60, 300)
UNNOTICED = 1.0
"""Seconds up to which ``/ready`` does not name a clock's difference."""


def cut_readers(nemesis: Nemesis) -> None:
    """In the middle of a frame, most often: after any number of bytes that reach clients."""
    proxy = nemesis.proxy
    before = proxy.fired
    proxy.cut_after("to_client", nemesis.chance.randint(1, 4000))
    time.sleep(0.5)
    proxy.cut_all()
    assert proxy.fired > before


def cut_requests(nemesis: Nemesis) -> None:
    """In the middle of a request, or after it and before its answer."""
    proxy = nemesis.proxy
    before = proxy.fired
    proxy.cut_after("to_server", nemesis.chance.randint(1, 3000))
    wait_for(lambda: proxy.fired > before, "a request to be cut")


def swallow(nemesis: Nemesis) -> None:
    """Connections that are open pass nothing on and are not closed: a black hole."""
    proxy = nemesis.proxy
    before, passed = proxy.fired, sum(proxy.passed.values())
    proxy.swallow()
    assert proxy.fired > before
    wait_for(lambda: sum(proxy.passed.values()) > passed, "clients to connect again")


def fill_disk(nemesis: Nemesis) -> None:
    """The disk of PostgreSQL, Valkey and the host has no byte left for some seconds."""
    logged = nemesis.host.log().count(FULL)
    filler = fill(nemesis.host.data.parent)
    try:
        wait_for(lambda: nemesis.host.log().count(FULL) > logged, "a write that finds no room")
        time.sleep(nemesis.chance.uniform(0, 5))  # the fault itself
    finally:
        filler.unlink()
    nemesis.host.wait_ready()


def set_clock(nemesis: Nemesis) -> None:
    """The clock of one of two web processes is put on or back."""
    other = nemesis.place.other
    assert other
    seconds = nemesis.chance.choice(CLOCKS) * nemesis.chance.choice((1, -1))
    other.set(seconds)
    expected = 0.0 if abs(seconds) <= UNNOTICED else seconds

    def is_noticed() -> bool:
        ready = other.ready()
        return bool(ready) and abs(ready.get("clock", 0.0) - expected) < UNNOTICED

    wait_for(is_noticed, f"a clock that is {seconds:+} s away")


def fail_over(nemesis: Nemesis) -> None:
    """The primary is killed and its standby promoted; another standby follows that one."""
    pair = nemesis.place.pair
    assert pair
    if not nemesis.place.synchronous:
        # It follows no more, and clients are shown what it does not have.
        pair.standby.ask("alter system set primary_conninfo = ''")
        pair.standby.ask("select pg_reload_conf()")
        wait_for(lambda: pair.standby.ask(FOLLOWING) == 0, "a standby that does not follow")
        before = nemesis.recording.counts["event"]
        time.sleep(nemesis.chance.uniform(0.5, 2))
        wait_for(lambda: nemesis.recording.counts["event"] > before + LOST, "events to lose")
    # In this pause clients read the last acknowledgements of the old primary: after the promotion
    # their lines would count as those of the new one.
    pair.fail_over(lambda: time.sleep(NOTICED))
    nemesis.recording.write(
        "failover", standby=_standby(nemesis.place), at=nemesis.recording.elapsed
    )
    nemesis.host.wait_ready()
    pair.standby.follow(pair.primary)
    if nemesis.place.synchronous:
        pair.primary.wait_for_standby()
    else:
        be_asynchronous(pair)


FAULTS: dict[str, Fault] = {
    "worker killed": lambda nemesis: nemesis.kill(WORKER),
    "web killed": lambda nemesis: nemesis.kill(WEB),
    "Valkey killed": lambda nemesis: nemesis.kill(VALKEY),
    "PostgreSQL killed": lambda nemesis: nemesis.kill(POSTMASTER),
    "worker frozen": lambda nemesis: nemesis.freeze(WORKER),
    "web frozen": lambda nemesis: nemesis.freeze(WEB),
    "Valkey frozen": lambda nemesis: nemesis.freeze(VALKEY),
    "PostgreSQL frozen": lambda nemesis: nemesis.freeze(POSTGRES),
    "readers cut": cut_readers,
    "requests cut": cut_requests,
    "connections swallowed": swallow,
    "disk full": fill_disk,
    "clock set": set_clock,
    "failover": fail_over,
}


def possible(place: Place) -> tuple[dict[str, Fault], dict[str, str]]:
    """The faults that a place can have, and by name why it cannot have the others."""
    missing: dict[str, str] = {}
    if place.engine and (engine := place.engine.instead_of):
        why = f"up does not start {engine}"
        missing |= {name: why for name in FAULTS if name.startswith(f"{engine} ")}
    if not place.pair:
        missing["failover"] = "there is one PostgreSQL: --engine synchronous"
    if not place.small:
        missing["disk full"] = "needs root, and the engines of up"
    if not place.other:
        missing["clock set"] = "needs libfaketime"
    faults = {name: fault for name, fault in FAULTS.items() if name not in missing}
    strikes = place.engine.strikes if place.engine else {}
    return faults | {name: _of_engine(strike) for name, strike in strikes.items()}, missing


def _of_engine(strike: Strike) -> Fault:
    def fault(nemesis: Nemesis) -> None:
        strike(nemesis.host)
        nemesis.host.wait_ready()

    return fault


def _standby(place: Place) -> str:
    return "synchronous" if place.synchronous else "asynchronous"
