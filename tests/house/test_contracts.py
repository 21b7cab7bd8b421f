"""Who may import whom: the contracts hold, and breaking one is noticed."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.house import repository

LINT = Path(sys.executable).with_name("lint-imports")
PLANTED = [
    ("agui_host/teams/planted.py", "import runs.models", "Imports go down only"),
    ("agui_host/runtimes/planted.py", "from events import journal", "Imports go down only"),
    ("agui_host/embedded/supervisor.py", "import runs.worker.worker", "Imports go down only"),
    ("runs/worker/worker.py", "import agui_host.embedded.management", "Imports go down only"),
    ("agui_host/security/outbound.py", "import agui_host.teams.models", "Imports go down only"),
    (
        "agui_host/teams/authentication.py",
        "import agui_host.web.middleware.cors",
        "Imports go down only",
    ),
    ("agui_host/backends/bell.py", "import agui_host.embedded.engines", "Imports go down only"),
    ("agui_host/errors.py", "import agui_host.teams.models", "Imports go down only"),
    ("agui_host/protocol/patch.py", "import agui_host.logs", "Imports go down only"),
    (
        "agui_host/protocol/fold/fold.py",
        "import agui_host.protocol.intake.gate",
        "Inside the protocol, imports",
    ),
    ("agui_host/dialects/openai/chat.py", "import runs.models", "Dialects' folds and requests"),
    ("agui_host/dialects/mcp/fold.py", "import agui_host.web.sse", "Dialects' folds and requests"),
    ("agui_host/dialects/a2a/request.py", "import django", "Dialects' folds and requests"),
    ("runs/lifecycle/resume.py", "import agui_host.dialects.chats", "The life of runs knows no"),
    ("agui_host/web/sse.py", "import agui_host.dialects.teller", "Imports go down only"),
    ("agui_host/teams/keys.py", "import agui_host.teams.access.members", "Inside teams, imports"),
    (
        "agui_host/teams/accounts/sessions.py",
        "import agui_host.teams.access.members",
        "Inside teams, imports",
    ),
    ("runs/lifecycle/history.py", "import runs.access.start", "Inside runs, imports"),
    ("runs/models/run.py", "import runs.lifecycle.statuses", "Inside runs, imports"),
    (
        "runs/lifecycle/end.py",
        "import agui_host.teams.authentication",
        "Only access, the API, the web",
    ),
    (
        "runs/worker/pace.py",
        "import agui_host.teams.authentication",
        "Only access, the API, the web",
    ),
    (
        "agui_host/runtimes/options.py",
        "import agui_host.teams.authentication",
        "Only access, the API, the web",
    ),
    ("agui_host/web/sse.py", "import runs.worker.executor", "Only the worker runs agents"),
    (
        "runs/api/interrupts.py",
        "import agui_host.runtimes.kinds.table",
        "Only the worker runs agents",
    ),
    (
        "agui_host/runtimes/models.py",
        "import agui_host.runtimes.kinds.http",
        "Inside runtimes, imports",
    ),
    (
        "agui_host/runtimes/registry.py",
        "import agui_host.runtimes.kinds.table",
        "Inside runtimes, imports",
    ),
    ("agui_host/runtimes/context/state.py", "import django", "The protocol is pure"),
    ("events/journal.py", "import events.hub", "Inside events, imports"),
    ("events/writer/lease.py", "import events.follow", "Inside events, imports"),
    ("agui_host/protocol/intake/gate.py", "import django", "The protocol is pure"),
]
"""A file, an import that it must not have, and how the name of the contract begins."""


def lint(root: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [LINT, "--no-cache"], cwd=root, capture_output=True, text=True, timeout=120
    )


def test_the_contracts_hold() -> None:
    done = lint(repository.ROOT)
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each broken contract reports, by its name: all imports planted in one copy."""
    root = repository.copy(tmp_path_factory.mktemp("planted"))
    for file, line, _ in PLANTED:
        with (root / file).open("a") as source:
            source.write(f"\n{line}\n")
    done = lint(root)
    assert done.returncode == 1, done.stdout
    lines = done.stdout.partition("Broken contracts")[2].splitlines()
    titles = [at for at, line in enumerate(lines) if line and set(line) == {"-"}][1:]
    return {
        lines[at - 1]: "\n".join(lines[at + 1 : end - 1])
        for at, end in zip(titles, [*titles[1:], len(lines) + 1], strict=True)
    }


@pytest.mark.parametrize(("file", "line", "contract"), PLANTED)
def test_a_planted_import_turns_it_red(
    broken: dict[str, str], file: str, line: str, contract: str
) -> None:
    importer = file.removesuffix(".py").replace("/", ".")
    imported = line.replace("from ", "").replace("import ", "").replace(" ", ".")
    reports = [report for name, report in broken.items() if name.startswith(contract)]
    assert any(f"- {importer} -> {imported} (" in " ".join(r.split()) for r in reports), broken
