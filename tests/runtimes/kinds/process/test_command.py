"""What a process agent may be told to run, and who may tell it."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command

from agui_host.runtimes.context.request import RunRequest
from agui_host.runtimes.kinds.kind import BadSettings
from agui_host.runtimes.kinds.process.command import Command
from agui_host.runtimes.models import Agent
from agui_host.teams.models import AuditEntry, Team
from tests.runtimes.playing import run_input

CLI = {"argv": ["cli"]}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ([], "settings must be an object"),
        ({}, "argv must name a command"),
        ({"argv": "cli --fast"}, "no shell reads it"),
        ({"argv": ["cli", 1]}, "must be a list of strings"),
        ({"argv": ["cli\0"]}, "NUL"),
        ({"argv": ["{text}"]}, "must begin with a command"),
        ({"argv": ["cli", "-p", "{text}"]}, 'put "--" somewhere before'),
        ({"argv": ["cli", "{thread_id}"]}, 'put "--" somewhere before'),
        ({"argv": ["cli", "{session_id}"]}, "belongs in resume_argv"),
        ({**CLI, "resume_argv": ["cli"]}, 'needs "directory": "thread"'),
        ({**CLI, "shell": True}, "unknown shell"),
        ({**CLI, "stdin": "tty"}, "stdin must be one of"),
        ({**CLI, "output": ["text"]}, "output must be one of"),
        ({**CLI, "step_marker": 3}, "step_marker must be printable text"),
        ({**CLI, "step_marker": "a\nb"}, "step_marker must be printable text"),
        ({**CLI, "env": {"A": 1}}, "must be strings"),
        ({**CLI, "env": {"A=B": "x"}}, "not the name of an environment variable"),
        ({**CLI, "env_from_host": "PATH"}, "list of names"),
        ({**CLI, "env_from_host": ["DATABASE_URL"]}, "belongs to the host"),
        ({**CLI, "env_from_host": ["AGUI_SECRETS_KEYS"]}, "belongs to the host"),
        ({**CLI, "limits": {"cpu_seconds": 0}}, "cpu_seconds must be a number above 0"),
        ({**CLI, "limits": {"memory_bytes": "1G"}}, "memory_bytes must be a number"),
        ({**CLI, "limits": {"file_bytes": 1.5}}, "file_bytes must be a number"),
        ({**CLI, "limits": {"open_files": True}}, "open_files must be a number"),
        ({**CLI, "limits": {"cores": 1}}, "unknown cores"),
    ],
)
def test_settings_that_say_nothing_runnable(settings: Any, message: str) -> None:
    with pytest.raises(BadSettings, match=message):
        Command.of(settings)


def test_what_a_client_says_is_never_a_placeholder_nor_an_option() -> None:
    command = Command.of({"argv": ["cli", "--p={text}", "x{run_id}", "--", "{text}"]})
    run = RunRequest(run_input("--{thread_id} \ud800"))
    made = command.arguments(run, None)
    assert made == ["cli", "--p=--{thread_id} ?", "xr", "--", "--{thread_id} ?"]


@pytest.mark.django_db
def test_a_row_that_could_not_run_is_not_saved() -> None:
    team = Team.objects.create(slug="acme", name="Acme")
    with pytest.raises(ValidationError, match="argv must name"):
        Agent.objects.create(team=team, slug="cli", name="CLI", kind="process")


@pytest.mark.django_db
def test_operators_make_agents_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    acme = Team.objects.create(slug="acme", name="Acme")
    file = tmp_path / "cli.json"

    def create(settings: Any, team: str = "acme") -> str:
        file.write_text(settings if isinstance(settings, str) else json.dumps(settings))
        out = io.StringIO()
        call_command(
            "create_agent", team=team, slug="cli", kind="process", file=str(file), stdout=out
        )
        return out.getvalue()

    assert create(CLI).startswith("created: cli (process)")
    capsys.readouterr()
    assert create({"argv": ["other"]}).startswith("changed: cli (process)")
    assert "warning: the program 'other' is not on the PATH here" in capsys.readouterr().err
    for there in (["sh"], ["/bin/sh"], ["bin/of-the-run"]):
        create({"argv": there})
        assert capsys.readouterr().err == ""
    create({"argv": ["other"]})
    agent = Agent.objects.for_team(acme).get(slug="cli")
    assert agent.settings == {"argv": ["other"]}
    actions = AuditEntry.objects.filter(team=acme, target="cli").order_by("id")
    assert [entry.action for entry in actions] == ["agent.created", *["agent.changed"] * 5]
    for settings, message in (({}, "argv must name"), ("{", "cli.json is not JSON")):
        with pytest.raises(CommandError, match=message):
            create(settings)
    with pytest.raises(CommandError, match=r"nowhere\.json cannot be read: No such file"):
        call_command("create_agent", team="acme", slug="cli", file="nowhere.json")
    with pytest.raises(CommandError, match="there is no team"):
        create(CLI, team="nobody")


@pytest.mark.django_db
def test_switches_that_are_not_named_stay_as_they_are() -> None:
    team = Team.objects.create(slug="acme", name="Acme")

    def switches(*options: str) -> tuple[bool, bool]:
        call_command(
            "create_agent", "--team", "acme", "--slug", "a", *options, stdout=io.StringIO()
        )
        agent = Agent.objects.for_team(team).get(slug="a")
        return agent.raw, agent.heals_history

    assert switches() == (True, True)
    assert switches("--no-raw", "--no-heals-history") == (False, False)
    assert switches("--heals-history") == (False, True)
    assert switches("--raw") == (True, True)
