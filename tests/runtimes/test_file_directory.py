"""One database has one directory of files; a machine with another one does not start."""

import stat
from pathlib import Path

import pytest
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from agui_host.runtimes import file_directory
from agui_host.runtimes.models import FileDirectory

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if DATABASE_URL named a server that several machines can use."""
    monkeypatch.setenv("DATABASE_URL", "postgres://db.example.com/agui")


def start(settings: Settings, place: Path | str) -> None:
    """A process starts with this directory."""
    settings.AGUI_FILES = str(place)
    file_directory.claim()


def check_ids() -> list[str]:
    return [f"{message.id}" for message in run_checks(databases=["default"])]


def test_a_second_directory_is_refused(settings: Settings, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    start(settings, one)
    start(settings, one)
    assert stat.S_IMODE((one / "store_id").stat().st_mode) == 0o600
    with pytest.raises(ImproperlyConfigured, match=r"AGUI_FILES: .*other is not .*s3://"):
        start(settings, other)
    assert not other.exists()
    start(settings, one)
    assert "agui.E006" not in check_ids()


def test_a_directory_of_another_database_is_refused_and_found_by_check(
    settings: Settings, tmp_path: Path
) -> None:
    start(settings, tmp_path / "one")
    FileDirectory.objects.all().delete()
    start(settings, tmp_path / "other")
    with pytest.raises(ImproperlyConfigured):
        start(settings, tmp_path / "one")
    assert "agui.E006" in check_ids()


def test_a_directory_that_was_lost_is_taken_by_its_mark(settings: Settings, tmp_path: Path) -> None:
    start(settings, tmp_path / "one")
    with pytest.raises(ImproperlyConfigured) as refused:
        start(settings, tmp_path / "new")
    mark = str(FileDirectory.objects.get().mark)
    assert mark in str(refused.value)
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "store_id").write_text(mark)
    start(settings, tmp_path / "new")


def test_a_bucket_needs_no_mark(settings: Settings) -> None:
    start(settings, "s3://bucket/prefix")
    assert not FileDirectory.objects.exists()


def test_an_account_that_only_migrates_is_not_asked(settings: Settings, tmp_path: Path) -> None:
    start(settings, tmp_path / "one")
    settings.AGUI_FILES = str(tmp_path / "of-the-owner")
    assert "agui.E006" not in check_ids()


def test_an_engine_of_this_machine_is_not_asked(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATABASE_URL")
    start(settings, tmp_path / "one")
    assert not FileDirectory.objects.exists()
    assert not (tmp_path / "one").exists()
