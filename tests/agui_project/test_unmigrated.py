"""Commands on a database without our tables end with one line."""

import os
import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest
from django.conf import settings
from procrastinate.contrib.django.utils import connector_params

from agui_host.embedded import paths
from agui_project.cli import COMMANDS
from tests.house.repository import ROOT


@pytest.fixture
def foreign() -> Iterator[str]:
    """The address of a database with a table of somebody else's."""
    parameters = connector_params() | {"dbname": "postgres"}
    with psycopg.connect(**parameters, autocommit=True) as session:
        session.execute("create database agui_foreign")
    try:
        sockets = str(paths.socket_dir(settings.AGUI_DATA_DIR)).replace("/", "%2F")
        yield f"postgres://postgres@{sockets}:5432/agui_foreign"
    finally:
        with psycopg.connect(**parameters, autocommit=True) as session:
            session.execute("drop database agui_foreign with (force)")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "command",
    [
        ("create-team", "acme", "--owner", "a@example.com"),
        ("create-key", "acme", "ci"),
        ("create-agent", "--all-teams", "--slug", "docs"),
        ("create-operator", "ops@example.com"),
        ("legal-hold", "acme"),
        ("conformance-report",),
        ("rotate-secrets",),
    ],
)
def test_one_line_names_the_setting_and_the_remedy(foreign: str, command: tuple[str, ...]) -> None:
    assert command[0] in COMMANDS
    env = {**os.environ, "DATABASE_URL": foreign, "REDIS_URL": ""}
    env.pop("DJANGO_SETTINGS_MODULE", None)
    done = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT, env=env, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("DATABASE_URL: the database is not migrated to this version")
    assert line.endswith("run agui-host migrate, or name another database.")
