"""``manage.py replay RUN|FILE|FOLDER``: play runs again, and find the first difference."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agui_host.protocol.errors import RunFailed
from agui_host.protocol.strict_json import dumps
from agui_host.testing.play import SECONDS
from agui_host.testing.replay import replay_lines
from agui_project import cli
from events import journal
from runs.lifecycle.archive import form
from runs.models import ENDED, Effect, Run

Recording = tuple[str, list[str], str | None, dict[str, Any]]
"""Its name, its lines, the name of its agent's code, and that agent's settings."""


class Command(BaseCommand):
    """``manage.py replay``."""

    help = (
        "Play an agent again on the input of a run, with the recorded results of ctx.once, and "
        "print the first event that differs. Exits with 1 if there is one."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "runs", nargs="+", metavar="RUN",
            help="The run's id, an archive, or a folder of archives (*.jsonl).",
        )  # fmt: skip
        parser.add_argument("--agent", help="An agent of this host's code to play instead.")
        parser.add_argument("--seconds", type=float, default=SECONDS, help="For each run.")
        parser.add_argument(
            "--save", type=Path, metavar="FOLDER",
            help="Store the archives of runs, with their effects, in place of playing them.",
        )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        """Exits with 1 if a run diverges."""
        diverging = 0
        for text in options["runs"]:
            for name, lines, agent, settings in _recordings(text):
                if options["save"] is not None:
                    options["save"].mkdir(parents=True, exist_ok=True)
                    file = options["save"] / f"{Path(name).stem}.jsonl"
                    file.write_text("\n".join([*lines, ""]), encoding="utf-8")
                    self.stdout.write(str(file))
                    continue
                try:
                    replayed = replay_lines(
                        lines, options["agent"] or agent, settings=settings,
                        seconds=options["seconds"], name=name,
                    )  # fmt: skip
                except (ValueError, KeyError) as error:
                    raise CommandError(str(error)) from None
                except RunFailed as failed:
                    raise CommandError(f"{name}: {failed.message}") from None
                if replayed.divergence is None:
                    self.stdout.write(f"{name}: the same {len(replayed.recorded.events)} events")
                else:
                    diverging += 1
                    self.stdout.write(f"{name} diverges at {replayed.divergence}")
        if diverging:
            sys.exit(1)


def _recordings(text: str) -> Iterator[Recording]:
    path = Path(text)
    if path.is_dir():
        files = sorted(path.glob("*.jsonl"))
        if not files:
            raise CommandError(f"There is no archive (*.jsonl) in {text}.")
    elif path.is_file():
        files = [path]
    else:
        yield _of_run(text)
        return
    for file in files:
        yield str(file), file.read_text(encoding="utf-8").split("\n"), None, {}


def _of_run(text: str) -> Recording:
    try:
        key = UUID(text)
    except ValueError:
        raise CommandError(f"{text} is no run's id, file or folder.") from None
    cli.start_engines()
    run = Run.objects.for_operators().select_related("agent", "thread").filter(pk=key).first()
    if run is None:
        raise CommandError(f"There is no run {text}.")
    if run.status not in ENDED:
        raise CommandError(f"The run {text} has not ended.")
    row = run.agent
    effects = Effect.objects.for_team(run.team).filter(run=run).order_by("id")
    rows = list(effects.values("key", "digest", "status", "value"))
    lines = [form.opening(run).decode(), *journal.payloads(run.pk), dumps({"effects": rows})]
    return text, lines, row.target or row.slug, dict(row.settings)
