"""The wheel in one environment with packages that have a module ``events`` or ``web``."""

import zipfile
from pathlib import Path

import pytest

from tests.acceptance.deploy.installed import environment, pip, quietly, running
from tests.acceptance.deploy.test_installed import wheel

__all__ = ["wheel"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
LOCK = Path(__file__).parent / "together" / "requirements.lock"
OURS = {"agui_host", "agui_project", "events", "runs"}
IMPORTS = """
import agui_host, opensearchpy, web
from agui_host import RunContext, agent
from events import Events, journal
print(web.__file__, Events.__module__)
"""


def test_the_wheel_has_four_packages(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if not name.split("/")[0].endswith(".dist-info")}
    assert tops == OURS


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the host and the other packages; theirs came last."""
    folder = tmp_path_factory.mktemp("together")
    programs = environment(folder / "environment", wheel, "embedded")
    pip(programs, "--require-hashes", "-r", LOCK)
    return programs


def test_all_are_imported_and_the_host_starts(
    programs: Path, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    python = programs / "python"
    setup = "import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'agui_project.settings'"
    code = f"{setup}; import django; django.setup()\n{IMPORTS}"
    elsewhere = {"cwd": programs.parent}
    assert "events.events" in quietly(python, "-c", code, **elsewhere), "theirs came last"
    pip(programs, "--force-reinstall", "--no-deps", wheel)
    assert "events.events" in quietly(python, "-c", code, **elsewhere), "ours came last"
    with running(programs, tmp_path_factory.mktemp("started")) as host:
        assert "agui.W006" not in host.call("check")
