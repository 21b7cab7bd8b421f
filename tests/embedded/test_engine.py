"""An embedded engine's files are closed to other accounts, and its log holds no values."""

import stat
from pathlib import Path

import psycopg
import pytest

from agui_host.embedded import embedded, paths

FAST = ["fsync=off", "shared_buffers=16MB"]
SECRET = "token-of-one-team"


def open_to_others(folder: Path) -> list[str]:
    """Regular files below ``folder`` that another account can read, if it reaches them."""
    files = [path for path in folder.rglob("*") if stat.S_ISREG(path.lstat().st_mode)]
    assert files
    return [path.name for path in files if path.stat().st_mode & 0o077]


def test_files_are_readable_by_their_owner_only_and_old_ones_are_closed(data_dir: Path) -> None:
    data_dir.mkdir(parents=True, exist_ok=True)
    old = [data_dir / name for name in ("postgres.log", "postgres.lock", "notes.txt")]
    for path in old:
        path.write_text("")
        path.chmod(0o644)
    engines = embedded.start(data_dir, postgres_options=FAST)
    try:
        assert open_to_others(data_dir) == []
        assert (data_dir / "valkey.pid").exists()
    finally:
        engines.stop()
    assert open_to_others(data_dir) == []


def test_the_log_holds_no_failing_statement_and_no_value(data_dir: Path) -> None:
    engines = embedded.start(data_dir, valkey=False, postgres_options=FAST)
    entry = embedded.database(data_dir)
    statements = (
        "select $1::text::int",
        "insert into t values ($1)",
        "select * from missing where name = $1",
    )
    try:
        with psycopg.connect(
            host=entry["HOST"], port=entry["PORT"], user=entry["USER"], dbname=entry["NAME"],
            autocommit=True,
        ) as connection:  # fmt: skip
            connection.execute("create table t (name text unique)")
            connection.execute("insert into t values (%s)", [SECRET])
            for statement in statements:
                with pytest.raises(psycopg.Error):
                    connection.execute(statement.replace("$1", f"'{SECRET}'"))
                with pytest.raises(psycopg.Error):
                    connection.execute(statement.replace("$1", "%s"), [SECRET])
            with pytest.raises(psycopg.OperationalError):
                connection.execute(f"select pg_terminate_backend(pg_backend_pid()), '{SECRET}'")
    finally:
        engines.stop()
    assert SECRET not in (data_dir / "postgres.log").read_text()


def test_the_socket_folder_goes_with_the_last_engine(data_dir: Path) -> None:
    folder = paths.socket_dir(data_dir)
    one = embedded.start(data_dir, postgres=False)
    other = embedded.start(data_dir, valkey=False, postgres_options=FAST)
    one.stop()
    assert folder.is_dir()
    other.stop()
    assert not folder.exists()
