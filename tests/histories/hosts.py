"""The hosts of histories: ``up`` with its engines, perhaps two PostgreSQL servers, two webs."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import psycopg

from agui_host.embedded import paths
from tests.acceptance.engines.replicated import Pair
from tests.acceptance.recovery.test_clocks import OtherWeb
from tests.acceptance.supervised import FAST, Supervised, small_disk
from tests.conftest import own_data_dir
from tests.histories.engines import ENGINES, Engine
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
    """What a nemesis can hurt: a host, perhaps its other web and an engine that ``up`` lacks."""

    host: Supervised
    other: OtherWeb | None = None
    engine: Engine | None = None
    small: bool = False
    """The data directory has a disk of its own, which can be filled."""

    @property
    def pair(self) -> Pair | None:
        return self.engine.pair if self.engine else None

    @property
    def synchronous(self) -> bool:
        """Whether a failover loses nothing that was acknowledged."""
        return self.engine is None or self.engine.synchronous


@contextmanager
def a_host(engine: str | None = None, *, plain: bool = False) -> Iterator[Place]:
    """``engine``: one of ``ENGINES``. ``plain``: no other web and no own disk."""
    with ExitStack() as stack:
        small = not plain and engine is None and os.geteuid() == 0
        data = stack.enter_context(small_disk(DISK) if small else own_data_dir())
        data.mkdir(exist_ok=True)
        begun = ENGINES[engine](data, stack) if engine else None
        host = Supervised(data, seed=SEED, **FAST | SETTINGS)
        host.env |= begun.env if begun else {}
        place = Place(host, engine=begun, small=small)
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


def _bound_wal(host: Supervised) -> None:
    """A small disk is not to be full before somebody fills it."""
    sockets = str(paths.socket_dir(host.data))
    with psycopg.connect(host=sockets, user="postgres", autocommit=True) as link:
        link.execute(WAL)
        link.execute("select pg_reload_conf()")
