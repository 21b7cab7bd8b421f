"""A sealer or sweeper that is killed at any of its steps leaves nothing wrong behind.

``Killed`` is no Exception: no handler of ours runs, as with SIGKILL.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db.models import Model

from agui_host.backends.file_store.directory import Directory
from events import journal, purge
from events.models import Doomed, Event, SealedObject, SealedPart
from events.sealed import audit, blocks, form, sealing, sweeping
from runs.lifecycle.deletion import erasure
from runs.models import Run
from tests.cast import Cast
from tests.runs.sealed.sealed_runs import files, own_store, seal, spoken

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["own_store"]


class Killed(BaseException):
    """The process is gone."""


STEPS: dict[str, tuple[Any, str]] = {
    "row": (SealedObject, "save_base"),
    "build": (sealing, "_build"),
    "put": (Directory, "put"),
    "compare": (sealing, "_compare"),
    "parts": (sealing, "take"),
    "commit": (sealing, "write"),
}
SWEEPS: dict[str, tuple[Any, str]] = {
    "row": (SealedObject, "save_base"),
    "build": (sealing, "_build"),
    "put": (Directory, "put"),
    "compare": (sealing, "_compare"),
    "parts": (sealing, "locked"),
    "commit": (sealing, "write"),
    "delete": (Directory, "delete"),
}


@contextmanager
def killed(place: Any, name: str, *, after: bool) -> Iterator[None]:
    """The process dies before this function, or after it. Fails if that did not happen."""
    real: Callable[..., Any] = getattr(place, name)
    fired = []

    def dies(*args: Any, **kwargs: Any) -> Any:
        if after:
            real(*args, **kwargs)
        fired.append(name)
        raise Killed

    async def dies_later(*args: Any, **kwargs: Any) -> Any:
        if after:
            await real(*args, **kwargs)
        fired.append(name)
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, name, dies_later if asyncio.iscoroutinefunction(real) else dies)
        with pytest.raises(Killed):
            yield
    assert fired == [name]


def sweep_all() -> None:
    """Sweep as a worker does hours later."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeping, "GIVEN_UP", timedelta(0))
        failed = set[Any]()
        while sweeping.sweep(failed):
            pass
    assert not failed
    while purge.sweep() is not None:
        pass


def logs_of(*runs: Run) -> list[list[str]]:
    blocks.forget()
    return [list(journal.payloads(run.pk)) for run in runs]


def assert_tidy(objects: int) -> None:
    """Each object has a row, each row an object, and nothing is left to do."""
    assert len(files()) == SealedObject.objects.count() == objects
    assert audit.run() == (objects, [], [])
    assert not SealedObject.objects.exclude(state="sealed").exists()
    assert not Doomed.objects.exists()


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_a_killed_sealer(cast: Cast, step: str, after: bool) -> None:
    runs = [spoken(cast.alice), spoken(cast.alice, 2000)]
    before = logs_of(*runs)
    with killed(*STEPS[step], after=after):
        seal(*runs)
    assert logs_of(*runs) == before
    done = step == "commit" and after
    assert SealedPart.objects.exists() == done
    unfinished = SealedObject.objects.filter(state="writing")
    assert set(files()) <= {_path(each) for each in SealedObject.objects.all()}
    sweep_all()
    assert not unfinished.exists()
    assert logs_of(*runs) == before
    assert_tidy(int(done))
    if not done:
        seal(*runs)
    assert logs_of(*runs) == before
    assert not Event.objects.exists()
    assert_tidy(1)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", SWEEPS)
def test_a_killed_sweeper(cast: Cast, step: str, after: bool) -> None:
    runs = [spoken(cast.alice), spoken(cast.alice, 2000), spoken(cast.bob)]
    before = logs_of(runs[0], runs[2])
    seal(*runs)
    erasure.erase_thread(cast.alice.principal, runs[1].thread)
    with killed(*SWEEPS[step], after=after):
        sweep_all()
    assert logs_of(runs[0], runs[2]) == before
    sweep_all()
    assert logs_of(runs[0], runs[2]) == before
    assert_tidy(1)
    assert str(runs[1].pk).encode() not in _text()


def test_a_sealer_that_was_given_up_seals_nothing(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was stopped for hours before its transaction: its object is deleted, also its bytes."""
    run = spoken(cast.alice)
    before = logs_of(run)
    compare, fired = sealing._compare, []

    def slow(*args: Any) -> None:
        compare(*args)
        fired.append(files())
        sweep_all()

    monkeypatch.setattr(sealing, "_compare", slow)
    assert sealing.seal(run.team_id, [run.journal]) == 0
    assert len(fired[0]) == 1
    assert logs_of(run) == before
    assert_tidy(0)


def test_a_log_that_is_erased_while_it_is_sealed(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [spoken(cast.alice), spoken(cast.alice)]
    before = logs_of(runs[0])
    compare, fired = sealing._compare, []

    def erased(*args: Any) -> None:
        compare(*args)
        if not fired:
            fired.append(erasure.erase_thread(cast.alice.principal, runs[1].thread))

    monkeypatch.setattr(sealing, "_compare", erased)
    assert sealing.seal(runs[0].team_id, [run.journal for run in runs]) == 1
    assert fired
    assert SealedObject.objects.get().state == "stale"
    sweep_all()
    assert logs_of(runs[0]) == before
    assert_tidy(1)
    assert str(runs[1].pk).encode() not in _text()


def test_a_log_that_is_erased_while_its_object_is_written_again(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [spoken(cast.alice), spoken(cast.alice), spoken(cast.alice)]
    before = logs_of(runs[0])
    seal(*runs)
    erasure.erase_thread(cast.alice.principal, runs[1].thread)
    compare, fired = sealing._compare, []

    def erased(*args: Any) -> None:
        compare(*args)
        if not fired:
            fired.append(erasure.erase_thread(cast.alice.principal, runs[2].thread))

    monkeypatch.setattr(sealing, "_compare", erased)
    sweep_all()
    assert fired
    assert logs_of(runs[0]) == before
    assert_tidy(1)
    text = _text()
    assert str(runs[0].pk).encode() in text
    assert str(runs[1].pk).encode() not in text
    assert str(runs[2].pk).encode() not in text


def test_an_object_that_is_not_what_was_written(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = spoken(cast.alice)
    before, read = logs_of(run), blocks.read

    def damaged(part: SealedPart) -> Any:
        sections, size = read(part)
        sections[0].payloads[1] += b" "
        return sections, size

    monkeypatch.setattr(blocks, "read", damaged)
    with pytest.raises(form.Unfit, match="differs from the written data"):
        sealing.seal(run.team_id, [run.journal])
    monkeypatch.undo()
    assert logs_of(run) == before
    sweep_all()
    assert_tidy(0)


def _path(row: Model) -> Any:
    assert isinstance(row, SealedObject)
    from pathlib import Path

    return Path(settings.AGUI_FILES) / blocks.key(row.place, row.pk)


def _text() -> bytes:
    """All that is in the file store."""
    parts = SealedPart.objects.order_by("offset").distinct("offset")
    sections = [section for part in parts for section in blocks.read(part)[0]]
    return b"".join(
        str(section.journal_id).encode() + b"".join(section.payloads) for section in sections
    )
