"""A whole host whose Valkey has replicas: its server dies in mid-run, and the host goes on."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.acceptance.host import Host, wait_for
from tests.acceptance.recovery.test_recovery import FOREVER, Reader
from tests.backends.test_tls_engines import refusal
from tests.backends.valkey.servers import HOST, NAME, Cluster, Servers, Watched
from tests.conftest import own_data_dir

pytestmark = pytest.mark.slow

TICK = 3.0
"""Seconds between two looks at the database: what is read sooner came by the bell."""
STREAMS, WRONG = 3, 5
"""The team's limit of open streams, and the attempts at one name that are judged at all."""
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="(\w+)"')
CASES: dict[str, type[Watched] | type[Cluster]] = {"sentinel": Watched, "cluster": Cluster}


@pytest.fixture(params=CASES)
def servers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Watched | Cluster]:
    with CASES[request.param](tmp_path) as running:
        yield running


@contextmanager
def host_with(servers: Watched | Cluster) -> Iterator[Host]:
    with own_data_dir() as data:
        settings = {"AGUI_HUB_TICK": str(TICK), "AGUI_LIMIT_OPEN_STREAMS": str(STREAMS)}
        host = Host(data, **settings)
        host.env["REDIS_URL"] = servers.url
        try:
            yield host.start()
        finally:
            host.stop()


def signs_in(host: Host, password: str) -> bool:
    with httpx.Client(base_url=host.url, timeout=30) as browser:
        token = TOKEN.search(browser.get("/login/").text)
        assert token
        form = {"csrfmiddlewaretoken": token[1], "login": host.login, "password": password}
        return browser.post("/login/", data=form).status_code == 302


def is_full(host: Host, run_id: str) -> bool:
    """Whether one more stream is refused."""
    headers = {**host.headers, "Accept": "text/event-stream"}
    url = f"{host.url}/api/v1/runs/{run_id}/events?after=0"
    with httpx.stream("GET", url, headers=headers, timeout=30) as answer:
        return answer.status_code == 429


def killed(servers: Servers) -> int:
    """The server that is killed: the primary, or one of the cluster's."""
    return servers.primary if isinstance(servers, Watched) else servers.nodes[0]


def test_a_dead_server_costs_neither_events_nor_limits(servers: Watched | Cluster) -> None:
    with host_with(servers) as host:
        assert signs_in(host, host.password)
        for _ in range(WRONG - 2):
            assert not signs_in(host, "wrong")
        run = host.begin(script=FOREVER)
        readers = [Reader(host, run["id"]) for _ in range(STREAMS)]
        for reader in readers:
            reader.until(100)
        assert is_full(host, run["id"])
        servers.kill(killed(servers))
        began = time.monotonic()
        assert is_full(host, run["id"]), "while nothing counts but the process itself"
        assert not signs_in(host, "wrong")
        assert not signs_in(host, "wrong")
        assert not signs_in(host, host.password), "five wrong ones are counted"
        host.wait_ready()
        print(f"ready {time.monotonic() - began:.1f} s after the kill")
        so_far = len(readers[0].events)
        wait_for(lambda: rings(readers[0], so_far), "the bell to be heard again")
        print(f"the bell rings {time.monotonic() - began:.1f} s after the kill")
        assert is_full(host, run["id"])
        with host.client() as client:
            client.post(f"/api/v1/runs/{run['id']}/cancel").raise_for_status()
        for reader in readers:
            assert reader.finish()["type"] == "RUN_FINISHED"  # and no event is missing
        host.restart(host.web)  # It has nothing in memory: what counts is the replica's.
        assert not signs_in(host, "wrong")
        assert not signs_in(host, "wrong")
        assert not signs_in(host, host.password), "three before the death, and two after"
        message = refusal(host.env | {"REDIS_URL": mistaken(servers)})
        assert re.fullmatch(r"REDIS_URL: .*", message), "one line"


def mistaken(servers: Watched | Cluster) -> str:
    """An address that looks right: a name that no sentinel has, or a plain one of a node."""
    if isinstance(servers, Watched):
        return servers.url.replace(NAME, "other")
    return f"redis://{HOST}:{servers.nodes[1]}/0"


def rings(reader: Reader, after: int) -> bool:
    """Whether the last two seconds' events came at once, not with a look at the database."""
    return len(reader.late) > after + 200 and max(reader.late[-100:]) < 0.5
