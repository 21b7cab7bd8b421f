"""The blocks of docs/backup.md that bring a server back to a moment."""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from agui_host.embedded import paths
from tests.acceptance.host import Host, wait_for
from tests.conftest import own_data_dir, remove
from tests.deploy.restore.blocks import blocks, programs, read_from, run, url


@pytest.fixture
def archive() -> Iterator[Path]:
    """A directory that the account of the embedded server writes, which is not root."""
    path = Path(tempfile.mkdtemp(prefix="agui-archive-"))
    path.chmod(0o777)
    yield path
    remove(path)


def test_a_server_goes_back_to_a_moment(
    new_host: Callable[..., Host], archive: Path, tmp_path: Path
) -> None:
    host = new_host()
    keep_log, copy, prepare, begin_epoch = blocks("backup.md", "shell")
    with own_data_dir() as new:
        env = os.environ | {
            "PATH": programs(tmp_path / "bin"), "ARCHIVE": str(archive),
            "BASE": str(base := new / "postgres"), "AGUI_DATA_DIR": str(new),
            "OLD_ADMIN_URL": url(host.data, "postgres", "postgres"),
            "DATABASE_URL": "", "REDIS_URL": "",
        }  # fmt: skip
        run(keep_log, tmp_path, env)
        assert host.engines is not None
        host.engines.stop_postgres()
        host.engines.start_postgres()
        host.wait_ready()
        before = finished(host)
        run(copy, tmp_path, env)
        within = finished(host)
        logs = {run_id: host.events(run_id) for run_id in (before, within)}
        moment = asked(host, "select now()::text")
        after, epoch = finished(host), host.ready()["epoch"]
        written = asked(host, "select pg_walfile_name(pg_switch_wal())")
        archived = "select last_archived_wal from pg_stat_archiver"
        wait_for(lambda: asked(host, archived) >= written, "the last of the log to be archived")
        host.stop()
        run(prepare, tmp_path, env | {"MOMENT": moment})
        if account := paths.account_for(base):  # the reader ran pg_basebackup by it
            paths.give(base, account)
        (new / "secret_key").write_text((host.data / "secret_key").read_text())
        run(begin_epoch, tmp_path, env)
        with read_from(new) as again:
            assert {run_id: again.events(run_id) for run_id in logs} == logs
            assert again.run(after)["error"]["code"] == "not_found"
            assert again.ready()["epoch"] > epoch


def finished(host: Host) -> str:
    """The id of a run that has ended."""
    run_id = str(host.begin(script=[{"text": "a ", "n": 10}])["id"])
    host.wait_status(run_id, "succeeded")
    return run_id


def asked(host: Host, question: str) -> str:
    """What the host's server answers."""
    sockets = str(paths.socket_dir(host.data))
    with psycopg.connect(host=sockets, user="postgres", autocommit=True) as server:
        (answer,) = server.execute(question).fetchone() or ("",)
    return str(answer)
