"""Embedded databases whose data directory is gone: named, listed, removed; no others, ever."""

import io
import os
import shutil
from pathlib import Path

import pytest
from django.core.management import call_command

from agui_host.embedded import abandoned, embedded, paths
from agui_host.embedded.engines import Postgres
from tests.conftest import own_data_dir
from tests.needs import need_root

FAST = ["fsync=off", "shared_buffers=16MB"]


@pytest.fixture
def shelter(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where clusters go that PostgreSQL's account cannot reach in their data directory."""
    place = data_dir / "shelter"
    monkeypatch.setattr(paths, "SHELTERS", (place,))
    return place


def remove(*options: str) -> str:
    out = io.StringIO()
    call_command("remove_abandoned", *options, stdout=out)
    return out.getvalue()


def test_only_what_nobody_needs_is_removed(data_dir: Path, shelter: Path) -> None:
    need_root()
    closed = data_dir / "closed"
    closed.mkdir(mode=0o700)
    data = closed / "data"
    with embedded_postgres(data) as engines:
        place = (data / "postgres").readlink().parent
        assert place.parent == shelter
        assert (place / "data_dir").read_text() == f"{data}\n"
        assert abandoned.clusters() == []
        # Moved away while its server runs: still nobody's to remove.
        data.rename(closed / "elsewhere")
        assert abandoned.clusters() == []
        abandoned.Cluster(place, data).remove()
        assert (place / "postgres" / "PG_VERSION").exists()
        (closed / "elsewhere").rename(data)
        engines.stop()
    assert remove("--yes") == "Nothing is abandoned.\n"

    unknown = shelter / "data-of-an-earlier-version"
    (unknown / "postgres").mkdir(parents=True)
    shutil.rmtree(data)
    notice = abandoned.notice() or ""
    assert notice.startswith(f"1 embedded database in {shelter} belong")
    listed = remove()
    assert f"of {data}" in listed
    assert "--yes removes them" in listed
    assert str(unknown) not in listed
    assert place.exists()
    assert "Removed" in remove("--yes")
    assert not place.exists()
    assert unknown.exists()
    assert abandoned.notice() is None
    assert "(unknown)" in remove("--unknown", "--yes")
    assert not unknown.exists()


def embedded_postgres(data: Path) -> "Running":
    return Running(data)


class Running:
    """PostgreSQL of a data directory, for a block."""

    def __init__(self, data: Path) -> None:
        self.data = data

    def __enter__(self) -> embedded.Engines:
        self.engines = embedded.start(self.data, valkey=False, postgres_options=FAST)
        return self.engines

    def __exit__(self, *error: object) -> None:
        self.engines.stop()
        shutil.rmtree(paths.socket_dir(self.data), ignore_errors=True)


def test_the_next_start_records_a_directory_that_was_moved(data_dir: Path, shelter: Path) -> None:
    need_root()
    with own_data_dir() as outer:
        outer.chmod(0o700)
        for name in ("first", "second"):
            data = outer / name
            engine = Postgres(paths.make(data) if name == "first" else data, FAST)
            engine._prepare()
            place = (data / "postgres").readlink().parent
            assert (place / "data_dir").read_text() == f"{data}\n"
            if name == "first":
                data.rename(outer / "second")
            shutil.rmtree(paths.socket_dir(data), ignore_errors=True)
        assert abandoned.clusters() == []


def test_no_notice_where_there_is_no_shelter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "SHELTERS", (tmp_path / "none",))
    assert abandoned.clusters() == []
    assert abandoned.notice() is None
    assert os.listdir(tmp_path) == []
