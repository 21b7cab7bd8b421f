"""Kept clusters: each is used only by the version that would create the same one."""

import ast
import importlib.metadata
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import call_command

from tests.acceptance.host import SEED
from tests.suite import clusters
from tests.suite.clusters import ROOT, Cluster

WITHOUT_A_PART = frozenset({"agui_host.runtimes.columns",
    "agui_host.security.secrets", "agui_host.backends.postgres.clock"})  # fmt: skip
"""What migrations import only for defaults of columns, and to read the clock."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "kept"
    monkeypatch.setattr(clusters, "FOLDER", folder)
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory with a cluster."""
    data = tmp_path / "data"
    (data / "postgres").mkdir(parents=True)
    (data / "postgres" / "PG_VERSION").write_text("18\n")
    (data / "secret_key").write_text("secret")
    return data


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    (tmp_path / "empty").mkdir()
    return tmp_path / "empty"


def names(path: Path) -> set[str]:
    return {str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()}


def test_a_kept_cluster_is_copied(folder: Path, data: Path, empty: Path) -> None:
    assert not Cluster("tests", "1").exists()
    assert not Cluster("tests", "1").copy_to(empty)
    assert Cluster("tests", "1").keep(data)
    assert Cluster("tests", "1").exists()
    assert Cluster("tests", "1").copy_to(empty)
    assert names(empty) == {"postgres/PG_VERSION"}


def test_a_hosts_cluster_has_its_key(folder: Path, data: Path, empty: Path) -> None:
    cluster = Cluster("hosts", "1", ("postgres", "secret_key"))
    assert cluster.keep(data)
    assert cluster.copy_to(empty)
    assert names(empty) == {"postgres/PG_VERSION", "secret_key"}


def test_another_version_is_not_used(folder: Path, data: Path, empty: Path) -> None:
    assert Cluster("tests", "1").keep(data)
    assert not Cluster("tests", "2").copy_to(empty)
    assert not Cluster("hosts", "1").copy_to(empty)
    assert names(empty) == set()


def test_two_processes_keep_one(folder: Path, data: Path, empty: Path) -> None:
    both = [threading.Thread(target=Cluster("tests", "1").keep, args=(data,)) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert sorted(path.name for path in folder.iterdir()) == ["lock", "tests-1"]
    assert Cluster("tests", "1").copy_to(empty)


def test_a_copy_that_was_cut_off_is_never_used(folder: Path, data: Path, empty: Path) -> None:
    (data / "secret_key").unlink()  # cp fails after the cluster
    with pytest.raises(OSError, match="secret_key"):
        Cluster("hosts", "1", ("postgres", "secret_key")).keep(data)
    assert not Cluster("hosts", "1", ("postgres", "secret_key")).copy_to(empty)
    assert names(folder) == {"lock"}


def test_the_oldest_are_forgotten(folder: Path, data: Path, empty: Path) -> None:
    for version in range(clusters.LIMIT):
        Cluster("tests", str(version)).keep(data)
    assert Cluster("tests", "0").copy_to(empty)  # used just now
    Cluster("tests", "new").keep(data)
    versions = {path.name for path in folder.glob("tests-*")}
    assert len(versions) == clusters.LIMIT
    assert {"tests-0", "tests-new"} < versions
    assert "tests-1" not in versions


def test_without_a_folder_nothing_is_kept(
    data: Path, empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for nowhere in (None, data / "secret_key" / "below"):
        monkeypatch.setattr(clusters, "FOLDER", nowhere)
        assert not Cluster("tests", "1").keep(data)
        assert not Cluster("tests", "1").copy_to(empty)


def test_a_cluster_elsewhere_is_not_kept(folder: Path, data: Path, tmp_path: Path) -> None:
    (data / "postgres").rename(tmp_path / "shelter")
    (data / "postgres").symlink_to(tmp_path / "shelter")
    assert not Cluster("tests", "1").keep(data)


class TestVersions:
    def test_a_changed_file_is_another_version(self, tmp_path: Path) -> None:
        path = tmp_path / "0001_initial.py"
        path.write_text("one")
        before = clusters.version({path})
        assert clusters.version({path}) == before
        path.write_text("two")
        assert clusters.version({path}) != before
        assert clusters.version(set()) != before

    def test_so_is_a_setting_and_another_seed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = clusters.version(set())
        assert clusters.version(set(), "seed") != before
        monkeypatch.setenv("AGUI_DATA_DIR", "/elsewhere")
        assert clusters.version(set()) == before
        monkeypatch.setenv("AGUI_TEST_POSTGRES", "/usr/lib/postgresql/15/bin")
        assert clusters.version(set()) != before

    def test_so_is_another_version_of_a_package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = clusters.version(set())
        first, *others = importlib.metadata.distributions()
        assert first.version
        monkeypatch.setattr(importlib.metadata, "distributions", lambda: others)
        assert clusters.version(set()) != before

    def test_it_covers_all_migrations_and_sql(self) -> None:
        files = {str(path) for path in clusters.migrations()}
        ours = {str(path) for path in _sources() if {"migrations", "sql"} & set(path.parts)}
        assert ours
        assert ours <= files

    def test_it_covers_the_modules_that_migrations_import(self) -> None:
        files = clusters.migrations()
        missing = {
            module
            for path in files
            if "migrations" in path.parts
            for module in _imported(path)
            if module not in WITHOUT_A_PART and ROOT / f"{module.replace('.', '/')}.py" not in files
        }
        assert not missing, "add them to clusters.SHAPES, if they shape what a migration makes"


def test_a_benchmark_needs_no_settings_for_it() -> None:
    code = f"from tests.suite import clusters; print(clusters.of_hosts({SEED!r}).name)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == clusters.of_hosts(SEED).name


@pytest.mark.django_db
def test_the_database_of_this_run_is_migrated_completely() -> None:
    call_command("migrate", check_unapplied=True)  # exits with 1 if one is missing


def _sources() -> Iterator[Path]:
    for package in clusters.PACKAGES:
        for pattern in ("*.py", "*.sql"):
            yield from (ROOT / package).rglob(pattern)


def _imported(path: Path) -> set[str]:
    """The modules of ours that a migration imports at its top, without other migrations."""
    nodes = ast.parse(path.read_text()).body
    modules = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    modules |= {
        alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names
    }
    return {
        name
        for name in modules
        if name.split(".")[0] in clusters.PACKAGES and ".migrations" not in name
    }
