"""Readers cannot tell whether a log is in rows or in an object."""

import threading
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from pytest_django import Settings

from agui_host.backends import metrics, work
from events import checkpoints, journal, outlines, purge, states
from events.models import Doomed, Event, SealedPart
from events.sealed import blocks, sweeping
from runs.lifecycle.deletion import erasure
from tests.asgi import ask_now, watch
from tests.cast import Cast
from tests.runs.sealed.sealed_runs import files, own_store, seal, spoken

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["own_store"]
TYPES = ["TEXT_MESSAGE_CONTENT"]


def everything(run_id: UUID, head: int, apart: int = 1) -> list[Any]:
    """All that the readers of a log return for it.

    The places from which they read lie ``apart`` times as far from each other.
    """
    return [
        list(journal.payloads(run_id)),
        [journal.read_stretch(run_id, after) for after in range(0, head + 1, 7 * apart)],
        [journal.read_stretch(run_id, 1, last) for last in (2, head)],
        [journal.read_after(run_id, after, 5) for after in range(0, head + 1, 3 * apart)],
        [journal.search_after(run_id, after, TYPES, 4) for after in range(0, head, 5 * apart)],
        list(journal.of_types(run_id, ["RUN_STARTED", "RUN_FINISHED"], head)),
        checkpoints.fold_at(run_id, head).dump(),
        checkpoints.fold_at(run_id, head // 2).dump(),
        outlines.read(run_id),
        states.read(run_id, head, "{}"),
    ]


@pytest.mark.parametrize("swept", [True, False], ids=["rows gone", "rows doomed"])
def test_a_sealed_log_reads_as_before(cast: Cast, swept: bool) -> None:
    runs = [spoken(cast.alice, threadId="t"), spoken(cast.alice, 3000), spoken(cast.bob)]
    before = [everything(run.pk, run.journal.head) for run in runs]
    assert SealedPart.objects.count() == 0
    seal(*runs, sweeps=swept)
    assert len(files()) == 1
    assert SealedPart.objects.filter(journal=runs[1].pk).count() > 1  # Some in a block of others.
    assert [everything(run.pk, run.journal.head) for run in runs] == before


def test_a_half_swept_log_reads_as_before(cast: Cast) -> None:
    run = spoken(cast.alice, 60)
    before = everything(run.pk, run.journal.head)
    seal(run, sweeps=False)
    assert purge.sweep(rows=30) == 30
    assert 0 < Event.objects.filter(journal_id=run.pk).count() < run.journal.head
    assert everything(run.pk, run.journal.head) == before


def test_readers_that_race_with_every_step_miss_nothing(cast: Cast) -> None:
    """Two threads read all of it while the log is sealed, swept, written again, and swept."""
    run, other = spoken(cast.alice, 900), spoken(cast.alice, 900)
    before = list(journal.payloads(run.pk))
    stopped, reads, wrong = threading.Event(), [0, 0], list[object]()

    def read(reader: int) -> None:
        try:
            while not stopped.is_set():
                blocks.forget()
                if list(journal.payloads(run.pk)) != before:
                    wrong.append("another log")
                types = list(journal.of_types(run.pk, TYPES, run.journal.head))
                if len(types) != 900:
                    wrong.append(len(types))
                reads[reader] += 1
        except Exception as error:
            wrong.append(error)
        finally:
            connection.close()

    def both_have_read() -> None:
        upto = [count + 2 for count in reads]
        while any(map(int.__lt__, reads, upto)) and not wrong:
            stopped.wait(0.001)

    threads = [threading.Thread(target=read, args=[number]) for number in range(2)]
    for thread in threads:
        thread.start()
    try:
        both_have_read()
        seal(run, other, sweeps=False)
        both_have_read()
        while purge.sweep(rows=100) is not None:
            pass
        both_have_read()
        old = files()
        erasure.erase_thread(cast.alice.principal, other.thread)
        both_have_read()
        while sweeping.sweep(set()):
            both_have_read()
        assert len(files()) == 1
        assert files() != old
        both_have_read()
    finally:
        stopped.set()
        for thread in threads:
            thread.join(60)
    assert not wrong


async def test_over_the_wire(cast: Cast) -> None:
    from agui_host.backends.postgres.bridge import db

    run = await db(spoken, cast.alice)
    url = f"/ws/runs/{run.pk}/?after=2"
    before = await watch(url, cast.alice.headers)
    assert len(before[0]) == run.journal.head - 2
    await db(seal, run)
    assert await watch(url, cast.alice.headers) == before


def test_another_teams_sealed_run_does_not_exist(cast: Cast) -> None:
    run = spoken(cast.alice)
    seal(run)
    for path in ("", "/events?after=0", "/outline", "/state", "/export"):
        answer = ask_now("GET", f"/api/v1/runs/{run.pk}{path}", cast.charlie.headers)
        assert answer.status == 404, path
    assert ask_now("GET", f"/api/v1/runs/{run.pk}/events", cast.vera.headers).status == 200


def test_the_team_pays_for_unpacking(cast: Cast) -> None:
    run = spoken(cast.alice, 900)
    seal(run)
    blocks.forget()
    before = metrics.REGISTRY.get_sample_value("agui_unsealed_bytes_total") or 0
    list(journal.payloads(run.pk))
    counted = metrics.REGISTRY.get_sample_value("agui_unsealed_bytes_total") or 0
    assert counted - before >= run.journal.bytes
    labels = {"team": str(cast.team.pk), "kind": "unseal"}
    paid = metrics.REGISTRY.get_sample_value("agui_team_work_total", labels) or 0
    assert paid >= run.journal.bytes // work.BYTES


@pytest.mark.parametrize("what", ["missing", "damaged", "short"])
def test_an_object_that_is_not_there_is_no_empty_log(cast: Cast, what: str) -> None:
    run = spoken(cast.alice)
    seal(run)
    (path,) = files()
    data = path.read_bytes()
    if what == "missing":
        path.unlink()
    else:
        path.write_bytes(data[:-9] if what == "short" else data[:-9] + bytes(9))
    blocks.forget()
    with pytest.raises(blocks.LogMissing):
        journal.read_stretch(run.pk, 0)
    answer = ask_now("GET", f"/api/v1/runs/{run.pk}/events?after=0", cast.alice.headers)
    assert (answer.status, answer.code) == (503, "log_missing")


def test_a_store_that_is_away(cast: Cast, settings: Settings) -> None:
    run = spoken(cast.alice)
    seal(run)
    (path,) = files()
    path.chmod(0)
    moved = path.rename(path.with_suffix(".moved"))
    path.mkdir()  # Reading it fails, and not because it is missing.
    blocks.forget()
    answer = ask_now("GET", f"/api/v1/runs/{run.pk}/events?after=0", cast.alice.headers)
    assert (answer.status, answer.code) == (503, "log_unavailable")
    assert blocks._away_until > 0
    path.rmdir()
    moved.rename(path).chmod(0o600)
    blocks.forget()
    assert len(list(journal.payloads(run.pk))) == run.journal.head
    assert not Doomed.objects.exists()
