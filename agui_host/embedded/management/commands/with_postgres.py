"""``manage.py with_postgres``: a program of PostgreSQL's in the embedded database."""

import os
import signal
import subprocess
import sys
from argparse import REMAINDER, ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from agui_host.embedded import paths


class Command(BaseCommand):
    """Runs a program for which the embedded database is the usual one; ends with its code."""

    help = (
        "Run a program, such as psql, pg_dump or a shell, with PostgreSQL's programs in its path "
        "and the embedded database as theirs: agui-host with-postgres psql"
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("program", help="psql, pg_dump, sh, …")
        parser.add_argument("arguments", nargs=REMAINDER, help="of the program")

    def handle(self, *, program: str, arguments: list[str], **options: Any) -> None:
        if not settings.AGUI_EMBEDDED["postgres"]:
            raise CommandError("DATABASE_URL names a server: give its address to the program.")
        place = settings.DATABASES["default"]
        env = os.environ | {
            "PATH": f"{paths.postgres_binaries(None)}{os.pathsep}{os.environ.get('PATH', '')}",
            "PGHOST": place["HOST"], "PGPORT": place["PORT"], "PGUSER": place["USER"],
            "PGDATABASE": place["NAME"],
        }  # fmt: skip
        # Ctrl+C is the program's: psql cancels a query with it.
        signal.signal(signal.SIGINT, lambda *_: None)
        try:
            done = subprocess.run([program, *arguments], env=env, check=False)  # noqa: S603
        except OSError as error:
            raise CommandError(f"{program}: {error.strerror}.") from None
        sys.exit(done.returncode)
