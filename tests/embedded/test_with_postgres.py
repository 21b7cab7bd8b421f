"""``agui-host with-postgres``: a program for which the embedded database is the usual one."""

import sys

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings


@pytest.fixture(autouse=True)
def usual_signals(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command ends with its program, so it leaves its own handling of Ctrl+C behind."""
    settings.AGUI_EMBEDDED = {"postgres": True, "valkey": True}
    monkeypatch.setattr("signal.signal", lambda *_: None)


def test_its_code_is_that_of_the_program() -> None:
    with pytest.raises(SystemExit) as ended:
        call_command("with_postgres", sys.executable, "-c", "raise SystemExit(3)")
    assert ended.value.code == 3


def test_the_program_finds_the_programs_and_the_database(settings: Settings) -> None:
    place = settings.DATABASES["default"]
    values = (place["HOST"], place["PORT"], place["USER"], place["NAME"])
    code = (
        "import os, shutil, sys; "
        "told = tuple(os.environ[f'PG{n}'] for n in ('HOST', 'PORT', 'USER', 'DATABASE')); "
        f"sys.exit(0 if shutil.which('pg_dump') and told == {values!r} else 1)"
    )
    with pytest.raises(SystemExit) as ended:
        call_command("with_postgres", sys.executable, "-c", code)
    assert ended.value.code == 0


def test_a_wrong_program_is_one_line() -> None:
    with pytest.raises(CommandError, match=r"no-such-program: No such file or directory\."):
        call_command("with_postgres", "no-such-program")


def test_a_server_of_ones_own_has_an_address(settings: Settings) -> None:
    settings.AGUI_EMBEDDED = {"postgres": False, "valkey": False}
    with pytest.raises(CommandError, match="give its address to the program"):
        call_command("with_postgres", "psql")
