"""Runs whose logs are sealed, and what is left of them where."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from pytest_django import Settings

from agui_host.backends.file_store import file_store
from agui_host.protocol.intake.intake import Intake
from events import purge
from events.models import Event
from events.sealed import blocks, sealing
from runs.lifecycle import history
from runs.models import Run
from tests.cast import Actor, start
from tests.runs.asking import end

WORDS = "the quick brown fox jumps over the lazy dog"


@pytest.fixture(autouse=True)
def own_store(settings: Settings, tmp_path: Path) -> Iterator[None]:
    """Each test has a file store, and reads nothing that another has unpacked."""
    settings.AGUI_FILES = str(tmp_path / "files")
    file_store.cache_clear()
    blocks.forget()
    yield
    file_store.cache_clear()
    blocks.forget()


def spoken(actor: Actor, words: int = 9, **body: object) -> Run:
    """A run that has ended after so many words."""
    run = start(actor, **body)

    def say(intake: Intake) -> list[object]:
        message = {"messageId": f"m-{run.pk}", "role": "assistant"}
        records = [*intake.accept({"type": "TEXT_MESSAGE_START", **message})]
        for number in range(words):
            delta = f"{WORDS.split()[number % 9]} {number} "
            event = {"type": "TEXT_MESSAGE_CONTENT", "messageId": message["messageId"]}
            records += intake.accept({**event, "delta": delta})
        records += intake.accept({"type": "TEXT_MESSAGE_END", "messageId": message["messageId"]})
        return [*records, *intake.finish()]

    end(run, say)
    return Run.objects.select_related("journal", "thread", "team").get(pk=run.pk)


def seal(*runs: Run, sweeps: bool = True) -> None:
    """Seal these runs in one object, and by default delete their rows."""
    for run in runs:
        history.current(run.thread_id)
    journals = [Run.objects.select_related("journal").get(pk=run.pk).journal for run in runs]
    assert sealing.seal(runs[0].team_id, journals) == len(runs)
    if sweeps:
        while purge.sweep() is not None:
            pass
        assert not Event.objects.filter(journal_id__in=[run.pk for run in runs]).exists()


def files() -> list[Path]:
    """The objects in the file store."""
    folder = Path(settings.AGUI_FILES) / "sealed"
    return sorted(path for path in folder.rglob("*") if path.is_file())
