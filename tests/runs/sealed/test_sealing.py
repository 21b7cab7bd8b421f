"""Which logs are sealed, and how purging, erasure and restores reach them."""

from datetime import date, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from agui_host.backends.file_store import file_store
from agui_host.backends.postgres import clock
from events import journal, partitions, purge
from events.models import Checkpoint, Doomed, Event, SealedObject, SealedPart
from events.sealed import audit, blocks, sweeping
from runs.lifecycle import history
from runs.lifecycle.deletion import erasure, retention, sealing
from runs.models import Run, Thread
from tests.asgi import ask_now
from tests.cast import Cast, start
from tests.runs.asking import end
from tests.runs.past import old_run
from tests.runs.sealed.sealed_runs import files, own_store, seal, spoken

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["own_store"]
SAID = [{"id": "m1", "role": "user", "content": "long ago"}]


@pytest.fixture(autouse=True)
def a_month(settings: Settings) -> None:
    settings.AGUI_SEAL_AFTER_DAYS = 30


def age(run: Run, days: int) -> None:
    Run.objects.filter(pk=run.pk).update(ended_at=clock.now() - timedelta(days=days))


def swept() -> None:
    """What the workers do within minutes."""
    while purge.sweep() is not None:
        pass
    sealing.run_once(60)


class TestWhatIsSealed:
    def test_what_ended_long_ago(self, cast: Cast) -> None:
        old, young = old_run(cast.alice, messages=SAID), start(cast.alice, messages=SAID)
        end(young)
        active = start(cast.alice)
        before = list(journal.payloads(old.pk))
        assert sealing.run_once(60) == 1
        assert set(SealedPart.objects.values_list("journal_id", flat=True)) == {old.pk}
        swept()
        assert not Event.objects.filter(journal_id=old.pk).exists()
        assert Event.objects.filter(journal_id=young.pk).exists()
        assert list(journal.payloads(old.pk)) == before
        assert sealing.run_once(60) == 0
        assert active.status == "queued"

    def test_nothing_without_the_setting(self, cast: Cast, settings: Settings) -> None:
        settings.AGUI_SEAL_AFTER_DAYS = 0
        old_run(cast.alice)
        assert sealing.run_once(60) == 0
        assert not SealedObject.objects.exists()

    def test_nothing_while_the_worker_leaves(self, cast: Cast) -> None:
        old_run(cast.alice)
        assert sealing.run_once(60, lambda: True) == 0

    def test_teams_share_no_object(self, cast: Cast) -> None:
        runs = [old_run(actor) for actor in (cast.alice, cast.bob, cast.charlie)]
        assert sealing.run_once(60) == 3
        objects = {
            run.team_id: set(
                SealedPart.objects.filter(journal=run.pk).values_list("object", "place")
            )
            for run in runs
        }
        assert len(objects) == len(files()) == 2
        assert {place for ((_, place),) in objects.values()} == objects.keys()

    def test_a_large_log_has_an_object_for_itself(
        self, cast: Cast, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        runs = [old_run(cast.alice) for _ in range(3)]
        monkeypatch.setattr(sealing, "BYTES", runs[0].journal.bytes)
        assert sealing.run_once(60) == 3
        assert len(files()) == 3

    def test_a_thread_continues_without_the_store(self, cast: Cast) -> None:
        run = old_run(cast.alice, threadId="t", messages=SAID)
        assert sealing.run_once(60) == 1
        swept()
        files()[0].unlink()
        assert not Checkpoint.objects.filter(journal_id=run.pk).exists()
        new = start(cast.alice, threadId="t", messages=[{"role": "user", "content": "and now"}])
        end(new)
        fold = history.current(new.thread_id)
        assert [message.get("content") for message in fold.messages] == ["long ago", "and now"]

    def test_an_emptied_month_is_dropped(self, cast: Cast) -> None:
        old = old_run(cast.alice, date(2024, 3, 1))
        before = list(journal.payloads(old.pk))
        assert "events_event_2024_03" not in retention.drop_months()
        assert sealing.run_once(60) == 1
        assert "events_event_2024_03" in retention.drop_months()
        assert not Doomed.objects.exists()
        assert list(journal.payloads(old.pk)) == before
        assert "events_event_2024_03" not in {month.name for month in partitions.past()}

    def test_a_store_that_fails_changes_nothing(self, cast: Cast, settings: Settings) -> None:
        run = old_run(cast.alice)
        settings.AGUI_FILES += "/file"
        folder = files.__globals__["Path"](settings.AGUI_FILES)
        folder.parent.mkdir(parents=True)
        folder.write_text("no directory")
        file_store.cache_clear()
        assert sealing.run_once(60) == 0
        assert not SealedPart.objects.exists()
        assert list(journal.payloads(run.pk))
        assert SealedObject.objects.get().state == "doomed"


class TestWhatGoes:
    def test_with_its_retention(self, cast: Cast, settings: Settings) -> None:
        first = old_run(cast.alice, threadId="t", messages=SAID)
        second = start(cast.alice, threadId="t", messages=[{"role": "user", "content": "later"}])
        end(second)
        age(second, 40)
        assert sealing.run_once(60) == 1  # The id of the second one is of today.
        seal(Run.objects.get(pk=second.pk))
        settings.AGUI_LIMIT_RETENTION_DAYS = 365
        retention.run_once()
        answer = ask_now("GET", f"/api/v1/runs/{first.pk}/events?after=0", cast.alice.headers)
        assert (answer.status, answer.code) == (410, "purged")
        swept()
        assert [path.stem for path in files()] == [str(SealedObject.objects.get().pk)]
        assert list(journal.payloads(second.pk))
        assert history.current(first.thread_id).messages

    @pytest.mark.parametrize("what", ["run", "thread", "team"])
    def test_on_request(self, cast: Cast, what: str) -> None:
        first, second = spoken(cast.alice, threadId="t"), spoken(cast.alice, threadId="t")
        seal(first, second)
        if what == "run":
            erasure.erase_run(cast.alice.principal, first)
            with pytest.raises(journal.Purged):
                list(journal.payloads(first.pk))
            assert list(journal.payloads(second.pk))
        elif what == "thread":
            erasure.erase_thread(cast.alice.principal, Thread.objects.get())
        else:
            erasure.erase_team(cast.team)
        gone = [first] if what == "run" else [first, second]
        assert not SealedPart.objects.filter(journal__in=[run.pk for run in gone]).exists()
        swept()
        assert len(files()) == (1 if what == "run" else 0)
        assert audit.run() == (len(files()), [], [])
        for run in gone:
            assert not any(str(run.pk).encode() in _unpacked(path) for path in files())

    def test_of_others_stays_if_one_object_fails(self, cast: Cast) -> None:
        runs = [spoken(cast.alice) for _ in range(4)]
        seal(*runs[:2])
        seal(*runs[2:])
        path = files()[0]
        path.unlink()
        for run in runs[::2]:
            erasure.erase_thread(cast.alice.principal, run.thread)
        failed = set[object]()
        while sweeping.sweep(failed):  # type: ignore[arg-type]
            pass
        assert len(failed) == 1
        assert len(files()) == 1
        assert list(journal.payloads(runs[3].pk))


class TestRestores:
    def test_objects_newer_than_the_database(self, cast: Cast) -> None:
        """The rows are back, as in an older backup: they are read, and sealed again."""
        run = spoken(cast.alice)
        before = list(journal.payloads(run.pk))
        seal(run, sweeps=False)
        (old,) = files()
        Doomed.objects.all().delete()
        SealedPart.objects.all().delete()
        SealedObject.objects.all().delete()
        assert list(journal.payloads(run.pk)) == before
        seal(run)
        assert list(journal.payloads(run.pk)) == before
        out = StringIO()
        call_command("sealed_logs", stdout=out)
        key = blocks.key(run.team_id, old.name)  # type: ignore[arg-type]
        assert out.getvalue().splitlines() == ["1 objects", f"without a row: {key}"]
        call_command("sealed_logs", "--delete-unknown", stdout=out)
        assert old not in files()
        assert len(files()) == 1

    def test_objects_that_are_gone(self, cast: Cast) -> None:
        run = spoken(cast.alice)
        seal(run)
        files()[0].unlink()
        out = StringIO()
        with pytest.raises(CommandError, match="missing"):
            call_command("sealed_logs", stdout=out)
        assert "missing: sealed/" in out.getvalue()


def _unpacked(path: object) -> bytes:
    from pathlib import Path

    import zstandard

    assert isinstance(path, Path)
    with path.open("rb") as file:
        reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        return bytes(reader.read())
