"""The durable peers: how each is installed, started and asked, all on the host's engines."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psycopg

from agui_host.embedded import child, embedded
from benchmarks.peers.servers import Server
from tests.acceptance.host import free_port, wait_for
from tests.clients.environments import environment

PEERS = Path(__file__).parent / "peers"


@dataclass(frozen=True)
class Peer:
    """A durable peer: ``command`` follows its interpreter; ``health`` answers once it is up."""

    name: str
    package: str
    lock: str
    command: tuple[str, ...]
    health: str
    stores: str
    python: str = "3.11"
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """What the lock pins."""
        text = (PEERS / f"{self.lock}.lock").read_text()
        match = re.search(rf"^{re.escape(self.package)}==(\S+)", text, re.MULTILINE)
        assert match, self.package
        return match[1]

    @property
    def install_lines(self) -> list[str]:
        """How to install it by hand, in the order of the lines."""
        place, lock = f".venv/peers/{self.lock}", f"benchmarks/durable/peers/{self.lock}.lock"
        return [
            f"python{self.python} -m venv {place}",
            f"{place}/bin/pip install --require-hashes -r {lock}",
        ]


AGENTSERVER = Peer(
    "AgentServer", "azure-ai-agentserver-responses", "agentserver",
    ("agentserver_app.py", "{port}"), "/readiness",
    "its own files, fsync for each event of a stream",
)  # fmt: skip
DBOS = Peer(
    "DBOS", "dbos", "dbos", ("dbos_app.py", "{port}"), "/health",
    "PostgreSQL, a commit for each delta",
)  # fmt: skip
AGNO = Peer(
    "Agno", "agno", "agno", ("agno_app.py", "{port}"), "/health",
    "PostgreSQL: the job and, at the end, the run; Valkey: its events",
    settings={"AGNO_TELEMETRY": "false"},
)  # fmt: skip
AEGRA = Peer(
    "Aegra", "aegra-api", "aegra",
    ("-m", "uvicorn", "aegra_api.main:app", "--port", "{port}", "--log-level", "warning"),
    "/health", "PostgreSQL: run and checkpoints; Valkey: its events",
    python="3.12",
    settings={
        "AEGRA_CONFIG": str(PEERS / "aegra.json"), "REDIS_BROKER_ENABLED": "true",
        "LOG_LEVEL": "ERROR", "ENV_MODE": "PRODUCTION", "WORKER_COUNT": "1",
        "N_JOBS_PER_WORKER": "100", "PYTHONPATH": str(PEERS),
    },
)  # fmt: skip
ALL = (AGENTSERVER, DBOS, AGNO, AEGRA)


class NotInstalled(Exception):
    """Why a peer is not in the table."""


def installed(peer: Peer) -> Path:
    """The interpreter that has the peer."""
    python = interpreter(peer.python)
    if python is None:
        raise NotInstalled(f"{peer.name} needs Python {peer.python}, which is not here")
    print(f"{peer.name} {peer.version}:", *peer.install_lines, sep="\n  ", flush=True)
    try:
        return environment(peer.lock, PEERS / f"{peer.lock}.lock", python) / "python"
    except subprocess.CalledProcessError as error:
        raise NotInstalled(f"{peer.name} cannot be installed: {error.stderr[-300:]}") from error


def interpreter(version: str) -> str | None:
    """A Python of at least this version: our own, or the first elsewhere that starts."""
    if sys.version_info[:2] >= tuple(map(int, version.split("."))):
        return sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    elsewhere = [shutil.which(f"python{version}"), *pyenv.glob(f"{version}*/bin/python")]
    for path in filter(None, map(str, filter(None, elsewhere))):
        done = subprocess.run([path, "-c", ""], capture_output=True, check=False)
        if done.returncode == 0:
            return path
    return None


class Running:
    """A peer's one process, which can be killed and started again on its data."""

    def __init__(self, peer: Peer, data: Path, folder: Path, **settings: str) -> None:
        self.peer, self.folder = peer, folder
        self.server = Server(peer.name, free_port())
        self.python = installed(peer)
        self.log = folder / f"{peer.lock}.log"
        at = embedded.database(data)
        database = f"durable_{peer.lock}"
        _make_database(at, database)
        # Aegra names the driver itself and hands the rest to two of them.
        driver = "" if peer is AEGRA else "+psycopg"
        url = f"postgresql{driver}://{at['USER']}@/{database}?host={at['HOST']}&port={at['PORT']}"
        state = folder / f"{peer.lock}-state"
        self.env = {
            **os.environ, "DATABASE_URL": url, "REDIS_URL": embedded.valkey_url(data),
            "AGENTSERVER_STATE_ROOT": str(state), "PYTHONUNBUFFERED": "1",
            "OTEL_SDK_DISABLED": "true", **peer.settings, **settings,
        }  # fmt: skip
        self.env.pop("DJANGO_SETTINGS_MODULE", None)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Running":
        """Start it and wait until it answers."""
        port = self.server.port
        command = [part.format(port=port) for part in self.peer.command]
        with self.log.open("ab") as log:
            self.process = child.spawn(
                [str(self.python), *command], death=signal.SIGKILL, env=self.env, cwd=PEERS, log=log
            )
        try:
            wait_for(self._answers, f"{self.peer.name} to answer", 90)
        except AssertionError:
            print(self.log.read_text(errors="replace")[-4000:])
            self.stop()
            raise
        return self

    def kill(self) -> None:
        """SIGKILL, to the only process that it has."""
        assert self.process
        self.process.kill()
        self.process.wait(10)

    def stop(self) -> None:
        """Politely, then by force."""
        if self.process and self.process.poll() is None:
            child.stop(self.process, (signal.SIGTERM, 5.0), (signal.SIGKILL, 10.0))

    def _answers(self) -> bool:
        assert self.process
        assert self.process.poll() is None, f"it ended with {self.process.returncode}"
        try:
            url = f"{self.server.url}{self.peer.health}"
            return httpx.get(url, timeout=5).is_success
        except httpx.HTTPError:
            return False


@contextmanager
def running(peer: Peer, data: Path, folder: Path, **settings: str) -> Iterator[Running]:
    """The peer on the engines of ``data``."""
    process = Running(peer, data, folder, **settings)
    try:
        yield process.start()
    finally:
        process.stop()


def _make_database(at: dict[str, str], name: str) -> None:
    address = {"host": at["HOST"], "port": at["PORT"], "user": at["USER"], "dbname": at["NAME"]}
    with psycopg.connect(**address, autocommit=True) as link:  # type: ignore[arg-type]
        rows = link.execute("select 1 from pg_database where datname = %s", [name]).fetchall()
        if not rows:
            link.execute(f'create database "{name}"'.encode())
