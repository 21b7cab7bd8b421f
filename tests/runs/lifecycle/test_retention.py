"""What is over is purged: the row stays as a tombstone, and everybody is told."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from pytest_django import Settings

from agui_host.backends.postgres import clock
from agui_host.backends.postgres.bridge import db
from agui_host.teams.models import TeamLimits
from events import journal, partitions, purge
from events.models import Doomed, Event, Finding, Journal, OutlinePage
from runs.access import comments
from runs.lifecycle import history
from runs.lifecycle.deletion import retention
from runs.models import Comment, Interrupt, Run, Thread, ThreadHistory
from tests.asgi import ask, ask_now, watch
from tests.cast import Cast, log_of, start
from tests.runs.asking import asking, end
from tests.runs.past import old_run

pytestmark = pytest.mark.django_db(transaction=True)

SAID = [{"id": "m1", "role": "user", "content": "long ago"}]


@pytest.fixture(autouse=True)
def a_year(settings: Settings) -> None:
    settings.AGUI_LIMIT_RETENTION_DAYS = 365


def events_of(run: Run) -> int:
    return Event.objects.filter(journal_id=run.pk).count()


def months() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(partitions.MONTHS)
        return [name for (name,) in cursor.fetchall()]


def again(run: Run) -> Run:
    return Run.objects.select_related("journal", "thread").get(pk=run.pk)


@contextmanager
def elsewhere(query: Callable[[], object]) -> Iterator[None]:
    """Another connection has run ``query``, and its transaction is open meanwhile."""
    begun, done = threading.Event(), threading.Event()

    def work() -> None:
        with transaction.atomic():
            query()
            begun.set()
            done.wait(60)
        connection.close()

    worker = threading.Thread(target=work)
    worker.start()
    try:
        assert begun.wait(20)
        yield
    finally:
        done.set()
        worker.join(20)


def conversation(cast: Cast, rewritten: datetime) -> Thread:
    """A conversation of OpenAI's API with an item that no run brought."""
    items = [{"role": "user", "content": "long ago"}]
    made = ask_now("POST", "/v1/conversations", cast.alice.headers, json={"items": items}).json
    thread = Thread.objects.get(thread_id=made["id"])
    ThreadHistory.objects.filter(thread=thread).update(rewritten_at=rewritten)
    return thread


class TestItemsWithoutARun:
    LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)

    def left(self, thread: Thread) -> bool:
        return bool(history.current(thread.pk).messages)

    def test_old_ones_go(self, cast: Cast) -> None:
        old, young = conversation(cast, self.LONG_AGO), conversation(cast, datetime.now(UTC))
        retention.run_once()
        assert (self.left(old), self.left(young)) == (False, True)

    def test_those_of_a_thread_with_a_log_go_with_its_newest_run(self, cast: Cast) -> None:
        thread = conversation(cast, self.LONG_AGO)
        end(start(cast.alice, threadId=thread.thread_id, messages=SAID))
        retention.run_once()
        assert self.left(thread)

    def test_a_held_or_busy_thread_stays(self, cast: Cast) -> None:
        protected, busy = (conversation(cast, self.LONG_AGO) for _ in range(2))
        Thread.objects.filter(pk=protected.pk).update(legal_hold=True)
        with elsewhere(lambda: Thread.objects.select_for_update().get(pk=busy.pk)):
            retention.run_once()
        assert self.left(protected)
        assert self.left(busy)


class TestWhatGoes:
    def test_a_tombstone_is_left(self, cast: Cast) -> None:
        run = old_run(cast.alice, key="k", messages=SAID)
        young = start(cast.alice, messages=SAID)
        end(young)
        Finding.objects.create(journal_id=run.pk, seq=1, rule="r", action="dropped")
        OutlinePage.objects.create(journal_id=run.pk, page=0, changed=1, rows=b"")
        assert run.asked
        Run.objects.filter(pk=run.pk).update(answered="I said so.")
        retention.run_once()
        left = again(run)
        assert left.purged_at is not None
        assert (left.asked, left.answered) == ("", "")
        assert (left.status, left.started_by, left.ended_at) == (
            run.status, run.started_by, run.ended_at,
        )  # fmt: skip
        assert (left.input, left.result, left.idempotency_key) == ("{}", None, None)
        assert events_of(run) == 0
        assert not Finding.objects.exists()
        assert not OutlinePage.objects.exists()
        assert not Doomed.objects.exists()
        assert again(young).purged_at is None
        assert log_of(young)

    def test_without_retention_nothing_does(self, cast: Cast, settings: Settings) -> None:
        settings.AGUI_LIMIT_RETENTION_DAYS = 0
        run = old_run(cast.alice)
        retention.run_once()
        assert log_of(run)

    @pytest.mark.parametrize("what", ["team", "thread"])
    def test_what_is_under_legal_hold_stays(self, cast: Cast, what: str) -> None:
        run = old_run(cast.alice, threadId="t")
        name = [cast.team.slug] + (["t"] if what == "thread" else [])
        call_command("legal_hold", *name)
        retention.run_once()
        assert log_of(run)
        call_command("legal_hold", *name, "--release")
        retention.run_once()
        assert events_of(run) == 0

    def test_a_hold_counts_that_comes_before_the_lock(self, cast: Cast) -> None:
        run = old_run(cast.alice, threadId="t")
        call_command("legal_hold", cast.team.slug, "t")
        assert retention.purge_whole(cast.team, [run.thread_id], clock.now()) == {}
        assert log_of(run)

    def test_what_has_not_ended_stays(self, cast: Cast) -> None:
        run = old_run(cast.alice)
        Run.objects.filter(pk=run.pk).update(status="queued", ended_at=None)
        retention.run_once()
        assert log_of(run)

    def test_questions_and_comments_go_too(self, cast: Cast) -> None:
        run = asking(cast.alice, "i")
        assert Interrupt.objects.exists()
        comments.write(cast.bob.principal, run.pk, "what was said", None)
        retention._entomb(run.team_id, [run.pk])
        assert not Interrupt.objects.exists()
        assert not Comment.objects.exists()

    def test_the_conversation_goes_with_its_newest_run(self, cast: Cast) -> None:
        first = old_run(cast.alice, threadId="t", messages=SAID)
        second = old_run(cast.alice, date(2024, 2, 1), threadId="t")
        third = start(cast.alice, threadId="t", messages=[{"role": "user", "content": "later"}])
        end(third)
        retention.run_once()
        assert [again(run).purged_at is None for run in (first, second, third)] == [0, 0, 1]
        fold = history.current(third.thread_id)
        assert [message.get("content") for message in fold.messages] == ["long ago", "later"]

    def test_a_thread_begins_afresh_when_all_of_it_is_over(self, cast: Cast) -> None:
        run = old_run(cast.alice, threadId="t", messages=SAID)
        retention.run_once()
        assert "long ago" not in ThreadHistory.objects.get().fold
        answer = ask_now("GET", "/agui/threads/t/messages", cast.alice.headers)
        assert (answer.status, answer.code) == (410, "purged")
        new = start(cast.alice, threadId="t", messages=[{"role": "user", "content": "hello"}])
        end(new)
        fold = history.current(run.thread_id)
        assert [message.get("content") for message in fold.messages] == ["hello"]

    def test_a_locked_thread_is_left_for_the_next_time(self, cast: Cast) -> None:
        run = old_run(cast.alice)
        with elsewhere(lambda: Thread.objects.select_for_update(no_key=True).get(pk=run.thread_id)):
            retention.run_once()
            assert again(run).purged_at is None
        retention.run_once()
        assert again(run).purged_at is not None


class TestWhatReadersAreTold:
    @pytest.fixture
    def run(self, cast: Cast) -> Run:
        run = old_run(cast.alice, threadId="t", runId="r", messages=SAID)
        retention.run_once()
        return again(run)

    @pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
    async def test_the_log(self, cast: Cast, bell: None, run: Run, accept: str) -> None:
        url, headers = f"/api/v1/runs/{run.pk}/events", {**cast.alice.headers, "accept": accept}
        head = run.journal.head
        for cursor in ("", "?after=0", f"?after={head - 1}"):
            answer = await ask("GET", url + cursor, headers)
            assert (answer.status, answer.code) == (410, "purged")
            assert answer.json["error"]["details"] == {"lowest": head + 1}
        answer = await ask("GET", f"{url}?after={head}", headers)
        assert answer.status == (204 if "stream" in accept else 200)

    async def test_the_socket(self, cast: Cast, bell: None, run: Run) -> None:
        assert await watch(f"/ws/runs/{run.pk}/", cast.alice.headers) == ([], 4410)

    @pytest.mark.parametrize("address", ["/agui", "/agui/agent/echo/connect"])
    async def test_stock_clients(self, cast: Cast, bell: None, run: Run, address: str) -> None:
        body = {"threadId": "t", "runId": "r"}
        answer = await ask("POST", address, cast.alice.headers, json=body)
        assert (answer.status, answer.code) == (410, "purged")

    async def test_the_threads_events(self, cast: Cast, bell: None, run: Run) -> None:
        later = await db(start, cast.alice, threadId="t")
        await db(end, later)
        url = "/agui/threads/t/events"
        answer = await ask("GET", url, cast.alice.headers)
        assert (answer.status, answer.code) == (410, "purged")
        cursor = answer.json["error"]["details"]["cursor"]
        answer = await ask("GET", f"{url}?cursor={cursor}", cast.alice.headers)
        assert answer.json["events"] == await db(log_of, later)

    async def test_the_run_itself(self, cast: Cast, bell: None, run: Run) -> None:
        answer = await ask("GET", f"/api/v1/runs/{run.pk}", cast.alice.headers)
        assert answer.json["status"] == "succeeded"
        assert answer.json["purged_at"] is not None
        page = await ask("GET", f"/runs/{run.pk}/", cast.alice.cookie)
        assert page.status == 200


class TestMonths:
    def test_one_that_is_over_for_all_is_dropped(self, cast: Cast) -> None:
        run = old_run(cast.alice)
        assert "events_event_2024_01" in months()
        retention.run_once()
        assert "events_event_2024_01" not in months()
        assert again(run).purged_at is not None
        assert Journal.objects.filter(pk=run.pk).exists()

    def test_one_that_two_teams_share_is_purged_row_by_row(self, cast: Cast) -> None:
        """Globex keeps everything, Acme a year: of January, Acme's half goes."""
        ours = old_run(cast.alice, messages=SAID)
        theirs = old_run(cast.charlie, messages=SAID)
        log = log_of(theirs)
        TeamLimits.objects.create(team=cast.other_team, retention_days=0)
        retention.run_once()
        assert events_of(ours) == 0
        assert log_of(theirs) == log
        assert "events_event_2024_01" in months()
        # once nobody keeps anything of it, it goes as a whole
        TeamLimits.objects.update(retention_days=30)
        retention.run_once()
        assert "events_event_2024_01" not in months()
        assert again(theirs).purged_at is not None

    def test_this_month_and_those_to_come_stay(self) -> None:
        before = months()
        retention.drop_months()
        now = f"events_event_{datetime.now(UTC):%Y_%m}"
        assert [name for name in before if name >= now] == months()

    def test_a_busy_table_is_left_for_the_next_time(self, cast: Cast) -> None:
        old_run(cast.alice)
        with elsewhere(Event.objects.first):
            retention.run_once()
            assert "events_event_2024_01" in months()
        retention.run_once()
        assert "events_event_2024_01" not in months()


class TestSweeping:
    def test_it_takes_bits_and_goes_on_where_it_was(self, cast: Cast) -> None:
        run = start(cast.alice)
        end(run)
        head = again(run).journal.head
        assert head >= 2
        purge.doom([run.pk])
        purge.doom([run.pk])
        assert purge.sweep(1) == 1
        assert list(Event.objects.filter(journal_id=run.pk).values_list("seq", flat=True)) == list(
            range(2, head + 1)
        )
        assert sum(iter(lambda: purge.sweep(1) or 0, 0)) == head - 1
        assert purge.sweep() is None

    def test_a_reader_never_takes_what_is_left_for_all_there_was(self, cast: Cast) -> None:
        run = start(cast.alice)
        end(run)
        head = again(run).journal.head
        purge.doom([run.pk])
        purge.sweep(1)
        for read in (journal.read_after, journal.read_stretch):
            with pytest.raises(journal.Purged) as error:
                read(run.pk, 0)
            assert error.value.details == {"lowest": 2}
        assert len(journal.read_after(run.pk, 1).rows) == head - 1
        assert len(journal.read_stretch(run.pk, 1).payloads) == head - 1
