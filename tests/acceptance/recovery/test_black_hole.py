"""Old connections answer no more, as after a failover without resets; new ones do."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from agui_host.embedded import paths
from tests.acceptance.host import Host, wait_for
from tests.acceptance.recovery.test_recovery import FOREVER, TWO, Reader
from tests.conftest import own_data_dir
from tests.proxy import Proxy

pytestmark = pytest.mark.slow
RECOVERY = 30.0
METRICS_KEY = "metrics-key-of-the-black-hole-0000001"
HEARD = re.compile(r"^agui_delivery_seconds_count (\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Behind:
    """A host that reaches its engines through proxies only."""

    host: Host
    postgres: Proxy
    valkey: Proxy


@pytest.fixture(scope="module")
def behind() -> Iterator[Behind]:
    with own_data_dir() as data:
        sockets = paths.socket_dir(data)
        host = Host(data, AGUI_METRICS_KEY=METRICS_KEY)
        with Proxy(str(sockets / ".s.PGSQL.5432")) as sql, Proxy(str(sockets / "valkey")) as bell:
            host.env["DATABASE_URL"] = f"postgres://postgres@{sql.host}:{sql.port}/postgres"
            host.env["REDIS_URL"] = f"redis://{bell.host}:{bell.port}/0"
            try:
                yield Behind(host.start(), sql, bell)
            finally:
                host.stop()


def test_streams_hear_a_valkey_that_swallowed_their_connections_again(behind: Behind) -> None:
    """Until then they read PostgreSQL, and miss nothing."""
    host, proxy = behind.host, behind.valkey
    run = host.begin(script=FOREVER)
    reader = Reader(host, run["id"])
    wait_for(lambda: heard(host) > 50, "the bell to be heard")
    proxy.swallow()
    began, heard_before = time.monotonic(), heard(host)
    assert proxy.fired

    def left() -> float:
        return RECOVERY - (time.monotonic() - began)

    position = len(reader.events)
    wait_for(lambda: len(reader.events) > position + 100, "events without a bell", left())
    late = Reader(host, run["id"])
    # Some of what was on its way may have come after the fault, but not this much.
    wait_for(lambda: heard(host) > heard_before + 100, "the bell to be heard again", left())
    log = host.log_of(host.web)
    assert "bell.silent" in log
    assert log.count("database.role_can_be_left") == 1, "an address without a password of the role"
    httpx.post(f"{host.url}/api/v1/runs/{run['id']}/cancel", headers=host.headers)
    for each in (reader, late):
        assert each.finish()["outcome"] == {"type": "cancelled"}
    assert len(late.events) == host.run(run["id"])["events"]


def heard(host: Host) -> int:
    """How many messages of the bell the web process has got."""
    key = {"Authorization": f"Bearer {METRICS_KEY}"}
    match = HEARD.search(httpx.get(f"{host.url}/metrics", headers=key, timeout=RECOVERY).text)
    return int(float(match[1])) if match else 0


def test_readers_and_requests_of_a_web_process_go_on(behind: Behind) -> None:
    """Nobody reconnects, restarts or retries anything but the requests that were refused."""
    host, proxy = behind.host, behind.postgres
    web, worker = host.web.process, host.worker.process
    run = host.begin(script=FOREVER)
    readers = [Reader(host, run["id"]) for _ in range(3)]
    for reader in readers:
        reader.until(50)
    proxy.swallow()
    began = time.monotonic()
    assert proxy.fired
    position = max(len(reader.events) for reader in readers)

    def left() -> float:
        return RECOVERY - (time.monotonic() - began)

    wait_for(lambda: answers(host, run["id"]), "a new request", left())
    following = started(host, left())
    late = Reader(host, run["id"])
    for reader in [*readers, late]:
        wait_for(lambda r=reader: len(r.events) > position + 100, "live events", left())
    wait_for(lambda: host.run(following)["status"] == "succeeded", "a new run", left())
    httpx.post(f"{host.url}/api/v1/runs/{run['id']}/cancel", headers=host.headers)
    for reader in [*readers, late]:
        assert reader.finish()["outcome"] == {"type": "cancelled"}
    assert (host.web.process, host.worker.process) == (web, worker)
    assert web is not None
    assert worker is not None
    assert (web.poll(), worker.poll()) == (None, None)


def answers(host: Host, run_id: str) -> bool:
    try:
        url = f"{host.url}/api/v1/runs/{run_id}"
        return httpx.get(url, headers=host.headers, timeout=RECOVERY).status_code == 200
    except httpx.HTTPError:
        return False


def started(host: Host, seconds: float) -> str:
    """Start a run; again, with the same key, while the host says that it is not available."""
    ids: list[str] = []

    def accepted() -> bool:
        answer = httpx.post(
            f"{host.url}/api/v1/runs",
            json={"agent": "scripted", "input": {"forwardedProps": {"script": TWO}}},
            headers={**host.headers, "Idempotency-Key": "black-hole"},
            timeout=RECOVERY,
        )
        assert answer.status_code in (202, 503), answer.text
        ids.extend([answer.json()["id"]] if answer.status_code == 202 else [])
        return bool(ids)

    wait_for(accepted, "a run to start", seconds)
    return ids[0]
