"""How late an event arrives with one Valkey server, Sentinel and a Cluster, in one run.

Hosts of the three forms take turns, so that what else the machine does meets all of them. Each is
compared with one server as it runs alone here, a process outside of the host as the others are.
``BENCH_ROUNDS=1 STREAM_SECONDS=3`` is a short run.
"""

import asyncio
import itertools
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.latency import first_events
from benchmarks.report import keep, percentile
from benchmarks.streams.without_valkey import RATE, ROUNDS, RUNS, SECONDS, delays
from tests.acceptance.host import Host
from tests.backends.valkey.servers import HOST, Cluster, Servers, Watched
from tests.conftest import own_data_dir

SHARES = (0.5, 0.99)


@contextmanager
def one_server(folder: Path) -> Iterator[str]:
    with Servers(folder) as servers:
        yield f"redis://{HOST}:{servers.start()}/0"


@contextmanager
def sentinel(folder: Path) -> Iterator[str]:
    with Watched(folder) as servers:
        yield servers.url


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    with Cluster(folder) as servers:
        yield servers.url


FORMS = {"one server": one_server, "Sentinel": sentinel, "Cluster": cluster}


def measure(name: str) -> list[float]:
    """The delays of a host with this form of Valkey."""
    with (
        tempfile.TemporaryDirectory() as folder,
        own_data_dir() as data,
        FORMS[name](Path(folder)) as url,
    ):
        host = Host(data, REDIS_URL=url)
        try:
            host.start(fsync=True)
            asyncio.run(first_events(host))  # warm up
            return asyncio.run(delays(host))
        finally:
            host.stop()


def main() -> None:
    late: dict[str, list[list[float]]] = {name: [] for name in FORMS}
    for _, name in itertools.product(range(ROUNDS), FORMS):
        late[name].append(measure(name))
    lines = [f"{ROUNDS} rounds in turns, {RUNS} runs × {RATE}/s for {SECONDS} s each"]
    rows = []
    (first, *_) = FORMS
    for name, share in itertools.product(FORMS, SHARES):
        every, base = (
            percentile(list(itertools.chain(*late[form])), share) for form in (name, first)
        )
        pairs = [
            percentile(ours, share) / percentile(others, share)
            for ours, others in zip(late[name], late[first], strict=True)
        ]
        lines.append(
            f"emit → received, {name:<10} p{share * 100:g}: {every:.1f} ms,"
            f" ratio {every / base:.2f} ({min(pairs):.2f} to {max(pairs):.2f})"
        )
        row = {"row": f"{name} p{share * 100:g}", "ms": round(every, 2)}
        rows.append({**row, "ratio": round(every / base, 3)})
    keep("bells", lines, rows)


if __name__ == "__main__":
    main()
