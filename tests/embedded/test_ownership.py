"""A data directory of somebody else is said in one line, and nothing is left in it."""

import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from agui_host.embedded import embedded, ownership, paths
from tests.conftest import own_data_dir
from tests.house.repository import ROOT
from tests.needs import need_root

NOBODY = pwd.getpwnam("nobody")


@pytest.fixture
def theirs() -> Iterator[Path]:
    """A directory of the account ``nobody``."""
    need_root()
    with own_data_dir() as path:
        os.chown(path, NOBODY.pw_uid, NOBODY.pw_gid)
        yield path


def test_root_leaves_nothing_in_the_directory_of_somebody_else(theirs: Path) -> None:
    line = f"AGUI_DATA_DIR: {theirs} belongs to nobody, and this is root; run the command as nobody"
    with pytest.raises(embedded.EngineFailed, match=line):
        embedded.start(theirs)
    with pytest.raises(ImproperlyConfigured, match=line):
        paths.secret_key(theirs)
    assert list(theirs.iterdir()) == []
    (theirs / "secret_key").write_text("theirs\n")
    assert paths.secret_key(theirs) == "theirs"


def test_an_account_that_may_not_write_says_whose_it_is(tmp_path: Path) -> None:
    need_root()
    with own_data_dir() as ours, own_data_dir() as closed:
        closed.chmod(0o700)
        os.seteuid(NOBODY.pw_uid)
        try:
            lines = [
                ownership.problem(data)
                for data in (ours, closed / "data", ours.with_name("agui-x"))
            ]
        finally:
            os.seteuid(0)
    remedy = "run the command as root, or set AGUI_DATA_DIR to your own directory."
    assert lines == [
        f"AGUI_DATA_DIR: {ours} belongs to root, and this is nobody; {remedy}",
        f"AGUI_DATA_DIR: {closed / 'data'} cannot be created: {closed} belongs to root, and this "
        f"is nobody; {remedy}",
        None,
    ]


def test_a_directory_that_this_account_may_not_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ownership.problem(tmp_path / "new" / "data") is None
    # As on a read-only disk.
    monkeypatch.setattr(os, "access", lambda path, mode, effective_ids: False)
    line = f"AGUI_DATA_DIR: {tmp_path} is not writable"
    assert (ownership.problem(tmp_path) or "").startswith(line)


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [["up", "--port", "0"], ["run_worker"], ["create_key", "a", "b"]]
)
def test_commands_say_it_in_one_line(command: list[str], theirs: Path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.endswith("_URL")}
    done = subprocess.run(
        [sys.executable, "manage.py", *command], cwd=ROOT, env=env | {"AGUI_DATA_DIR": str(theirs)},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode != 0
    assert done.stderr.startswith(f"AGUI_DATA_DIR: {theirs} belongs to nobody, and this is root;")
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert list(theirs.iterdir()) == []
