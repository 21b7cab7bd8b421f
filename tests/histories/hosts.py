"""The hosts of histories: ``up`` with its engines, perhaps two PostgreSQL servers, two webs."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from agui_host.embedded import paths
from tests.acceptance.engines.replicated import USER, Pair
from tests.acceptance.recovery.test_clocks import OtherWeb
from tests.acceptance.supervised import FAST, Supervised, small_disk
from tests.conftest import own_data_dir
from tests.needs import FINDERS

SEED = """
Agent.objects.create(team=team, slug="again", name="Again", target="scripted", repeatable=True)
Agent.objects.filter(team=team, slug="scripted").update(is_tool=True)
"""
"""In addition to the agents of all acceptance tests."""
SETTINGS = {
    "AGUI_OUTBOUND_ALLOW": "127.0.0.1", "AGUI_WEBHOOK_TIMEOUT": "2", "AGUI_HEARTBEAT": "1",
    "AGUI_WORKER_LOST_AFTER": "6", "AGUI_REAP_EVERY": "1", "AGUI_SSE_HEARTBEAT": "2",
    "AGUI_WEBHOOK_RETRIES": "1s,1s,2s,2s,4s,4s,8s,8s,8s,15s,15s,15s,15s",
}  # fmt: skip
"""Deaths are noticed and silence is filled within seconds, so that a history is short."""
DISK = "700m"
WAL = "alter system set max_wal_size = '128MB'"


@dataclass
class Place:
    """What a nemesis can hurt: a host and, where there are such, its other web and its standby."""

    host: Supervised
    other: OtherWeb | None = None
    pair: Pair | None = None
    synchronous: bool = True
    small: bool = False
    """The data directory has a disk of its own, which can be filled."""

    @property
    def standby(self) -> str:
        return "synchronous" if self.synchronous else "asynchronous"


@contextmanager
def a_host(*, standby: str | None = None, plain: bool = False) -> Iterator[Place]:
    """``standby``: ``synchronous`` or ``asynchronous``. ``plain``: no other web and no own disk."""
    with ExitStack() as stack:
        small = not plain and standby is None and os.geteuid() == 0
        data = stack.enter_context(small_disk(DISK) if small else own_data_dir())
        host = Supervised(data, seed=SEED, **FAST | SETTINGS)
        place = Place(host, small=small, synchronous=standby != "asynchronous")
        if standby:
            place.pair = _pair(data, host, stack, synchronous=place.synchronous)
        stack.callback(host.stop)
        host.log_path = stack.enter_context(own_data_dir()) / "up.log"
        host.start()
        if small:
            _bound_wal(host)
        if not plain and FINDERS["libfaketime"]():
            place.other = OtherWeb(host)
            stack.callback(place.other.job.stop)
            place.other.start(0)
        yield place


def _pair(data: Path, host: Supervised, stack: ExitStack, *, synchronous: bool) -> Pair:
    data.mkdir(exist_ok=True)
    pair = Pair(data)
    stack.callback(pair.stop)
    pair.start()
    if not synchronous:
        be_asynchronous(pair)
    places = ",".join(f"127.0.0.1:{server.port}" for server in pair.servers)
    host.env["DATABASE_URL"] = f"postgresql://{USER}@{places}/postgres"
    return pair


def be_asynchronous(pair: Pair) -> None:
    """No commit waits for the standby."""
    pair.primary.ask("alter system reset synchronous_standby_names")
    pair.primary.ask("select pg_reload_conf()")


def _bound_wal(host: Supervised) -> None:
    """A small disk is not to be full before somebody fills it."""
    sockets = str(paths.socket_dir(host.data))
    with psycopg.connect(host=sockets, user="postgres", autocommit=True) as link:
        link.execute(WAL)
        link.execute("select pg_reload_conf()")
