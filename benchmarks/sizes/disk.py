"""Bytes on disk per event and per run, and connections: ``python -m benchmarks.sizes.disk``.

Sizes do not depend on what else the machine does: PostgreSQL's tables and indexes, before and after
a long run, and before and after many short ones, each vacuumed.
"""

import itertools
import sys

import psycopg

from agui_host.embedded import embedded
from benchmarks.durable import clients
from benchmarks.peers.servers import Server, this_host
from benchmarks.report import keep
from tests.acceptance.host import Host

EVENTS = 100_000
RUNS, DELTAS = 300, 1
EVENTS_OF_SHORT = DELTAS + 4
AT_ONCE = 50


class Database:
    """The host's, as its administrator sees it."""

    def __init__(self, host: Host) -> None:
        at = embedded.database(host.data)
        address = f"host={at['HOST']} port={at['PORT']} user={at['USER']} dbname={at['NAME']}"
        self.link = psycopg.connect(address, autocommit=True)

    def bytes(self) -> int:
        """All tables of the host with their indexes, without room that vacuum gives back."""
        self.link.execute("vacuum full")
        row = self.link.execute("select pg_database_size(current_database())").fetchone()
        assert row
        return int(row[0])

    def connections(self) -> dict[str, int]:
        """By program."""
        rows = self.link.execute(
            "select application_name, count(*) from pg_stat_activity"
            " where backend_type = 'client backend' group by 1"
        )
        return {name or "other": count for name, count in rows}


def measured(host: Host) -> dict[str, float]:
    database, server = Database(host), Server("host", host.port, host.headers)
    clients.runs_per_second(server, clients.AGUI, AT_ONCE, 10)
    sizes = [database.bytes()]
    run = host.begin(script=[{"text": "", "n": EVENTS}])
    host.wait_status(run["id"], "succeeded")
    sizes.append(database.bytes())
    clients.runs_per_second(server, clients.AGUI, RUNS, AT_ONCE)
    connections = database.connections()
    sizes.append(database.bytes())
    long, short = (after - before for before, after in itertools.pairwise(sizes))
    per_event = long / EVENTS
    per_run = short / RUNS - EVENTS_OF_SHORT * per_event
    print(connections, file=sys.stderr)
    web = connections.pop("web", 0)
    worker = sum(count for name, count in connections.items() if name != "other")
    return {
        "bytes per event": round(per_event, 1),
        "bytes per run in addition": round(per_run),
        "connections of web": web,
        "connections of the worker": worker,
    }


def main() -> None:
    with this_host() as host:
        values = measured(host)
    lines = [f"{name}: {value:,}" for name, value in values.items()]
    keep("disk", lines, [{"row": name, "value": value} for name, value in values.items()])


if __name__ == "__main__":
    main()
