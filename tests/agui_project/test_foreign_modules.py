"""Modules of users beside the host's: four names are taken, and a start says which file has one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agui_project import foreign_modules
from tests.house.repository import ROOT

FREE = ("security", "web", "protocol", "teams", "backends", "embedded", "runtimes", "dashboard")


def checked(
    folder: Path, *, in_front: bool = False, **env: str
) -> subprocess.CompletedProcess[str]:
    """`check` with ``folder`` on Python's path: before the host, as PYTHONPATH is if installed."""
    code = "import sys; from agui_project.cli import main; main(['check'])"
    path = [str(folder), str(ROOT)] if in_front else [str(ROOT), str(folder)]
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:1] = {path!r}; {code}"],
        cwd=folder, capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": "", **env},
    )  # fmt: skip


@pytest.mark.parametrize("in_front", [False, True])
def test_most_names_disturb_nothing(tmp_path: Path, in_front: bool) -> None:
    for name in FREE:
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')\n")
    (tmp_path / "runs").mkdir()  # a folder of files, which is no module
    done = checked(tmp_path, in_front=in_front)
    assert done.returncode == 0, done.stderr
    assert "W006" not in done.stderr


@pytest.mark.parametrize("name", foreign_modules.OURS[2:])
def test_a_module_that_hides_ours_stops_the_start(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").write_text("")
    done = checked(tmp_path, in_front=True)
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if str(tmp_path) in line]
    assert f"{tmp_path}/{name}.py hides the host's package {name}: rename it" in line
    assert "Traceback" not in done.stderr


def test_a_module_that_ours_hides_is_named(tmp_path: Path) -> None:
    (tmp_path / "events.py").write_text("tracker = 1\n")
    done = checked(tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"(agui.W006) the host's package events hides {tmp_path}/events.py" in done.stderr


def test_agents_that_import_it_are_told(tmp_path: Path) -> None:
    (tmp_path / "events.py").write_text("tracker = 1\n")
    (tmp_path / "my_agents.py").write_text("from events import tracker\n")
    code = "from agui_host.runtimes import registry; registry.autodiscover()"
    setup = "import django; django.setup()"
    done = subprocess.run(
        [sys.executable, "-c", f"{setup}; {code}"],
        cwd=ROOT, capture_output=True, text=True, timeout=120,
        env={
            **os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}",
            "AGUI_AGENT_MODULES": "my_agents", "DJANGO_SETTINGS_MODULE": "agui_project.settings",
        },
    )  # fmt: skip
    line = done.stderr.strip().splitlines()[-1]
    assert "'my_agents', which cannot be imported: ImportError" in line
    assert f"the host's package events hides {tmp_path}/events.py: rename that module" in line


def test_a_second_host_on_the_path_is_not_foreign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("events", "agui_project"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    assert any(str(tmp_path) in line for line in foreign_modules.hiding())
    (tmp_path / "agui_project" / "foreign_modules.py").write_text("")
    assert foreign_modules.hiding() == []
    assert foreign_modules.hidden() == []
