"""A whole host in processes of its own: real engines, granian, worker; and ways to hurt it."""

import json
import os
import signal
import socket
import ssl
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from agui_host.embedded import embedded, supervisor
from tests.acceptance import prepared
from tests.suite import clusters
from tests.suite.warm import client

ROOT = Path(__file__).resolve().parents[2]
KEY = "alice-key-of-the-acceptance-tests-0001"
PASSWORD = "a-password-for-tests"
DEADLINE = 60.0
TLS = ssl.create_default_context()
"""For all clients: reading the certificates takes 0.2 s, which each client would do by itself."""
SEED = f"""
from agui_host.runtimes.demo import ensure_demo
from agui_host.runtimes.models import Agent
from agui_host.teams.models import Team
ensure_demo(api_key={KEY!r}, password={PASSWORD!r})
team = Team.objects.get(slug="demo")
Agent.objects.create(team=team, slug="scripted", name="Scripted")
Agent.objects.create(team=team, slug="strict", name="Strict", target="scripted", policy="fail")
"""

AGENTS = """
from agui_host.runtimes.demo import ensure_demo
ensure_demo()
"""

REWIND = """
from agui_host.backends import epochs
from events.models import Event, Journal
log = Journal.objects.get(pk={run!r})
Event.objects.filter(journal=log, seq__gt={head}).delete()
Journal.objects.filter(pk=log.pk).update(head={head})
epochs.begin()
"""
PATIENT = {"AGUI_WORKER_GRACE": "2", "AGUI_REQUEST_WAIT": "60"}
"""A test that overloads the host sets its own wait; in others, a slow machine refuses nobody."""


class Host:
    """Engines, one web process and one worker under a data directory."""

    def __init__(self, data: Path, *, web_module: str | None = None, **settings: str) -> None:
        self.data, self.settings = data, settings
        self.root = ROOT
        self.key = KEY
        self.login = "demo"
        self.password = PASSWORD
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.env = supervisor.environment(
            AGUI_DATA_DIR=str(data),
            AGUI_SCRIPTED_AGENT="1",
            AGUI_DEMO_API_KEY=KEY,
            PORT=str(self.port),
            **PATIENT | settings,
        )
        for name in ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE"):
            if name not in settings:
                self.env.pop(name, None)
        self.web = supervisor.web(self.port)
        if web_module:
            self.web.command = [*self.web.command[:-1], web_module]
        self.worker = supervisor.worker(2.0)
        self.engines: embedded.Engines | None = None
        self.postgres_options: list[str] = []

    def start(self, *, fsync: bool = False) -> "Host":
        """Start everything; tests stop engines but never the machine, so they need no fsync."""
        options = [*self.postgres_options, *([] if fsync else ["fsync=off"])]
        shared = options == ["fsync=off"] and prepared.is_shared(self.data, self.settings)
        cluster = clusters.of_hosts(SEED)
        copied = shared and cluster.copy_to(self.data)
        has_valkey = "REDIS_URL" not in self.settings
        self.engines = embedded.start(self.data, valkey=has_valkey, postgres_options=options)
        if not copied:
            self.manage("migrate", "-v0")
            self.python(SEED)
        elif prepared.MODULES in self.settings:
            self.python(AGENTS)
        if shared and not copied and prepared.MODULES not in self.settings:
            self.engines.stop_postgres()
            cluster.keep(self.data)
            self.engines.start_postgres()
        self.spawn(self.web)
        self.spawn(self.worker)
        self.wait_ready()
        return self

    def spawn(self, job: supervisor.Job, **settings: str) -> None:
        """Start a job like the supervisor does, with its log in a file (``log_of``)."""
        with self._log(job).open("ab") as log:
            # The name is there so that PostgreSQL can say who asks.
            env = {**self.env, "PGAPPNAME": job.name, **settings}
            job.process = client.spawn(
                job.command, death=job.death, env=env, cwd=self.root, log=log
            )

    def log_of(self, job: supervisor.Job) -> str:
        return self._log(job).read_text(errors="replace")

    def _log(self, job: supervisor.Job) -> Path:
        return self.data / f"{job.name}.log"

    def stop(self) -> None:
        for job in (self.worker, self.web):
            job.stop()
        if self.engines:
            self.engines.stop()

    def manage(self, *args: str) -> str:
        command = [sys.executable, "-m", "agui_project", *args]
        done = client.run(command, cwd=self.root, env=self.env, timeout=300)
        if done.returncode:
            print(done.stderr[-3000:])
        done.check_returncode()
        return done.stdout

    def python(self, code: str) -> str:
        """Run code with the host's settings, in a process of its own; what it prints."""
        return self.manage("shell", "-v0", "-c", code)

    def rewind(self, run_id: str, head: int) -> None:
        """What a restored backup does to a running run: its newest events are gone, its worker too.

        The epoch is another, and the worker that starts then ends the run as lost.
        """
        assert self.worker.process
        self.worker.process.kill()
        self.worker.stop()
        self.python(REWIND.format(run=run_id, head=head))
        self.spawn(self.worker)

    def wait_ready(self) -> None:
        try:
            wait_for(lambda: self.ready().get("status") == "ready", "the host to be ready")
        except AssertionError:
            print(self.log_of(self.web)[-3000:], self.log_of(self.worker)[-3000:], sep="\n---\n")
            raise

    def ready(self) -> dict[str, Any]:
        try:
            return dict(httpx.get(f"{self.url}/ready", timeout=5, verify=TLS).json())
        except (httpx.HTTPError, ValueError):
            return {}

    def restart(self, job: supervisor.Job, *, signal_: int | None = None) -> None:
        """Kill a process (by default politely) and start it again."""
        if signal_ is None:
            job.stop()
        elif job.process:
            job.process.send_signal(signal_)
            job.process.wait(20)
            job.stop()
        self.spawn(job)
        self.wait_ready()

    def heal(self) -> None:
        """Start each process that a test has killed and not started again."""
        for job in (self.web, self.worker):
            if job.process is None or job.process.poll() is not None:
                job.stop()
                self.spawn(job)
        self.wait_ready()

    def freeze(self, job: supervisor.Job) -> None:
        assert job.process
        job.process.send_signal(signal.SIGSTOP)

    def thaw(self, job: supervisor.Job) -> None:
        assert job.process
        job.process.send_signal(signal.SIGCONT)

    # --- speaking to it

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def client(self, key: str | None = None) -> httpx.Client:
        headers = {"Authorization": f"Bearer {key or self.key}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, verify=TLS)

    def begin(
        self, agent: str = "scripted", script: list[Mapping[str, Any]] | None = None, **input: Any
    ) -> dict[str, Any]:
        """Start a run through the API; the run as the API shows it."""
        body = {"agent": agent, "input": input}
        if script is not None:
            body["input"] = {"forwardedProps": {"script": script}, **input}
        with self.client() as client:
            answer = client.post("/api/v1/runs", json=body)
        assert answer.status_code == 202, answer.text
        return dict(answer.json())

    def run(self, run_id: str) -> dict[str, Any]:
        with self.client() as client:
            return dict(client.get(f"/api/v1/runs/{run_id}").json())

    def events(self, run_id: str) -> list[dict[str, Any]]:
        """The whole stored log, by JSON pages."""
        events_so_far: list[dict[str, Any]] = []
        after: int | str = 0
        with self.client() as client:
            while True:
                page = client.get(f"/api/v1/runs/{run_id}/events", params={"after": after}).json()
                events_so_far += page["events"]
                after = page["after"]
                if not page["events"]:
                    return events_so_far

    def wait_status(self, run_id: str, *statuses: str) -> dict[str, Any]:
        try:
            wait_for(lambda: self.run(run_id).get("status") in statuses, f"{run_id}: {statuses}")
        except AssertionError:
            print(self.run(run_id), self.log_of(self.worker)[-3000:], sep="\n---\n")
            raise
        return self.run(run_id)


def sse(lines: Iterator[str]) -> Iterator[tuple[int | None, dict[str, Any]]]:
    """The (id, event) pairs of an SSE body."""
    seq: int | None = None
    for line in lines:
        if line.startswith("id:"):
            seq = int(line.rpartition("-")[2].removeprefix("id:"))
        elif line.startswith("data:"):
            yield seq, json.loads(line[5:])


def wait_for(condition: Any, what: str, seconds: float = DEADLINE) -> None:
    """Poll a fact about another process until it holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def cpu_and_memory(pid: int) -> tuple[float, int]:
    """CPU seconds and resident bytes of a process and its children."""
    pids = [pid, *(int(p) for p in child_pids(pid))]
    seconds, rss = 0.0, 0
    for each in pids:
        try:
            stat = Path(f"/proc/{each}/stat").read_text().rsplit(")", 1)[1].split()
        except FileNotFoundError:
            continue
        seconds += (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
        rss += int(stat[21]) * os.sysconf("SC_PAGE_SIZE")
    return seconds, rss


def child_pids(pid: int) -> list[str]:
    pids: list[str] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            for kid in task.read_text().split():
                pids += [kid, *child_pids(int(kid))]
    return pids
