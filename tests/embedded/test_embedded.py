"""The embedded engines: real servers, started beside those of the test run."""

import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
import redis

from agui_host.embedded import child, embedded, engine, paths
from tests.needs import need_root

FAST = ["fsync=off", "shared_buffers=16MB"]
ROOT = Path(__file__).resolve().parents[2]

# Starts the engines of argv[1], says so, and lives until it is killed.
HOLDER = """
import sys, time
from pathlib import Path
from agui_host.embedded import embedded
e = embedded.start(Path(sys.argv[1]), postgres_options=["fsync=off"])
print(e.postgres.pid, e.valkey.pid, flush=True)
time.sleep(600)
"""


@contextmanager
def running(data: Path, **options: bool) -> Iterator[embedded.Engines]:
    handle = embedded.start(data, **options, postgres_options=FAST)
    try:
        yield handle
    finally:
        handle.stop()


@contextmanager
def holder(data: Path) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """Another process that runs the engines; yields it and the pids of its engines."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(data)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process, [int(pid) for pid in process.stdout.readline().split()]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def query(data: Path, sql: str) -> object:
    entry = embedded.database(data)
    with psycopg.connect(
        host=entry["HOST"], port=entry["PORT"], user=entry["USER"], dbname=entry["NAME"],
        autocommit=True,
    ) as connection:  # fmt: skip
        cursor = connection.execute(sql)
        return cursor.fetchone()[0] if cursor.description else None  # type: ignore[index]


def ping(data: Path) -> bool:
    client = redis.Redis.from_url(embedded.valkey_url(data))
    try:
        return bool(client.ping())
    finally:
        client.close()


def test_both_engines_answer_keep_data_and_leave_nothing_behind(data_dir: Path) -> None:
    with running(data_dir) as first:
        assert str(query(data_dir, "show server_version")).startswith("18.")
        assert query(data_dir, "show server_encoding") == "UTF8"
        assert query(data_dir, "select lower('ÄÖ')") == "äö"
        assert query(data_dir, "show listen_addresses") == ""
        query(data_dir, "create table kept as select 42 as answer")
        assert ping(data_dir)
        pids = [first.postgres.pid, first.valkey.pid]  # type: ignore[union-attr]
    assert not any(child.alive(pid) for pid in pids)
    with running(data_dir):
        assert query(data_dir, "select answer from kept") == 42


def test_only_what_is_wanted_is_started(data_dir: Path) -> None:
    with running(data_dir, postgres=False) as handle:
        assert handle.postgres is None
        assert ping(data_dir)
    assert not (data_dir / "postgres").exists()


def test_the_socket_directory_is_short_and_closed_to_others() -> None:
    long = Path("/" + "d" * 60 + "/" + "e" * 60 + "/" + "f" * 66)
    assert len(str(long)) > 188
    assert len(str(paths.socket_dir(long) / ".s.PGSQL.5432")) < 104


def test_a_data_directory_of_190_characters(data_dir: Path) -> None:
    data = data_dir / ("x" * (189 - len(str(data_dir))))
    with running(data):
        assert query(data, "select 1") == 1
        assert ping(data)
        mode = paths.socket_dir(data).stat().st_mode
        assert stat.S_IMODE(mode) == 0o700


def test_the_engines_die_with_a_killed_holder_and_start_again(data_dir: Path) -> None:
    with holder(data_dir) as (process, pids):
        query(data_dir, "create table kept as select 42 as answer")
        # The old server is slow to go: it is asleep for a while when its holder dies.
        os.kill(pids[0], signal.SIGSTOP)
        threading.Timer(0.5, os.kill, (pids[0], signal.SIGCONT)).start()
        process.kill()
        process.wait()
        with running(data_dir):
            assert not any(child.alive(pid) for pid in pids)
            assert query(data_dir, "select answer from kept") == 42
            assert ping(data_dir)


def test_a_killed_postmaster_leaves_backends_that_are_waited_for(data_dir: Path) -> None:
    with running(data_dir) as handle:
        query(data_dir, "create table kept as select 42 as answer")
        assert handle.postgres is not None
        handle.postgres.kill()
        handle.postgres.wait()
        news: list[str] = []
        revived = "postgres had stopped; started it again"
        assert child.wait_until(lambda: bool(news.extend(handle.revive()) or revived in news), 60)
        assert query(data_dir, "select answer from kept") == 42
        assert handle.revive() == []


@contextmanager
def stranger(data: Path) -> Iterator[int]:
    """A process of PostgreSQL's user that got the number of the old server, and must survive."""
    account = paths.account_for(data / "postgres")
    ids = {"user": account.uid, "group": account.gid, "extra_groups": []} if account else {}
    with subprocess.Popen(["sleep", "600"], cwd="/", **ids) as process:  # type: ignore[call-overload]
        try:
            yield process.pid
            assert process.poll() is None
        finally:
            process.kill()


@pytest.mark.parametrize("content", ["", "12", "garbage\n", "{pid}\n{cluster}\n1\n5432\n"])
def test_a_stale_pid_file_stops_nobody_and_nothing(data_dir: Path, content: str) -> None:
    with running(data_dir, valkey=False):
        pass
    cluster = (data_dir / "postgres").resolve()
    with stranger(data_dir) as pid:
        (cluster / "postmaster.pid").write_text(content.format(pid=pid, cluster=cluster))
        with running(data_dir, valkey=False):
            assert query(data_dir, "select 1") == 1


def test_stale_sockets_are_replaced(data_dir: Path) -> None:
    with running(data_dir):
        pass
    sockets = paths.socket_dir(data_dir)
    sockets.mkdir(mode=0o700)
    with stranger(data_dir) as pid:
        for name in ("valkey", ".s.PGSQL.5432", ".s.PGSQL.5432.lock"):
            (sockets / name).write_text(f"{pid}\n{data_dir}\n1\n5432\n{sockets}\n")
        with running(data_dir):
            assert query(data_dir, "select 1") == 1
            assert ping(data_dir)


def test_a_second_start_is_refused_by_name(data_dir: Path) -> None:
    with running(data_dir), pytest.raises(embedded.EngineBusy) as refused:
        embedded.start(data_dir)
    assert str(os.getpid()) in refused.value.message
    with holder(data_dir) as (process, _), pytest.raises(embedded.EngineBusy) as refused:
        embedded.start(data_dir)
    assert str(process.pid) in refused.value.message


def test_ensure_uses_the_engines_of_another_process(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGUI_DATA_DIR", str(data_dir))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.delenv("REDIS_URL", raising=False)
    with holder(data_dir):
        mine = embedded.ensure()
        assert (mine.postgres, mine.valkey) == (None, None)
        assert query(data_dir, "select 1") == 1
        mine.stop()
        assert query(data_dir, "select 1") == 1


def test_ensure_starts_nothing_that_the_environment_gives(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGUI_DATA_DIR", str(data_dir))
    monkeypatch.setenv("DATABASE_URL", "postgres://elsewhere/db")
    monkeypatch.setenv("REDIS_URL", "redis://elsewhere")
    handle = embedded.ensure()
    assert (handle.postgres, handle.valkey) == (None, None)
    assert list(data_dir.iterdir()) == []


def test_what_ensure_started_stops_when_the_command_ends(data_dir: Path) -> None:
    code = "from agui_host.embedded import embedded as e; h = e.ensure(); print(h.postgres.pid)"
    env = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "REDIS_URL")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=env | {"AGUI_DATA_DIR": str(data_dir)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert not child.alive(int(done.stdout))
    assert not (data_dir / "postgres" / "postmaster.pid").exists()


def test_restarts_keep_addresses_and_lock(data_dir: Path) -> None:
    with running(data_dir) as handle:
        before = (handle.postgres, handle.valkey)
        handle.stop_valkey()
        handle.start_valkey()
        handle.stop_postgres()
        handle.start_postgres()
        assert (handle.postgres, handle.valkey) != before
        assert ping(data_dir)
        assert query(data_dir, "select 1") == 1
        handle.stop_valkey()
        with pytest.raises(redis.ConnectionError):
            ping(data_dir)
        assert handle.revive() == []  # stopped on purpose
        handle.start_valkey()
        assert ping(data_dir)


def test_a_server_that_cannot_start_says_why(data_dir: Path) -> None:
    with pytest.raises(embedded.EngineFailed, match="no_such_setting"):
        embedded.start(data_dir, valkey=False, postgres_options=["no_such_setting=1"])
    with running(data_dir, valkey=False):  # the lock is free again
        assert query(data_dir, "select 1") == 1


def test_data_of_another_major_version_is_named(data_dir: Path) -> None:
    with running(data_dir, valkey=False):
        pass
    version = data_dir / "postgres" / "PG_VERSION"
    ours = version.read_text()
    version.write_text("9\n")
    with pytest.raises(
        embedded.EngineFailed, match=f"PostgreSQL 9, and this host brings {ours.strip()}"
    ):
        embedded.start(data_dir, valkey=False)
    version.write_text(ours)
    with running(data_dir, valkey=False):
        assert query(data_dir, "select 1") == 1


def test_a_socket_directory_of_somebody_else_is_refused(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = data_dir / "elsewhere"
    target.mkdir()
    link = data_dir / "sockets"
    link.symlink_to(target)
    monkeypatch.setattr(paths, "socket_dir", lambda data: link)
    with pytest.raises(embedded.EngineFailed, match="belongs to someone else"):
        paths.make_socket_dir(data_dir, None)


def test_the_secret_key_is_random_private_and_stays(data_dir: Path) -> None:
    first = embedded.secret_key(data_dir / "new")
    assert len(first) >= 50
    assert embedded.secret_key(data_dir / "new") == first
    assert embedded.secret_key(data_dir) != first
    assert stat.S_IMODE((data_dir / "new" / "secret_key").stat().st_mode) == 0o600
    assert [path.name for path in (data_dir / "new").iterdir()] == ["secret_key"]


def test_root_keeps_the_cluster_where_the_account_can_reach_it(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    need_root()
    closed = data_dir / "closed"
    closed.mkdir(mode=0o700)
    data = closed / "data"
    monkeypatch.setattr(paths, "SHELTERS", (data_dir / "shelter",))
    with running(data, valkey=False):
        query(data, "create table kept as select 42 as answer")
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700
    assert (data / "postgres").is_symlink()
    assert (data_dir / "shelter") in (data / "postgres").readlink().parents
    assert [r.message for r in caplog.records if "cannot reach" in r.message]
    with running(data, valkey=False):
        assert query(data, "select answer from kept") == 42


def test_root_copies_binaries_that_the_account_cannot_reach(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_root()
    can_run = paths._can_run
    monkeypatch.setattr(paths, "SHELTERS", (data_dir / "shelter",))
    monkeypatch.setattr(
        paths, "_can_run", lambda b, a: "site-packages" not in str(b) and can_run(b, a)
    )
    with running(data_dir, valkey=False):
        assert query(data_dir, "select 1") == 1
    copies = list((data_dir / "shelter").glob("postgresql-*"))
    assert len(copies) == 1


def test_root_runs_postgres_as_the_owner_of_its_cluster(data_dir: Path) -> None:
    need_root()
    with running(data_dir, valkey=False) as handle:
        owner = (data_dir / "postgres").stat().st_uid
        assert owner != 0
        assert handle.postgres is not None
        assert Path(f"/proc/{handle.postgres.pid}").stat().st_uid == owner


def test_without_a_death_signal_a_watcher_ends_the_child(tmp_path: Path) -> None:
    # What macOS gets. The launcher is told that the kernel cannot do it.
    code = (
        "import runpy, sys; sys.platform = 'darwin'; path = sys.argv[1]; sys.argv = sys.argv[1:];"
        "runpy.run_path(path, run_name='__main__')"
    )
    starter = (
        "import os, subprocess, sys;"
        f"p = subprocess.Popen([sys.executable, '-c', {code!r}, {child.__file__!r},"
        " str(os.getpid()), str(int(15)), '-1', '-1', 'sleep', '600'], start_new_session=True);"
        "print(p.pid, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", starter], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        assert child.wait_until(lambda: child.runs(pid, "sleep 600"), 10)
        process.kill()
    assert child.wait_until(lambda: not child.alive(pid), 10)


def test_a_marker_tells_a_process_from_a_reused_number() -> None:
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        assert child.wait_until(lambda: child.runs(sleeper.pid, "sleep 600"), 10)
        assert not child.runs(sleeper.pid, "valkey-server --port")
        sleeper.kill()
    gone = subprocess.Popen([sys.executable, "-c", ""])
    assert child.wait_until(lambda: not child.alive(gone.pid), 10)  # a zombie is not alive
    gone.wait()
    assert not child.runs(gone.pid, "")


def test_stop_uses_the_next_signal_when_the_first_does_not_help() -> None:
    code = "import signal; signal.signal(15, signal.SIG_IGN); print(flush=True); signal.pause()"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    child.stop(process, (signal.SIGTERM, 0.1), (signal.SIGKILL, 5.0))
    process.stdout.close()
    assert process.returncode == -signal.SIGKILL


def test_the_engine_classes_share_one_error_family() -> None:
    assert issubclass(engine.EngineBusy, embedded.EngineFailed)
    assert embedded.EngineFailed("x").status == 503
