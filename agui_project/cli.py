"""The command line: `agui-host up` if the package is installed, `manage.py` in a clone.

Commands of Django and of the rooms work by their own names, written with dashes or underscores.
Commands that need the database start the embedded engines first.
"""

import importlib.metadata
import os
import sys
import tomllib
from collections.abc import Sequence
from contextlib import nullcontext

from agui_host import folders
from agui_host.embedded.progress import Progress

DISTRIBUTION = "agui-run-host"
LONG_LIVED = ("run_worker", "supervise", "up")
"""Their environment is hidden from agents on the same machine."""
SHELLS = (
    "shell",
    "dbshell",
    "doctor",
)  # For inspection, which also works while the database is away.
MISSING = {"42P01", "42703", "42883", "3F000"}
"""SQLSTATE of an undefined table, column, function or schema."""
HELP = {"-h", "--help", "--version", "help", "version"}
SHORT_NAMES = {"worker": "run_worker"}
# The commands that `agui-host` lists; Django's own work too.
COMMANDS = {
    "up": "start everything on this machine: engines, web, worker",
    "worker": "execute runs; for use with your own web server",
    "supervise": "run a web process or a worker, and start it again when it dies or hangs",
    "migrate": "bring the database up to date",
    "apply": "make teams, people, keys and agents as a file describes them",
    "create-team": "make a team and invite its owner",
    "create-operator": "let a person into the admin of all teams",
    "create-operator-key": "make a key that changes every team over HTTP; it is printed once",
    "create-key": "make an API key; it is printed once",
    "create-agent": "give a team, or all teams, an agent",
    "check-agent": "run an agent once and report how well it speaks AG-UI",
    "replay": "play runs or archives again without their effects, and find the first difference",
    "legal-hold": "protect a team or a thread from purging",
    "delete-team": "erase a team",
    "export-person": "print all data about a person",
    "erase-person": "erase a person, wherever the host names them",
    "show-permissions": "print the table of roles and actions",
    "sealed-logs": "list sealed logs whose objects are missing",
    "copy-files": "copy the files that the database names to another directory or bucket",
    "store-pieces": "store the long texts of an earlier release's conversations once",
    "recount-usage": "add up the usage of teams again, from their runs",
    "repair-turns": "put back the turns that a wrong clock has lost",
    "conformance-report": "count the faults in agents' events, by rule",
    "seed-demo": "store runs to look at the pages with",
    "with-postgres": "run psql, pg_dump or another program in the embedded database",
    "rotate-secrets": "reseal stored secrets under the newest key",
    "remove-abandoned": "list, or remove, embedded databases whose data directory is gone",
    "doctor": "check this installation, and explain each fault with its remedy",
    "check": "report settings that do not fit together",
}


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command; ``argv`` without the program's name. Exits as Django's commands do."""
    args = list(sys.argv[1:] if argv is None else argv)
    if not args or (args[0] in ("-h", "--help", "help") and len(args) == 1):
        print(usage())
        return
    if args[0] in ("--version", "version"):
        print(f"{DISTRIBUTION} {version()}")
        return
    run(args)


def run(args: Sequence[str]) -> None:
    """Run the command in Django, with the embedded engines running if it needs them.

    ``manage.py`` calls it too: both take a command's name with dashes or underscores.
    """
    args = [command(args[0]), *args[1:]] if args else []
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import DatabaseError

    from agui_host.backends.postgres.deadlines import LONGEST, allowing
    from agui_host.protocol.errors import HostError
    from agui_host.security import own_secrets

    if args and args[0] in LONG_LIVED:
        own_secrets.hide()
    # A worker's statements have a deadline; one statement of a command can take long.
    deadline = nullcontext() if "run_worker" in args[:1] else allowing(LONGEST)
    try:
        if args and not HELP & {args[0], *args[1:2]}:
            prepare(args[0])
            load(args[0])
        with deadline:
            execute_from_command_line(["agui-host", *args])
    except ImproperlyConfigured as error:
        sys.exit(f"{error}")
    except HostError as error:
        sys.exit(error.message)
    except DatabaseError as error:
        if (line := _unmigrated(error)) is None:
            raise
        sys.exit(line)


def _unmigrated(error: Exception) -> str | None:
    """The line for a table, column or function that the database lacks; None for other errors."""
    if getattr(error.__cause__, "sqlstate", None) not in MISSING:
        return None
    reason = " ".join(str(error).split("\n")[0].split())
    return (
        "DATABASE_URL: the database is not migrated to this version, or belongs to something else"
        f" ({reason}); run agui-host migrate, or name another database."
    )


def command(name: str) -> str:
    """Django's name of a command, as `create_team` of `create-team`."""
    plain = name if name.startswith("-") else name.replace("-", "_")
    return SHORT_NAMES.get(plain, plain)


def prepare(command: str) -> None:
    """Read all settings, and make the database ready if the command needs it.

    Raises ImproperlyConfigured, a line for each invalid setting, or EngineFailed.
    """
    from django.conf import settings

    from agui_host.backends.postgres.reach import reach
    from agui_host.embedded import embedded

    settings.INSTALLED_APPS  # noqa: B018  Django itself puts off what is wrong with them
    if command not in embedded.COMMANDS_WITHOUT_ENGINES:
        start_engines(waiting=command not in SHELLS)
    elif command in LONG_LIVED and not embedded.own_engines()["postgres"]:
        reach()


def load(command: str) -> None:
    """Import the host, as Django would do next; `runserver` reports faults in its own way."""
    import django

    from agui_host.backends import interpreter

    if command == "runserver":
        return
    display = Progress(lambda text: tell(f"up: {text}")) if command == "up" else nullcontext()
    with interpreter.importing(), display as progress:
        if progress:
            progress.step("loading the host")
        django.setup()


def start_engines(*, waiting: bool = True) -> None:
    """Start the embedded engines if the settings ask for them; ``waiting`` for the database."""
    from agui_host.backends.postgres.reach import reach
    from agui_host.embedded import embedded

    with Progress(tell) as progress:
        progress.step("starting the embedded engines")
        embedded.ensure()
    if waiting:
        reach()


def tell(text: str) -> None:
    """Print a line to standard error, which leaves standard output to commands."""
    print(text, file=sys.stderr, flush=True)


def usage() -> str:
    """The help text: each command with its purpose."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {purpose}" for name, purpose in COMMANDS.items()]
    return "\n".join(
        [
            "usage: agui-host COMMAND [options]",
            "",
            *lines,
            "",
            "agui-host COMMAND --help explains it.",
        ]
    )


def version() -> str:
    """The version of the package, or of the clone if it is not installed."""
    try:
        return importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        project = tomllib.loads((folders.ROOT / "pyproject.toml").read_text())["project"]
        return f"{project['version']} (a clone)"
