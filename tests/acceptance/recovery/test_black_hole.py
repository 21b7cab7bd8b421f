"""Old connections to PostgreSQL answer no more, as after a failover without resets; new ones do."""

import time
from pathlib import Path

import httpx
import pytest

from embedded import paths
from tests.acceptance.host import Host, wait_for
from tests.acceptance.recovery.test_recovery import FOREVER, TWO, Reader
from tests.proxy import Proxy

pytestmark = [pytest.mark.slow, pytest.mark.alone]
RECOVERY = 30.0


def test_readers_and_requests_of_a_web_process_go_on(data_dir: Path) -> None:
    """Nobody reconnects, restarts or retries anything but the requests that were refused."""
    host = Host(data_dir)
    with Proxy(str(paths.socket_dir(data_dir) / ".s.PGSQL.5432")) as proxy:
        host.env["DATABASE_URL"] = f"postgres://postgres@{proxy.host}:{proxy.port}/postgres"
        try:
            host.start()
            web, worker = host.web.process, host.worker.process
            run = host.begin(script=FOREVER)
            readers = [Reader(host, run["id"]) for _ in range(3)]
            for reader in readers:
                reader.until(50)
            proxy.swallow()
            began = time.monotonic()
            assert proxy.fired
            position = max(len(reader.seen) for reader in readers)

            def left() -> float:
                return RECOVERY - (time.monotonic() - began)

            wait_for(lambda: answers(host, run["id"]), "a new request", left())
            following = started(host, left())
            late = Reader(host, run["id"])
            for reader in [*readers, late]:
                wait_for(lambda r=reader: len(r.seen) > position + 100, "live events", left())
            wait_for(lambda: host.run(following)["status"] == "succeeded", "a new run", left())
            httpx.post(f"{host.url}/api/v1/runs/{run['id']}/cancel", headers=host.headers)
            for reader in [*readers, late]:
                assert reader.finish()["outcome"] == {"type": "cancelled"}
            assert (host.web.process, host.worker.process) == (web, worker)
            assert web is not None
            assert worker is not None
            assert (web.poll(), worker.poll()) == (None, None)
        finally:
            host.stop()


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
