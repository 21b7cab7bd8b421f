"""A provider of another distribution: installed, found by its entry point, and used by a run."""

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes import team_agents, team_options
from agui_host.runtimes.plugins import added
from agui_host.runtimes.providers import chain
from agui_host.runtimes.providers.base import Provider
from agui_host.runtimes.providers.table import BUILT_IN
from events.writer import JournalWriter
from tests.cast import Cast, Register, perform, start
from tests.house.repository import ROOT

GROUP = "agui_host.providers"
MODULE = """
from agui_host.runtimes.providers.base import Options, Provider


class WeatherOptions(Options):
    city: str


class Weather(Provider):
    Options = WeatherOptions
    of_team = {of_team}

    async def entries(self, query):
        value = f"Rain in {{self.options.city}}, {{query.user}}."
        return [{{"description": "weather", "value": value}}]
"""
METADATA = "Metadata-Version: 2.1\nName: weather-provider\nVersion: 1.0\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
OF_HOST = "from agui_host.runtimes.providers.table import PROVIDERS; print(*PROVIDERS)"


def install(folder: Path, module: str, point: str = "weather_of_tests:Weather") -> Path:
    """Install a distribution with this module and this entry point; the folder for the path."""
    wheel = folder / "weather_provider-1.0-py3-none-any.whl"
    info = "weather_provider-1.0.dist-info"
    files = {
        "weather_of_tests.py": module,
        f"{info}/METADATA": METADATA,
        f"{info}/WHEEL": WHEEL,
        f"{info}/entry_points.txt": f"[{GROUP}]\nweather = {point}\n",
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        record = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
        archive.writestr(f"{info}/RECORD", record)
    place = folder / "site"
    command = [
        sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps",
        "--disable-pip-version-check", "--target", str(place), str(wheel),
    ]  # fmt: skip
    subprocess.run(command, check=True, timeout=120)
    return place


@pytest.fixture
def at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A function that installs the plug-in, and returns the table that a start would make."""

    def installed(**values: Any) -> Any:
        monkeypatch.syspath_prepend(install(tmp_path, MODULE.format(**values)))
        return added(BUILT_IN, GROUP, Provider)

    yield installed
    sys.modules.pop("weather_of_tests", None)


def test_a_process_of_the_host_finds_it(tmp_path: Path) -> None:
    place = install(tmp_path, MODULE.format(of_team=True))
    command = [sys.executable, str(ROOT / "manage.py"), "shell", "--no-imports", "-c", OF_HOST]
    process = subprocess.run(
        command, env={"PYTHONPATH": str(place), "PATH": ""}, cwd=ROOT,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    assert process.stdout.split()[-6:] == [*sorted(BUILT_IN), "weather"]


@pytest.mark.django_db(transaction=True)
async def test_a_teams_admin_switches_it_on_and_an_agent_is_told(
    cast: Cast,
    register: Register,
    writer: JournalWriter,
    at_hand: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = await db(lambda: at_hand(of_team=True))
    monkeypatch.setattr(chain, "PROVIDERS", table)
    options = {**team_options.TABLES, "context_providers": table}
    monkeypatch.setattr(team_options, "TABLES", options)
    contexts = list[Any]()
    agent = await db(register, "told", lambda ctx: contexts.append(ctx.context))
    rows = [{"name": "weather", "city": "Bremen"}]
    change = {"context_providers": rows}
    await db(team_agents.change, cast.alice.principal, "told", change)
    await db(agent.refresh_from_db)
    run = await perform(await db(lambda: start(cast.alice, agent)), writer)
    assert run.status == "succeeded"
    assert contexts == [[{"description": "weather", "value": "Rain in Bremen, alice."}]]


@pytest.mark.parametrize(
    ("module", "point", "reason"),
    [
        ("raise OSError('no\\nnetwork')", "weather_of_tests:Weather", "cannot be imported"),
        ("Weather = 1", "weather_of_tests:Weather", "not a subclass of Provider"),
        ("", "weather_of_tests:Missing", "cannot be imported"),
    ],
)
def test_a_broken_one_stops_the_start_and_names_its_distribution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, point: str, reason: str
) -> None:
    monkeypatch.syspath_prepend(install(tmp_path, module, point))
    try:
        with pytest.raises(ImproperlyConfigured, match=reason) as refusal:
            added(BUILT_IN, GROUP, Provider)
    finally:
        sys.modules.pop("weather_of_tests", None)
    assert "of weather-provider" in str(refusal.value)
    assert "\n" not in str(refusal.value)
