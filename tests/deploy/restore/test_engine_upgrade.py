"""The blocks of docs/upgrade.md by which an embedded database moves to another engine."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from agui_host.embedded import embedded
from tests import machine_postgres, needs
from tests.acceptance.host import ROOT, Host
from tests.conftest import own_data_dir
from tests.deploy.restore.blocks import agui_host, blocks, programs, read_from, run

DUMP, RESTORE = blocks("upgrade.md", "shell")
OLD_HOST = f"""#!{sys.executable}
import os, sys
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
from agui_host.embedded import paths
from tests import machine_postgres
machine_postgres.install()
paths.postgres_binaries = lambda account: Path(os.environ[machine_postgres.VARIABLE])
from agui_project import cli
cli.main()
"""
"""``agui-host`` of a version whose engine is an older PostgreSQL, with that one's programs."""


def a_run(host: Host) -> str:
    """A run that has ended, and a file; its id."""
    run_id: str = host.begin(script=[{"text": "a ", "n": 10}])["id"]
    host.wait_status(run_id, "succeeded")
    files = host.data / "files"
    files.mkdir(exist_ok=True)
    (files / "kept").write_text("a file")
    return run_id


def environment(old: Path, new: Path, path: str) -> Mapping[str, str]:
    return os.environ | {
        "PATH": path, "AGUI_DATA_DIR": str(old), "NEW_DATA_DIR": str(new), "DATABASE_URL": "",
        "REDIS_URL": "",
    }  # fmt: skip


def major(data: Path) -> int:
    return int((data / "postgres" / "PG_VERSION").read_text())


def test_an_embedded_database_moves(new_host: Callable[..., Host], tmp_path: Path) -> None:
    """To the same engine, into another directory."""
    host = new_host()
    run_id = a_run(host)
    events, epoch = host.events(run_id), host.ready()["epoch"]
    host.stop()
    with own_data_dir() as new:
        env = environment(host.data, new, programs(tmp_path / "bin"))
        run(DUMP, tmp_path, env)
        run(RESTORE, tmp_path, env)
        assert (new / "files" / "kept").read_text() == "a file"
        assert (new / "secret_key").read_text() == (host.data / "secret_key").read_text()
        with read_from(new) as again:
            assert again.events(run_id) == events
            assert again.ready()["epoch"] > epoch


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_database_of_an_older_engine_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From Debian's PostgreSQL to the wheel's, whose start refuses the old directory."""
    older = needs.need("postgres").parent
    with own_data_dir() as old, own_data_dir() as new:
        with monkeypatch.context() as patch:
            patch.setattr(embedded, "Postgres", machine_postgres.engine(older))
            host = Host(old)
            host.postgres_options = ["log_min_messages=warning"]  # not a copy of the tests' cluster
            try:
                host.start()
                run_id = a_run(host)
                events, epoch = host.events(run_id), host.ready()["epoch"]
            finally:
                host.stop()
        before = major(old)
        path = programs(tmp_path / "bin")
        env = environment(old, new, path)
        start = ["agui-host", "with-postgres", "psql", "-c", "select 1"]
        refused = subprocess.run(
            start, env=env, capture_output=True, text=True, timeout=120, check=False
        )
        assert refused.returncode != 0
        assert f"was made by PostgreSQL {before}, and this host brings" in refused.stderr
        assert "docs/upgrade.md#the-embedded-postgresql" in refused.stderr

        program = agui_host(tmp_path / "old")
        program.write_text(OLD_HOST)
        old_path = f"{program.parent}:{os.environ['PATH']}"
        run(DUMP, tmp_path, {**env, "PATH": old_path, machine_postgres.VARIABLE: str(older)})
        run(RESTORE, tmp_path, env)
        assert (major(old), major(new) > before) == (before, True), "the old one is as it was"
        with read_from(new) as again:
            assert again.events(run_id) == events
            assert again.ready()["epoch"] > epoch
