"""Who may import whom: the contracts hold, and breaking one is noticed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house import repository

LINT = Path(sys.executable).with_name("lint-imports")


def lint(root: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [LINT, "--no-cache"], cwd=root, capture_output=True, text=True, timeout=120
    )


def test_the_contracts_hold() -> None:
    done = lint(repository.ROOT)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("teams/planted.py", "import runs.models", "Imports go down only"),
        ("runtimes/planted.py", "from events import journal", "Imports go down only"),
        ("embedded/supervisor.py", "import runs.worker.worker", "Imports go down only"),
        ("runs/worker/worker.py", "import embedded.management", "Imports go down only"),
        ("security/outbound.py", "import teams.models", "Imports go down only"),
        ("teams/authentication.py", "import web.cors", "Imports go down only"),
        ("backends/bell.py", "import embedded.engines", "Imports go down only"),
        ("agui_project/errors.py", "import teams.models", "Imports go down only"),
        ("protocol/patch.py", "import agui_project.logs", "Imports go down only"),
        ("protocol/fold/fold.py", "import protocol.intake.gate", "Inside the protocol, imports"),
        ("teams/keys.py", "import teams.access.members", "Inside teams, imports"),
        ("teams/accounts/sessions.py", "import teams.access.members", "Inside teams, imports"),
        ("runs/lifecycle/history.py", "import runs.access.start", "Inside runs, imports"),
        ("runs/models/run.py", "import runs.lifecycle.statuses", "Inside runs, imports"),
        ("runs/lifecycle/end.py", "import teams.authentication", "Only access, the API, the web"),
        ("runs/worker/pace.py", "import teams.authentication", "Only access, the API, the web"),
        ("runtimes/options.py", "import teams.authentication", "Only access, the API, the web"),
        ("web/sse.py", "import runs.worker.executor", "Only the worker runs agents"),
        ("runs/api/interrupts.py", "import runtimes.kinds.table", "Only the worker runs agents"),
        ("runtimes/models.py", "import runtimes.kinds.http", "Inside runtimes, imports"),
        ("runtimes/registry.py", "import runtimes.kinds.table", "Inside runtimes, imports"),
        ("runtimes/context/state.py", "import django.db", "The protocol is pure"),
        ("events/journal.py", "import events.hub", "Inside events, imports"),
        ("events/writer/lease.py", "import events.follow", "Inside events, imports"),
        ("protocol/intake/gate.py", "import django.db", "The protocol is pure"),
    ],
)
def test_a_planted_import_turns_it_red(tmp_path: Path, file: str, line: str, contract: str) -> None:
    root = repository.copy(tmp_path)
    with (root / file).open("a") as source:
        source.write(f"\n{line}\n")
    done = lint(root)
    assert done.returncode == 1, done.stdout
    assert re.search(f"{contract}.* BROKEN", done.stdout)
