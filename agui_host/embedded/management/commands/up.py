"""`manage.py up`: everything one machine needs, in one command."""

import os
import shlex
from argparse import ArgumentParser, ArgumentTypeError, BooleanOptionalAction
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.backends.postgresql.base import DatabaseWrapper

from agui_host import folders
from agui_host.backends import ringer
from agui_host.embedded import abandoned, embedded, ownership, paths, ports, supervisor
from agui_host.embedded.liveness import QUICK_GRACE, health
from agui_host.embedded.management import deaths
from agui_host.embedded.progress import Progress
from agui_host.embedded.watch import Watch, roots_of
from agui_host.protocol.errors import HostError
from agui_host.runtimes.demo import Demo, ensure_demo

BODY = '{"messages":[{"role":"user","content":"What is a journal?"}]}'


class Command(BaseCommand):
    """``manage.py up``."""

    help = "Start the engines, the web process and a worker; Ctrl-C stops everything."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--port", type=ports.number, default=settings.PORT, help="0 chooses any free port"
        )
        parser.add_argument("--reload", action="store_true", help="restart when code changes")
        parser.add_argument("--no-web", action="store_true", help="only the worker")
        parser.add_argument(
            "--ag-ui",
            action=BooleanOptionalAction,
            help="serve Alpine's event streams (the default)",
        )
        parser.add_argument(
            "--ag-ui-buffer-size", type=event_count, help="how many events a late reader gets"
        )
        parser.add_argument("--no-worker", action="store_true", help="only the web process")

    def handle(self, **options: Any) -> None:
        port = None if options["no_web"] else ports.claim(options["port"])
        data, ours = settings.AGUI_DATA_DIR, embedded.own_engines()
        for name, likely in settings.AGUI_MISSPELT.items():
            self.say(f"{name} is not a setting; did you mean {likely}?")
        if foreign := ownership.problem(data):
            raise CommandError(foreign)
        if not ours["valkey"]:
            ringer.reach_valkey()
        if port:
            ports.announce(data, port)
        try:
            with Progress(self.say) as progress:
                progress.step(
                    "starting PostgreSQL and Valkey" if ours["valkey"] else "starting PostgreSQL"
                )
                engines = embedded.start(data, **ours)
                self.supervisor = self.supervise(port, engines, options)
                try:
                    self.serve(data, port, progress)
                finally:
                    self.supervisor.stop()
                    deaths.settle()
                    engines.stop()
        except HostError as error:
            raise CommandError(error.message) from error
        self.say("stopped")

    def supervise(
        self, port: int | None, engines: embedded.Engines, options: Mapping[str, Any]
    ) -> supervisor.Supervisor:
        """The supervisor of the processes that the options ask for; starts nothing yet."""
        # Someone at a terminal does not want to wait an hour for runs, unless they say so.
        quick = not os.environ.get("AGUI_WORKER_GRACE", "").strip()
        grace = QUICK_GRACE if quick else settings.AGUI_WORKER_GRACE
        worker = supervisor.worker(grace, settings.AGUI_CANCEL_GRACE)
        jobs = [] if options["no_worker"] else [worker]
        jobs += [supervisor.web(port)] if port else []
        watch = watched() if options["reload"] else None
        return supervisor.Supervisor(
            jobs,
            self.say,
            env=supervisor.environment(
                AGUI_DATA_DIR=str(settings.AGUI_DATA_DIR),
                AGUI_WORKER_GRACE=f"{grace:g}",
                **({"PORT": str(port)} if port else {}),  # links in mails lead there
                **alpine(options),
            ),
            liveness=settings.AGUI_LIVENESS_SECONDS,
            revive=engines.revive,
            on_death=deaths.bury,
            changed=watch.changed if watch else lambda: None,
        )

    def serve(self, data: Path, port: int | None, progress: Progress) -> None:
        """Prepare the database, start the processes and look after them until a signal."""
        self.supervisor.listen()
        progress.step("bringing the database up to date")
        call_command("migrate", interactive=False, verbosity=0)
        progress.step("preparing the demo team")
        demo = prepare_demo(data)
        # The children have their own connections; ours would only take up a place.
        connection.close()
        cast(DatabaseWrapper, connection).close_pool()
        if self.supervisor.ending.is_set():
            return
        progress.step("starting web and worker")
        self.supervisor.start()
        answers = port is not None and self.wait_for_web(port)
        progress.end()
        if port is not None and answers:
            self.greet(port, demo)
        if notice := abandoned.notice():
            self.say(notice)
        self.supervisor.run()

    def wait_for_web(self, port: int) -> bool:
        """Look after the processes until the web process answers; False after a signal."""
        while health(port) != 200:
            if self.supervisor.ending.wait(supervisor.TICK):
                return False
            self.supervisor.run_once()
        return True

    def greet(self, port: int, demo: Demo) -> None:
        """Say where the host is and how to start a first run."""
        url = f"http://127.0.0.1:{port}"
        key = demo.api_key or "<your API key>"
        curl = [
            "curl", "-N", "-X", "POST", f"{url}/agui", "-H", f"Authorization: Bearer {key}",
            "-H", "Content-Type: application/json", "-d", BODY,
        ]  # fmt: skip
        self.stdout.write(
            f"\n  Open      {url}/\n"
            f"  Sign in   {demo.login}" + (f" / {demo.password}\n" if demo.password else "\n")
            + f"  API key   {key}\n\n  Stream a run:\n\n{shlex.join(curl)}\n\n"
            "Ctrl-C stops everything.\n"
        )  # fmt: skip
        self.stdout.flush()

    def say(self, text: str) -> None:
        """Print a line of ``up`` itself to standard error."""
        self.stderr.write(f"up: {text}")


def alpine(options: Mapping[str, Any]) -> dict[str, str]:
    """The flags of Alpine's dialect as their variables."""
    variables = {
        "ALPINE_AG_UI_ENABLED": options["ag_ui"],
        "ALPINE_AG_UI_BUFFER_SIZE": options["ag_ui_buffer_size"],
    }
    return {name: str(value).lower() for name, value in variables.items() if value is not None}


def event_count(text: str) -> int:
    """A number above 0. Raises ArgumentTypeError."""
    if not text.isdecimal() or (number := int(text)) < 1:
        raise ArgumentTypeError("write a number above 0")
    return number


def prepare_demo(data: Path) -> Demo:
    """Make sure of the demo team, and store its secrets, shown only once, for the next start.

    ``AGUI_DEMO_API_KEY`` wins over the stored key. Both are None if only their owner has them.
    """
    api_key = settings.AGUI_DEMO_API_KEY or stored(data, "demo_api_key")
    try:
        demo = ensure_demo(api_key=api_key, password=stored(data, "demo_password"))
    except HostError as error:
        raise CommandError(f"The demo team's API key: {error.message}") from error
    if demo.api_key:
        paths.write_private(data / "demo_api_key", demo.api_key)
    if demo.password:
        paths.write_private(data / "demo_password", demo.password)
    return demo


def stored(data: Path, name: str) -> str | None:
    """A value that an earlier start stored, or None."""
    path = data / name
    return path.read_text().strip() or None if path.exists() else None


def watched() -> Watch:
    """The agents' modules, and in a clone its code. Beside an installed package lies other code."""
    own = [] if folders.INSTALLED else [folders.ROOT]
    return Watch([*own, *roots_of(settings.AGUI_AGENT_MODULES)])
