"""PostgreSQL with a standby or behind a pooler, and logs that lie in a bucket."""

import time
from contextlib import ExitStack
from pathlib import Path

from tests.acceptance.engines.haproxy import before
from tests.acceptance.engines.patroni.cluster import PatroniPair, ask_patroni
from tests.acceptance.engines.replicated import Pair, Server, url_of
from tests.acceptance.host import Host
from tests.backends.s3 import bucket as s3
from tests.backends.servers.bouncer import PgBouncer
from tests.histories.engines.engine import Engine

INSTEAD_OF = "PostgreSQL"
APPLICATION = {"AGUI_DATABASE_APP_PASSWORD": "a-password-of-the-application"}
SESSIONS = 8
LAG = 3.0
"""Seconds in which a read replica gets nothing, or is away."""
SEAL = """
from django.conf import settings
from runs.lifecycle.deletion import sealing
settings.AGUI_SEAL_AFTER_DAYS = 1e-6
print(sealing.run_once(60))
"""


def synchronous(data: Path, stack: ExitStack) -> Engine:
    """Both servers are named in the address; each commit waits for the standby."""
    pair = _started(Pair(data), stack)
    return Engine(_both(pair), instead_of=INSTEAD_OF, pair=pair)


def asynchronous(data: Path, stack: ExitStack) -> Engine:
    """No commit waits, so a standby that is promoted lacks the newest events."""
    pair = _started(Pair(data), stack)
    be_asynchronous(pair)
    return Engine(_both(pair), instead_of=INSTEAD_OF, pair=pair, synchronous=False)


def haproxy(data: Path, stack: ExitStack) -> Engine:
    """The host knows HAProxy only, which leads to the server that is no standby."""
    pair = _started(Pair(data), stack)
    address = stack.enter_context(before(pair, data))
    return Engine({"DATABASE_URL": address}, instead_of=INSTEAD_OF, pair=pair)


def patroni(data: Path, stack: ExitStack) -> Engine:
    """Patroni promotes the standby by itself, and HAProxy asks it who is the primary."""
    pair = PatroniPair(data)
    _started(pair, stack)
    address = stack.enter_context(before(pair, data, ask_patroni(pair)))
    return Engine({"DATABASE_URL": address}, instead_of=INSTEAD_OF, pair=pair)


def pgbouncer(data: Path, stack: ExitStack) -> Engine:
    """Web processes share sessions, transaction by transaction."""
    server = _alone(data, stack)
    bouncer = PgBouncer(data / "bouncer", "127.0.0.1", server.port, size=SESSIONS)
    stack.enter_context(bouncer)

    def kill_bouncer(host: Host) -> None:
        bouncer.kill()
        time.sleep(1)  # the fault itself
        bouncer.start()

    address = {"DATABASE_URL": url_of(bouncer.port), "DATABASE_DIRECT_URL": url_of(server.port)}
    return Engine(address | APPLICATION, {"PgBouncer killed": kill_bouncer}, INSTEAD_OF)


def replica(data: Path, stack: ExitStack) -> Engine:
    """Web processes read from a standby where it is as new as what they were asked for."""
    server = _alone(data, stack)
    standby = Server(data / "servers" / "two")
    stack.callback(standby.stop)
    standby.follow(server)

    def stand_still(host: Host) -> None:
        standby.ask("select pg_wal_replay_pause()")
        time.sleep(LAG)  # the fault itself
        assert standby.ask("select pg_is_wal_replay_paused()")
        standby.ask("select pg_wal_replay_resume()")

    def kill_standby(host: Host) -> None:
        standby.kill()
        time.sleep(LAG)  # the fault itself
        standby.start()

    address = {"DATABASE_URL": url_of(server.port), "DATABASE_REPLICA_URL": url_of(standby.port)}
    strikes = {"replica stands still": stand_still, "replica killed": kill_standby}
    return Engine(address | APPLICATION, strikes, INSTEAD_OF)


def bucket(data: Path, stack: ExitStack) -> Engine:
    """The logs of runs that have just ended move to an object store, readers or not."""
    address = stack.enter_context(s3.served())

    def seal(host: Host) -> None:
        assert int(host.python(SEAL).split()[-1]), "some logs were sealed"

    return Engine({"AGUI_FILES": address}, {"logs sealed": seal})


def be_asynchronous(pair: Pair) -> None:
    """No commit waits for the standby."""
    pair.primary.ask("alter system reset synchronous_standby_names")
    pair.primary.ask("select pg_reload_conf()")


def _started(pair: Pair, stack: ExitStack) -> Pair:
    stack.callback(pair.stop)
    pair.start()
    return pair


def _alone(data: Path, stack: ExitStack) -> Server:
    server = Server(data / "servers" / "one")
    stack.callback(server.stop)
    return server.create().start()


def _both(pair: Pair) -> dict[str, str]:
    return {"DATABASE_URL": url_of(*(server.port for server in pair.servers))}
