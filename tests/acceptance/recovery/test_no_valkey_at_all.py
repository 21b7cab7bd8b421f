"""A whole host whose REDIS_URL is empty: two web processes and a worker, and PostgreSQL alone."""

import json
import re
import signal
import statistics
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import psycopg
import pytest
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from agui_host.embedded import embedded, supervisor
from tests.acceptance.host import Host, free_port, wait_for
from tests.acceptance.recovery.test_recovery import TWO, Reader
from tests.conftest import own_data_dir

pytestmark = pytest.mark.slow

NEVER = "3600"  # seconds between two ticks: whatever comes has come by the bell
STREAMS = 4
SLOWLY = [{"text": "tick ", "n": 150, "rate": 25}]
PROTOCOL = [Subprotocol("agui.host.v1")]


class Pair:
    """A host and its second web process."""

    def __init__(self, host: Host) -> None:
        self.host, port = host, free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.job = supervisor.web(port)
        self.job.name = "other-web"

    def start(self) -> None:
        self.host.start()
        self.host.spawn(self.job)
        wait_for(lambda: self.ready().get("status") == "ready", "the other web process")

    def ready(self) -> dict[str, Any]:
        try:
            return dict(httpx.get(f"{self.url}/ready", timeout=5).json())
        except (httpx.HTTPError, ValueError):
            return {}

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        place = embedded.database(self.host.data)
        with psycopg.connect(
            host=place["HOST"], user=place["USER"], dbname=place["NAME"], autocommit=True
        ) as connection:
            return connection.execute(statement).fetchall()  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with own_data_dir() as data:
        host = Host(
            data,
            REDIS_URL="",
            AGUI_HUB_TICK=NEVER,
            AGUI_LIMIT_OPEN_STREAMS=str(STREAMS),
            AGUI_SSE_HEARTBEAT="600",
        )
        both = Pair(host)
        try:
            both.start()
            yield both
        finally:
            both.job.stop()
            host.stop()


def test_no_valkey_runs_and_the_host_is_ready(pair: Pair) -> None:
    assert pair.host.engines
    assert pair.host.engines.valkey is None
    assert not (pair.host.data / "valkey.pid").exists()
    for state in (pair.host.ready(), pair.ready()):
        assert (state["status"], state["bell"]) == ("ready", "ok")
    assert "valkey.unreachable" not in pair.host.log_of(pair.job)


def test_events_come_live_by_sse_and_on_both_sockets_of_the_other_web(pair: Pair) -> None:
    run = pair.host.begin(script=SLOWLY)["id"]
    reader = Reader(pair.host, run)
    reader.until(10)
    socket_url = pair.url.replace("http", "ws")
    with ExitStack() as stack:
        one = stack.enter_context(
            connect(f"{socket_url}/ws/runs/{run}/?after=0", additional_headers=pair.host.headers)
        )
        all_runs = stack.enter_context(
            connect(
                f"{socket_url}/ws/",
                additional_headers=pair.host.headers,
                subprotocols=PROTOCOL,
            )
        )
        params = {"run": run, "after": 0}
        call = {"jsonrpc": "2.0", "id": 1, "method": "run.subscribe", "params": params}
        all_runs.send(json.dumps(call))
        assert "result" in json.loads(all_runs.recv(30))
        texts = ""
        while "RUN_FINISHED" not in texts:
            texts = str(one.recv(30))
        last = 0
        while True:
            frame = json.loads(all_runs.recv(30))
            if frame["method"] == "end":
                break
            last = frame["params"]["seq"]
            ack = {"subscription": frame["params"]["subscription"], "seq": last}
            all_runs.send(json.dumps({"jsonrpc": "2.0", "method": "ack", "params": ack}))
        assert frame["params"]["reason"] == "finished"
    assert reader.finish()["type"] == "RUN_FINISHED"
    assert len(reader.events) == last == pair.host.run(run)["events"]
    assert statistics.median(reader.late[20:]) < 2.0


def test_killed_sessions_connect_again_and_the_stream_ends_in_time(pair: Pair) -> None:
    run = pair.host.begin(script=SLOWLY)["id"]
    reader = Reader(pair.host, run)
    reader.until(30)
    killed = pair.sql(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where application_name = 'agui-bell' and pid <> pg_backend_pid()"
    )
    assert len(killed) >= 2  # the worker's, and that of the web process with the reader
    assert all(ended for (ended,) in killed)
    assert reader.finish(50)["type"] == "RUN_FINISHED"
    assert len(reader.events) == pair.host.run(run)["events"]
    wait_for(lambda: "bell.connected_again" in pair.host.log_of(pair.host.web), "a new session")
    following = pair.host.begin(script=TWO)["id"]
    assert Reader(pair.host, following).finish(30)["type"] == "RUN_FINISHED"


def test_open_streams_are_limited_over_both_web_processes(pair: Pair) -> None:
    run = pair.host.begin(script=[{"sleep": 60}])["id"]
    path = f"/api/v1/runs/{run}/events"
    headers = {**pair.host.headers, "Accept": "text/event-stream"}

    def count() -> int:
        return int(pair.sql("select count(*) from agui_seat where until > now()")[0][0])

    wait_for(lambda: count() == 0, "the streams of other tests to be forgotten")
    with httpx.Client(timeout=30) as client, ExitStack() as stack:
        for number in range(STREAMS):
            url = (pair.host.url, pair.url)[number % 2] + path
            answer = stack.enter_context(client.stream("GET", url, headers=headers))
            assert answer.status_code == 200
        for url in (pair.host.url, pair.url):
            assert client.get(url + path, headers=headers).status_code == 429
    with pair.host.client() as client:
        client.post(f"/api/v1/runs/{run}/cancel")


def test_attempts_to_sign_in_are_limited_over_both_web_processes(pair: Pair) -> None:
    def enters(url: str, password: str) -> bool:
        with httpx.Client(base_url=url, timeout=30) as client:
            page = client.get("/login/")
            token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
            assert token, page.text
            form = {
                "login": pair.host.login,
                "password": password,
                "csrfmiddlewaretoken": token[1],
            }
            return client.post("/login/", data=form, headers={"Referer": url}).is_redirect

    for url in (pair.host.url, pair.url):
        assert enters(url, pair.host.password)
    for number in range(6):
        assert not enters((pair.host.url, pair.url)[number % 2], "wrong")
    for url in (pair.host.url, pair.url):
        assert not enters(url, pair.host.password)


def test_payloads_hold_ids_and_no_content(pair: Pair) -> None:
    place = embedded.database(pair.host.data)
    with psycopg.connect(
        host=place["HOST"], user=place["USER"], dbname=place["NAME"], autocommit=True
    ) as listener:
        listener.execute("listen agui_bell")
        secret = "a-secret-of-the-tenant"
        run = pair.host.begin(script=[{"text": secret, "n": 3}], threadId="thread-of-the-tenant")
        pair.host.wait_status(run["id"], "succeeded")
        heard = [each.payload for each in listener.notifies(timeout=2)]
    assert any(run["id"] in payload for payload in heard)
    assert all("tenant" not in payload for payload in heard)
    with pair.host.client() as client:
        assert secret in client.get(f"/api/v1/runs/{run['id']}/events").text


def test_up_starts_no_valkey(pair: Pair) -> None:
    with own_data_dir() as data:
        port = free_port()
        env = {**pair.host.env, "AGUI_DATA_DIR": str(data), "PORT": str(port)}
        command = ["manage.py", "up", "--port", str(port)]
        job = supervisor.Job("up", [sys.executable, *command], signal.SIGTERM, 30)
        pair.host.spawn(job, **env)
        try:
            url = f"http://127.0.0.1:{port}/ready"

            def is_ready() -> bool:
                try:
                    return bool(httpx.get(url, timeout=5).json()["status"] == "ready")
                except (httpx.HTTPError, ValueError):
                    return False

            wait_for(is_ready, "up to be ready")
            assert not (data / "valkey.pid").exists()
        finally:
            job.stop()
