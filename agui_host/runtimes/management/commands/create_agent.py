"""``manage.py create_agent``: give a team an agent, for operators (docs/howto-process.md)."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from agui_host.runtimes.kinds import kinds
from agui_host.runtimes.models import DEFAULT_QUEUE, Agent
from agui_host.runtimes.versions import codes
from agui_host.teams import audit
from agui_host.teams.models import Team

HOSTED = sorted(kind.name for kind in kinds.KINDS.values() if not kind.fed)


class Command(BaseCommand):
    """Makes the agent, or changes the one with that slug."""

    help = "Create an agent of any kind for a team, or change the one with that slug."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Team and slug are enough for an agent in code."""
        whose = parser.add_mutually_exclusive_group(required=True)
        whose.add_argument("--team", help="the team's slug")
        whose.add_argument("--all-teams", action="store_true", help="for every team")
        parser.add_argument("--slug", required=True)
        parser.add_argument("--kind", choices=HOSTED, default="python")
        parser.add_argument("--name", help="the name that people read; by default the slug")
        parser.add_argument(
            "--target", default="", help="the runtime's target, if its kind needs one"
        )
        parser.add_argument("--timeout", type=float, help="seconds; by default AGUI_RUN_TIMEOUT")
        parser.add_argument(
            "--repeatable",
            action="store_true",
            help="start a run again from its beginning if its worker is lost or stopped",
        )
        either = argparse.BooleanOptionalAction
        parser.add_argument("--raw", action=either, help="store its rawEvent and RAW events or not")
        parser.add_argument(
            "--heals-history", action=either, help="mend calls and results of its threads or not"
        )
        parser.add_argument(
            "--queue",
            default=DEFAULT_QUEUE,
            help="its runs are executed by the workers that serve this queue",
        )
        parser.add_argument(
            "--file", help="its settings: a file with a JSON object; - reads standard input"
        )
        parser.add_argument("--middleware", help="""JSON: '[{"name": "citations"}]'""")
        parser.add_argument("--context-providers", help="""JSON: '[{"name": "wisdom"}]'""")
        for kind in kinds.KINDS.values():
            for flag, text in kind.flags.items():
                parser.add_argument(f"--{flag}", action="store_true", help=text)

    def handle(self, *args: Any, **options: Any) -> None:
        """Exits with 1, and the reason, if the agent could not run."""
        slug = options["slug"]
        fields = {
            "kind": options["kind"],
            "name": options["name"] or slug,
            "target": options["target"],
            "timeout_seconds": options["timeout"],
            "repeatable": options["repeatable"],
            "queue": options["queue"],
            "settings": _settings(options["file"]),
        }
        for name in ("middleware", "context_providers"):
            if options[name] is not None:
                fields[name] = _parsed(options[name], f"--{name.replace('_', '-')}")
        switches = {name: options[name] for name in ("raw", "heals_history")}
        fields |= {name: value for name, value in switches.items() if value is not None}
        for kind in kinds.KINDS.values():
            for flag in filter(options.get, kind.flags):
                if options["kind"] != kind.name or not isinstance(fields["settings"], dict):
                    raise CommandError(f"--{flag} is for --kind {kind.name}")
                fields["settings"][flag] = True
        with transaction.atomic():
            for team in _teams(options["team"]):
                verb = _give(team, slug, fields)
                self.stdout.write(f"{verb}: {slug} ({fields['kind']}) of {team.slug}")
        for warning in kinds.of(fields["kind"]).warnings(fields["settings"]):
            self.stderr.write(f"warning: {warning}")


def _teams(slug: str | None) -> list[Team]:
    """The team of this slug, or all. Raises CommandError."""
    teams = list(Team.objects.order_by("slug") if slug is None else Team.objects.filter(slug=slug))
    if not teams:
        raise CommandError("there is no team" if slug is None else f"there is no team {slug!r}")
    return teams


def _give(team: Team, slug: str, fields: dict[str, Any]) -> str:
    """Make the team's agent, or change it; which of both. Raises CommandError."""
    agent = Agent.objects.for_team(team).filter(slug=slug).first()
    verb = "changed" if agent else "created"
    agent = agent or Agent(team=team, slug=slug)
    for name, value in fields.items():
        setattr(agent, name, value)
    try:
        agent.full_clean()
    except ValidationError as bad:
        raise CommandError("; ".join(bad.messages)) from None
    agent.code = codes.code_of(agent) or agent.code
    agent.save()
    audit.record("operator", team, f"agent.{verb}", slug, kind=agent.kind)
    return verb


def _settings(path: str | None) -> Any:
    if path is None:
        return {}
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text()
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}") from None
    return _parsed(text, path)


def _parsed(text: str, source: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise CommandError(f"{source} is not JSON: {error}") from None
