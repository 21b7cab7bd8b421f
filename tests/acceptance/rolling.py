"""A deploy under load: runs, three kinds of readers for each, and everything restarted in turn."""

import asyncio
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

import httpx
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosedError

from agui_client.sse import Decoder
from tests.acceptance.deployed import NAME, WEBS, WORKERS, Deployed
from tests.acceptance.host import wait_for
from tests.conformance.node import JS, ready_packages
from tests.deploy.compose_files import ROOT, compose
from tests.needs import need

PATIENCE = 240.0
"""Seconds for which a reader tries to come back: a bound for a broken deployment, no measure."""
PAUSE = 0.25
SEED = """
from agui_host.runtimes.create_team import create_team
from agui_host.runtimes.models import Agent
from agui_host.teams.keys import create_key
from agui_host.teams.models import Role
team = create_team({0!r}, {0!r})
Agent.objects.create(team=team, slug="scripted", name="Scripted")
print(create_key(team, "deploy", Role.MEMBER)[1])
"""


@dataclass
class Reading:
    """What one reader of a run got, over as many connections as it took."""

    run: str
    way: Literal["sse", "websocket"]
    payloads: list[str] = field(default_factory=list)
    connections: int = 0
    ended: bool = False


class Readers:
    """Readers of many runs that come back with their cursor, in a thread and a Node process.

    The way there may break, and nobody may answer; but whoever answers takes the reader in: a
    browser's EventSource gives up for good at a 502.
    """

    def __init__(self, deployed: Deployed, key: str, runs: list[dict[str, Any]]) -> None:
        self.deployed, self.key, self.runs = deployed, key, runs
        self.readings = [Reading(run["id"], way) for run in runs for way in ("sse", "websocket")]
        self.problems: list[str] = []
        self.visits: dict[str, Any] = {}
        self._trust = ssl.create_default_context(cafile=str(deployed.authority.ca))
        self._thread = threading.Thread(target=lambda: asyncio.run(self._read()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._node = subprocess.Popen(
            [need("node"), ready_packages() / "reconnecting.mjs"],
            cwd=JS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "NODE_EXTRA_CA_CERTS": str(self.deployed.authority.ca)}, text=True,
        )  # fmt: skip
        assert self._node.stdin
        assert self._node.stdout
        scenario = {
            "runtimeUrl": f"{self.deployed.url}/agui",
            "headers": {"Authorization": f"Bearer {self.key}"},
            "agent": "scripted",
            "threads": [run["thread_id"] for run in self.runs],
            "addresses": {NAME: "127.0.0.1"},
            "seconds": PATIENCE,
        }
        json.dump(scenario, self._node.stdin)
        self._node.stdin.close()
        self._node.stdin = None  # communicate must not flush it
        assert self._node.stdout.readline() == "connected\n", self._node.communicate()[1]
        wait_for(lambda: all(each.payloads for each in self.readings), "every reader to read")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._node.poll() is None:
            self._node.kill()
            self._node.communicate()

    def finish(self) -> None:
        """Wait until every reader has seen the end of its run."""
        out, err = self._node.communicate(timeout=2 * PATIENCE)
        assert self._node.returncode == 0, err
        self.visits = json.loads(out)
        self._thread.join(2 * PATIENCE)
        assert not self._thread.is_alive()

    async def _read(self) -> None:
        base = f"https://127.0.0.1:{self.deployed.port}"
        headers = {"Host": f"{NAME}:{self.deployed.port}", "Authorization": f"Bearer {self.key}"}
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(
            base_url=base, headers=headers, verify=self._trust, timeout=PATIENCE, limits=limits
        ) as client:
            await asyncio.gather(*(self._stay(client, each) for each in self.readings))

    async def _stay(self, client: httpx.AsyncClient, reading: Reading) -> None:
        try:
            async with asyncio.timeout(PATIENCE) as patience:
                while not reading.ended:
                    reading.connections += 1
                    before = len(reading.payloads)
                    if reading.way == "sse":
                        await self._sse(client, reading)
                    else:
                        await self._socket(reading)
                    if len(reading.payloads) > before:
                        patience.reschedule(asyncio.get_running_loop().time() + PATIENCE)
                    await asyncio.sleep(PAUSE)
        except Exception as error:
            self.problems.append(f"{reading.way} of {reading.run}: {error!r}")

    async def _sse(self, client: httpx.AsyncClient, reading: Reading) -> None:
        """One connection, like an EventSource's."""
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(len(reading.payloads))}
        decoder, url = Decoder(), f"/api/v1/runs/{reading.run}/events"
        try:
            async with client.stream("GET", url, headers=headers) as answer:
                assert answer.status_code == 200, answer.status_code
                async for chunk in answer.aiter_raw():
                    for frame in decoder.feed(chunk):
                        if frame.data:
                            assert int(frame.id or 0) == len(reading.payloads) + 1
                            reading.payloads.append(frame.data)
                # No break: the host has ended the stream, which means that the run has ended.
                assert _terminal(reading), "a clean end before the run's"
                reading.ended = True
        except httpx.TransportError:
            reading.ended = _terminal(reading)

    async def _socket(self, reading: Reading) -> None:
        url = f"wss://{NAME}:{self.deployed.port}/ws/runs/{reading.run}/"
        try:
            async with connect(
                f"{url}?after={len(reading.payloads)}",
                host="127.0.0.1", ssl=self._trust, proxy=None, open_timeout=PATIENCE,
                additional_headers={"Authorization": f"Bearer {self.key}"},
            ) as socket:  # fmt: skip
                async for text in socket:
                    reading.payloads.append(str(text))
                assert _terminal(reading), f"closed with {socket.close_code} before the end"
                reading.ended = True
        except ConnectionClosedError as error:
            if error.rcvd is not None:  # the host's own word; a cut says none
                raise
            reading.ended = _terminal(reading)
        except (OSError, EOFError):
            pass  # nobody listens; a status that is no 101 is another error


def _terminal(reading: Reading) -> bool:
    last = json.loads(reading.payloads[-1])["type"] if reading.payloads else ""
    return last in ("RUN_FINISHED", "RUN_ERROR")


class Deploy:
    """What systemd and compose do to the processes, by their shipped files."""

    def __init__(self, deployed: Deployed) -> None:
        self.deployed = deployed
        self.drained: list[subprocess.Popen[bytes]] = []

    def restart_web(self, name: str) -> None:
        """``systemctl restart agui-web@…``: SIGTERM, its end, a start; back when it is ready."""
        process = self.deployed.processes[name]
        _stop(process, signal.SIGTERM, unit_seconds("agui-web@", "TimeoutStopSec"))
        with self._notified():
            self.deployed.start(name)

    def replace_worker(self, name: str) -> None:
        """``docker stop`` of the old one while the new one works beside it."""
        old = self.deployed.processes[name]
        with self._notified():
            self.deployed.start(name)
        old.terminate()
        self.deployed.processes[f"{name} before"] = old
        self.drained.append(old)

    def restart_proxy(self) -> None:
        """``docker compose restart proxy``."""
        service = compose(self.deployed.file)["services"]["proxy"]
        grace = float(service["stop_grace_period"].removesuffix("s"))
        _stop(self.deployed.processes["proxy"], signal.Signals[service["stop_signal"]], grace)
        self.deployed.start_proxy()

    def play(self) -> None:
        """All of them, one by one."""
        for name in WEBS:
            self.restart_web(name)
        for name in WORKERS:
            self.replace_worker(name)
        self.restart_proxy()

    @contextmanager
    def _notified(self) -> Iterator[None]:
        """systemd's side of ``Type=notify``: wait for the word of what is started meanwhile."""
        path = self.deployed.folder / "notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wire:
            wire.bind(str(path))
            path.chmod(0o666)
            wire.settimeout(PATIENCE)
            self.deployed.extra["NOTIFY_SOCKET"] = str(path)
            try:
                yield
                assert wire.recv(100) == b"READY=1"
            finally:
                del self.deployed.extra["NOTIFY_SOCKET"]
                path.unlink()


def _stop(process: subprocess.Popen[bytes], number: signal.Signals, grace: float) -> None:
    """A polite signal, and in the end SIGKILL for all that is left: of a unit, of a container."""
    process.send_signal(number)
    with suppress(subprocess.TimeoutExpired):
        process.wait(grace)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(10)


def unit_seconds(unit: str, name: str) -> float:
    text = (ROOT / "deploy" / "systemd" / f"{unit}.service").read_text()
    assert "Type=notify" in text
    match = re.search(rf"^{name}=(\d+)$", text, re.MULTILINE)
    assert match
    return float(match[1])


class Load:
    """A team with runs that begin to speak with ``speak``, and end with ``finish``."""

    def __init__(self, deployed: Deployed, team: str, runs: int, seconds: int, rate: int) -> None:
        self.deployed = deployed
        self.gates = [deployed.folder / "var" / f"{team}-{name}" for name in ("speak", "finish")]
        seed = SEED.format(team)
        self.key = deployed.run("python", "manage.py", "shell", "-v0", "-c", seed).split()[-1]
        script = [
            {"text": "hello"},
            {"until": str(self.gates[0])},
            {"text": "word", "n": seconds * rate, "rate": rate},
            {"until": str(self.gates[1])},
            {"text": "end", "n": rate, "rate": rate},
        ]
        with deployed.client(self.key) as client:
            self.runs = [self._begin(client, script) for _ in range(runs)]

    def _begin(self, client: httpx.Client, script: list[dict[str, Any]]) -> dict[str, Any]:
        body = {"agent": "scripted", "input": {"forwardedProps": {"script": script}}}
        answer = client.post("/api/v1/runs", json=body)
        assert answer.status_code == 202, answer.text
        return dict(answer.json())

    def speak(self) -> None:
        """Let the runs speak for their seconds."""
        self.gates[0].touch()

    def finish(self) -> None:
        """Let the runs end."""
        self.gates[1].touch()

    def stored(self, run: dict[str, Any]) -> tuple[str, list[str]]:
        """How a run stands, and its whole log as the payloads that readers get."""
        with self.deployed.client(self.key) as client:
            url = f"/api/v1/runs/{run['id']}"
            events = client.get(f"{url}/events", headers={"Accept": "text/event-stream"}).text
            lines = [line[6:] for line in events.split("\n") if line.startswith("data: ")]
            return client.get(url).json()["status"], lines
