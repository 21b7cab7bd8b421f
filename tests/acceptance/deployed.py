"""The shipped deployment played by hand: no container engine, but everything else that it says.

The tree that the image holds, owned by root; its steps; processes of account 10001 with the
environment of docker-compose.yml and nothing more; two webs and two workers behind the shipped
nginx with TLS, PostgreSQL and Redis over TLS with a password full of special characters.
"""

import os
import re
import shlex
import shutil
import signal
import ssl
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from psycopg import sql

from agui_host.embedded import child, embedded, paths
from tests import machine_postgres, needs
from tests.acceptance.host import ROOT, free_port, wait_for
from tests.backends.test_tls_engines import Authority, redis_server
from tests.deploy.compose_files import DOCKERFILE, compose, environment_of, example

ACCOUNT = (10001, 10001)
NAME = "engines.test"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
"""As the image's build argument names it."""
COMPILE = re.compile(r"^RUN python (-m compileall .*)$", re.MULTILINE)
COLLECT = re.compile(r"RUN SECRET_KEY=(\S+) \\\n\s+python (manage\.py .*)$", re.MULTILINE)
FAULT = re.compile(r"^fault  (\S+(?: \S+)*?)  ", re.MULTILINE)
"""A line of the doctor's report, with its subject."""
UNMOUNTED = "no mount"
AS_ACCOUNT = f"""
mount --bind "$1" /etc/hosts || {{ echo {UNMOUNTED} >&2; exit 3; }}
shift
exec setpriv --reuid={ACCOUNT[0]} --regid={ACCOUNT[1]} --clear-groups -- "$@"
"""
WEBS, WORKERS = ("web-1", "web-2"), ("worker-1", "worker-2")
NGINX = """
daemon off; pid nginx.pid; error_log stderr;
events {{}}
http {{
  access_log off;
  client_body_temp_path {0}/body; proxy_temp_path {0}/proxy; fastcgi_temp_path {0}/fastcgi;
  uwsgi_temp_path {0}/uwsgi; scgi_temp_path {0}/scgi;
  include agui.conf; include upstream.conf;
}}
"""


def reachable_python(folder: Path) -> Path:
    """The folder of a `python` that the account can run, with the packages of this one."""
    account, here = paths.Account(*ACCOUNT), Path(sys.prefix).resolve() / "bin"
    if paths._can_run(here / "python", account):
        return here
    # Python is in a home directory: the account gets a copy of the interpreter, with its compiled
    # modules, which the account may not write: each of twenty processes would compile them again.
    stdlib, base = Path(sysconfig.get_path("stdlib")), Path(sys.base_prefix)
    unneeded = shutil.ignore_patterns("test", "tests", "site-packages", "config-*")
    copy = folder / "python"
    shutil.copytree(stdlib, copy / stdlib.relative_to(base), symlinks=True, ignore=unneeded)
    for library in (base / "lib").glob("libpython*"):
        shutil.copy(library, copy / "lib")
    (copy / "bin").mkdir()
    shutil.copy(sys._base_executable, copy / "bin" / f"python3.{sys.version_info[1]}")
    python = copy / "bin" / f"python3.{sys.version_info[1]}"
    subprocess.run(
        [python, "-m", "venv", "--without-pip", "--symlinks", folder / "venv"], check=True
    )
    packages = sysconfig.get_path("purelib")
    links = folder / "venv" / Path(packages).relative_to(sys.prefix) / "packages.pth"
    links.write_text(f"{Path(packages).resolve()}\n")
    programs = folder / "venv" / "bin"
    if not paths._can_run(programs / "python", account):
        needs.missing("needs a Python that another account can reach")
    return programs


class Deployed:
    """One server's worth of processes, each with its log in a file."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.app = folder, folder / "app"
        self.authority = Authority(folder, "deployment", "127.0.0.1")
        self.port = free_port()
        self.url = f"https://{NAME}:{self.port}"
        self.ports = {name: free_port() for name in WEBS}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.extra: dict[str, str] = {}  # what the starter of a process adds to its environment
        self.file = {**example(), "AGUI_PUBLIC_URL": self.url, "EMAIL_URL": "consolemail://"}
        self.file |= {"AGUI_SCRIPTED_AGENT": "true", "AGUI_COMMIT": COMMIT}

    def build(self) -> None:
        """The image's steps, as root."""
        self.programs = reachable_python(self.folder)
        self.app.mkdir(mode=0o755)
        for line in (ROOT / ".dockerignore").read_text().splitlines():
            if line.startswith("!"):
                source, target = ROOT / line[1:], self.app / line[1:]
                target.parent.mkdir(parents=True, exist_ok=True)
                if source.is_dir():
                    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(source, target)
        compiling, match = COMPILE.search(DOCKERFILE), COLLECT.search(DOCKERFILE)
        assert compiling
        assert match
        command = [sys.executable, *shlex.split(compiling[1])]
        subprocess.run(command, cwd=self.app, check=True, timeout=120)
        env = {"PATH": os.environ["PATH"], "SECRET_KEY": match[1], "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, *shlex.split(match[2])]
        before = self.files()
        subprocess.run(command, cwd=self.app, env=env, check=True, timeout=120)
        made = self.files() - before
        assert made
        assert all(path.startswith("staticfiles/") for path in made), "it writes nothing else"
        (self.folder / "var").mkdir(mode=0o711)
        os.chown(self.folder / "var", *ACCOUNT)

    def files(self) -> set[str]:
        return {str(p.relative_to(self.app)) for p in self.app.rglob("*") if p.is_file()}

    @contextmanager
    def engines(self) -> Iterator[None]:
        """PostgreSQL and Redis as another machine's: only by TLS, and with a password."""
        authority, data = self.authority, self.folder / "engines"
        paths.make(data)
        address = f"127.2.{self.port >> 8}.{self.port & 255}"
        if account := paths.account_for(data / "postgres"):
            os.chown(authority.key, *account.ids)
        rules = self.folder / "pg_hba.conf"
        rules.write_text("local all all trust\nhostssl agui all 127.0.0.0/8 scram-sha-256\n")
        rules.chmod(0o644)
        options = [
            f"listen_addresses={address}", "ssl=on", f"ssl_cert_file={authority.certificate}",
            f"ssl_key_file={authority.key}", f"hba_file={rules}", "fsync=off",
        ]  # fmt: skip
        with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
            patch.setattr(embedded, "Postgres", machine_postgres.with_tls())
            engines = embedded.start(data, valkey=False, postgres_options=options)
            stack.callback(engines.stop)
            self._create_database(paths.socket_dir(data))
            port = stack.enter_context(redis_server(self.folder, authority))
            self.file["DATABASE_URL"] = (
                f"postgres://{NAME}:5432/agui?hostaddr={address}"
                f"&sslmode=verify-full&sslrootcert={authority.ca}"
            )
            self.file["REDIS_URL"] = f"rediss://127.0.0.1:{port}?ssl_ca_certs={authority.ca}"
            yield

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a statement of PostgreSQL's superuser."""
        sockets = paths.socket_dir(self.folder / "engines")
        with psycopg.connect(host=str(sockets), user="postgres", dbname="agui") as link:
            return link.execute(statement.encode()).fetchall()

    def _create_database(self, sockets: Path) -> None:
        with psycopg.connect(host=str(sockets), user="postgres", autocommit=True) as link:
            password = sql.Literal(self.file["POSTGRES_PASSWORD"])
            link.execute(sql.SQL("create role agui login createrole password {}").format(password))
            link.execute("create database agui owner agui")

    def environment(self, service: str) -> dict[str, str]:
        """A container's environment, with this folder in the place of the volume."""
        env = environment_of(service, self.file)
        data = str(self.folder / "var")
        env = {name: value.replace("/var/lib/agui", data) for name, value in env.items()}
        libraries = self.folder / "python" / "lib"
        return env | {"PATH": f"{self.programs}:/usr/bin:/bin", "LD_LIBRARY_PATH": str(libraries)}

    def command(self, name: str) -> list[str]:
        service = compose(self.file)["services"][name.partition("-")[0]]
        instruction = re.search(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)
        assert instruction
        command = list(service.get("command") or re.findall(r'"([^"]*)"', instruction[1]))
        port = ["--port", str(self.ports[name])] if name in self.ports else []
        return [*command, *port]

    def run(self, *command: str, service: str = "web") -> str:
        """`docker compose exec web …`: a command of the account, to its end."""
        done = subprocess.run(
            command, cwd=self.app, env=self.environment(service), capture_output=True, text=True,
            timeout=180, user=ACCOUNT[0], group=ACCOUNT[1], extra_groups=[], check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def examine(self, *command: str) -> tuple[str, int]:
        """`docker compose exec web … doctor`, where DNS has the name; its report and exit code.

        The certificate is of an authority that the container trusts, as of a public one.
        """
        hosts = self.folder / "hosts"
        hosts.write_text(f"127.0.0.1 localhost {NAME}\n")
        hosts.chmod(0o644)
        inside = ["unshare", "--mount", "/bin/sh", "-euc", AS_ACCOUNT, "sh", str(hosts)]
        env = self.environment("web") | {"SSL_CERT_FILE": str(self.authority.ca)}
        done = subprocess.run(
            [*inside, *command], cwd=self.app, env=env, capture_output=True, text=True,
            timeout=180, check=False,
        )  # fmt: skip
        if UNMOUNTED in done.stderr:
            needs.missing(f"needs mounts: {done.stderr[-300:]}")
        return done.stdout, done.returncode

    def start(self, name: str) -> None:
        env = self.environment(name.partition("-")[0]) | self.extra
        with self.log_path(name).open("ab") as log:
            self.processes[name] = child.spawn(
                self.command(name), death=signal.SIGINT, user=ACCOUNT, env=env, cwd=self.app,
                log=log,
            )  # fmt: skip

    def start_proxy(self) -> None:
        nginx, folder = needs.need("nginx"), self.folder / "nginx"
        shipped = ROOT / "deploy" / "nginx"
        if not folder.exists():
            (folder / "tls").mkdir(parents=True)
            shutil.copy(self.authority.certificate, folder / "tls" / "fullchain.pem")
            shutil.copy(self.authority.key, folder / "tls" / "privkey.pem")
            (folder / "nginx.conf").write_text(NGINX.format(folder))
            conf = (
                (shipped / "agui.conf").read_text().replace("8443 ssl;", f"{self.port} ssl http2;")
            )
            (folder / "agui.conf").write_text(conf.replace("8080", str(free_port())))
            upstream = (shipped / "upstream-systemd.conf").read_text()
            for old, new in zip(("8001", "8002"), self.ports.values(), strict=True):
                upstream = upstream.replace(f":{old} ", f":{new} ")
            (folder / "upstream.conf").write_text(upstream)
            subprocess.run(
                [nginx, "-t", "-q", "-p", folder, "-c", "nginx.conf"], check=True, timeout=30
            )
        command = [str(nginx), "-p", str(folder), "-c", "nginx.conf"]
        with self.log_path("proxy").open("ab") as log:
            self.processes["proxy"] = child.spawn(
                command, death=signal.SIGTERM, cwd=folder, log=log
            )

    def wait_ready(self, *, workers: int = 2) -> None:
        def ready() -> bool:
            with self.client() as client:
                try:
                    answer = client.get("/ready").json()
                except (httpx.HTTPError, ValueError):
                    return False
            return bool(answer["status"] == "ready" and answer["workers"] == workers)

        try:
            wait_for(ready, "the deployment to be ready", 120)
        except AssertionError:
            print(*(self.log(name)[-1500:] for name in self.processes), sep="\n---\n")
            raise

    def client(self, key: str = "", **options: Any) -> httpx.Client:
        """A client that checks the certificate."""
        headers = {"Host": f"{NAME}:{self.port}", "Authorization": f"Bearer {key}"}
        trust = ssl.create_default_context(cafile=str(self.authority.ca))
        return httpx.Client(
            base_url=f"https://127.0.0.1:{self.port}", verify=trust, timeout=60,
            headers=headers if key else {"Host": headers["Host"]}, **options,
        )  # fmt: skip

    def log_path(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def log(self, name: str) -> str:
        return self.log_path(name).read_text(errors="replace")

    def stop(self) -> None:
        for name, process in self.processes.items():
            quick = signal.SIGINT if name.startswith("worker") else signal.SIGTERM
            child.stop(process, (quick, 15.0), (signal.SIGKILL, 5.0))


def mailed(deployed: Deployed, address: str, what: re.Pattern[str]) -> str:
    """What the newest mail to an address says, whichever web process sent it."""

    def matches() -> list[str]:
        mails = "\n".join(map(deployed.log, WEBS)).split("Content-Type: text/plain")
        mine = [mail for mail in mails if f"To: {address}" in mail]
        return what.findall(mine[-1]) if mine else []

    wait_for(matches, f"a mail to {address}")
    return matches()[-1]


def owned_by_account(folder: Path) -> list[str]:
    """What the account may have written where it must not."""
    return [str(p) for p in folder.rglob("*") if p.lstat().st_uid == ACCOUNT[0]]
