"""A database that cannot be had is named in one line, with what to do, by whatever starts."""

import importlib.util
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured

from agui_host import folders
from agui_host.backends import bell, valkey
from agui_host.backends.postgres import address, reach
from agui_host.embedded import child, embedded, paths
from agui_host.embedded.management.commands import up
from agui_project import checks, startup
from tests.acceptance.host import Host
from tests.house.repository import ROOT

SECRET = "s3cr3t-that-nobody-may-read"
NOBODY = "postgres://ann@127.0.0.1:1/app"
REFUSED = "DATABASE_URL: PostgreSQL at 127.0.0.1:1: the connection is refused; check that "


@pytest.fixture
def refusal(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Callable[[str], str]:
    """What a start says of an address."""

    def ask(url: str) -> str:
        options = address.database(url)
        parameters = {
            "host": options["HOST"], "port": options["PORT"], "user": options["USER"],
            "password": options["PASSWORD"], "dbname": options["NAME"], **options["OPTIONS"],
        }  # fmt: skip
        parameters = {name: value for name, value in parameters.items() if value}
        settings.AGUI_EMBEDDED = {"postgres": False, "valkey": False}
        monkeypatch.setattr(reach, "connector_params", lambda: parameters)
        with pytest.raises(ImproperlyConfigured) as raised:
            reach.reach()
        message = str(raised.value)
        assert message.startswith("DATABASE_URL: PostgreSQL at ")
        assert "\n" not in message
        assert SECRET not in message
        return message

    return ask


def test_an_address_where_nobody_is(refusal: Callable[[str], str], tmp_path: Path) -> None:
    assert refusal(NOBODY).startswith(REFUSED)
    assert "nowhere.invalid:5432: the name cannot be resolved" in refusal(
        f"postgres://ann:{SECRET}@nowhere.invalid/app"
    )
    assert "no server listens on that socket" in refusal(f"postgres:///app?host={tmp_path}")


def test_a_server_that_does_not_answer(refusal: Callable[[str], str]) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        began = time.monotonic()
        assert f"127.0.0.1:{port}: nothing answers" in refusal(f"postgres://ann@127.0.0.1:{port}/a")
        assert time.monotonic() - began >= reach.SECONDS_PER_HOST - 0.5


def test_a_resolver_that_hangs(
    refusal: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lookups: list[bool] = []
    ended = threading.Event()

    def connect(**parameters: Any) -> None:
        lookups.append(True)
        ended.wait(30)
        raise psycopg.OperationalError("too late")

    monkeypatch.setattr(reach, "SECONDS_PER_HOST", 0.2)
    monkeypatch.setattr(reach.Connection, "connect", connect)
    assert "db.example:5432: nothing answers" in refusal("postgres://ann@db.example/app")
    assert lookups == [True]
    ended.set()


@pytest.fixture
def with_passwords(data_dir: Path) -> Iterator[str]:
    """A server that asks for passwords; its socket's directory, quoted."""
    engines = embedded.start(data_dir, valkey=False, postgres_options=["fsync=off"])
    try:
        rules = (data_dir / "postgres").resolve() / "pg_hba.conf"
        rules.write_text("local all postgres scram-sha-256\nlocal all ann trust\n")
        assert engines.postgres is not None
        engines.postgres.send_signal(signal.SIGHUP)
        yield str(paths.socket_dir(data_dir))
    finally:
        engines.stop()


def test_a_server_that_does_not_want_us(refusal: Callable[[str], str], with_passwords: str) -> None:
    def of(user: str, database: str = "postgres") -> str:
        return refusal(f"postgres://{user}@/{database}?host={with_passwords}")

    # The rules are read a moment after the signal.
    wrong = "rejects user postgres or the password; check both"
    assert child.wait_until(lambda: "postgres" in of("postgres:" + SECRET, "none"), 30)
    assert child.wait_until(lambda: wrong in of("postgres:" + SECRET, "none"), 30)
    assert wrong in of("postgres")
    assert "there is no user ann" in of("ann")
    assert "does not accept user bob from this machine" in of("bob")


def test_a_database_that_does_not_exist(refusal: Callable[[str], str]) -> None:
    options = embedded.database(django_settings.AGUI_DATA_DIR)
    message = refusal(f"postgres://{options['USER']}@/nothere?host={options['HOST']}")
    assert "there is no database nothere; create it (createdb nothere)" in message


def test_the_version_and_the_place_of_a_server_that_answers(monkeypatch: Any) -> None:
    assert reach.reach().endswith(" at embedded")
    monkeypatch.setattr(reach, "OLDEST", 990_000)
    with pytest.raises(ImproperlyConfigured, match="needs 15 or newer"):
        reach.reach()


STARTS = {
    "up": ("up", "--port", "0"),
    "worker": ("run_worker",),
    "web": ("supervise", "web", "--port", "0"),
    "migrate": ("migrate",),
    "create-key": ("create_key", "demo", "laptop"),
}


def start(*command: str, **env: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "manage.py", *command], cwd=ROOT, env=os.environ | env,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("command", STARTS)
def test_every_start_names_it_in_one_line(command: str, tmp_path: Path) -> None:
    env = {"AGUI_DATA_DIR": str(tmp_path), "DATABASE_URL": NOBODY, "REDIS_URL": "redis://c"}
    done = start(*STARTS[command], **env)
    assert done.returncode == 1
    assert done.stderr.startswith(REFUSED)
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stdout == ""


@pytest.mark.slow
def test_a_web_process_alone_names_the_engines_that_do_not_run(tmp_path: Path) -> None:
    env = {"AGUI_DATA_DIR": str(tmp_path), "DATABASE_URL": "", "REDIS_URL": ""}
    done = start("supervise", "web", "--port", "0", **env)
    assert done.returncode == 1
    assert done.stderr.startswith("DATABASE_URL is not set, and no PostgreSQL of AGUI_DATA_DIR=")
    assert len(done.stderr.splitlines()) == 1, done.stderr


def test_engines_that_are_not_installed_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(embedded.EngineFailed, match="not installed: in a clone of the host"):
        embedded.start(tmp_path, postgres=False)


@pytest.mark.slow
def test_web_and_worker_log_what_they_run_with(host: Host) -> None:
    slots = f"request_slots={django_settings.AGUI_REQUEST_SLOTS}"
    for job, share in ((host.web, slots), (host.worker, "concurrency=200")):
        log = host.log_of(job)
        (line,) = [line for line in log.splitlines() if f"{job.name}.started" in line]
        assert re.search(r"version='?\d+\.\d+\.\d+", line), line
        assert re.search(r"database='1\d\.\d+ at embedded'", line), line
        assert "docs" in line, "its agents"
        assert share in line


@pytest.mark.parametrize(
    ("user", "environment", "changed", "left"),
    [
        ("ann", {}, {}, True),
        ("", {"PGUSER": "ann"}, {}, True),
        ("", {}, {}, True),  # the account that this process runs as
        ("agui_app", {}, {}, False),
        ("", {"PGUSER": "agui_app"}, {}, False),
        ("ann", {}, {"AGUI_DATABASE_APP_PASSWORD": "pw"}, False),
        ("ann", {}, {"AGUI_DATABASE_ROLES": False}, False),
        ("ann", {}, {"AGUI_EMBEDDED": {"postgres": True}}, False),
    ],
)
def test_a_role_that_web_and_worker_could_leave_is_named(
    user: str, environment: dict[str, str], changed: dict[str, Any], left: bool,
    settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """By the line of each start, and by the check for deployments if the address has the user."""
    monkeypatch.delenv("PGUSER", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(startup, "reach", lambda: "18.4 at db.example:5432")
    monkeypatch.setattr(startup.pooler, "check", lambda: None)
    for name, value in {"USER": user, "NAME": "agui"}.items():
        monkeypatch.setitem(django_settings.DATABASES["default"], name, value)
    settings.AGUI_EMBEDDED, settings.AGUI_DATABASE_ROLES = {"postgres": False}, True
    for name, value in changed.items():
        setattr(settings, name, value)
    startup.announce("web", [])
    assert ("database.role_can_be_left" in caplog.text) is left
    named = bool(user or environment)
    assert [each.id for each in checks.database_login()] == ["agui.W005"] * (left and named)


def test_a_valkey_that_is_away_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    assert not valkey.reach("redis://:pw@127.0.0.1:1/0")
    assert valkey.place("redis://:pw@127.0.0.1/0") == "127.0.0.1:6379"
    assert "'at': '127.0.0.1:1'" in caplog.text


# At the interpreter's exit the reaper may still ring.
EXITING = """
import atexit, os, sys
import django
django.setup()
from agui_host.backends import bell
atexit.register(lambda: print(bell.ring_now([("g", {"type": "x"})]), bell.reachable()))
"""


def test_a_bell_at_the_interpreters_exit_raises_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", EXITING], cwd=ROOT, capture_output=True, text=True, timeout=120,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "agui_project.settings"},
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("False False\n", "")


async def test_ringing_on_a_running_loop_is_still_an_error() -> None:
    with pytest.raises(RuntimeError):
        bell.ring_now([])


def test_reload_watches_no_other_packages(monkeypatch: Any, settings: Any, tmp_path: Path) -> None:
    (tmp_path / "one_agent.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    settings.AGUI_AGENT_MODULES = ["one_agent"]
    assert up.watched().roots == [ROOT, tmp_path / "one_agent.py"]
    monkeypatch.setattr(folders, "INSTALLED", True)
    assert up.watched().roots == [tmp_path / "one_agent.py"]
