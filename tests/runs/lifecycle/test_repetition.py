"""Runs of repeatable agents whose worker is gone: started again, a few times, once each time."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from structlog.testing import capture_logs

from agui_host.backends.postgres import turns
from agui_host.protocol.errors import RunErrorCode
from agui_host.protocol.intake.intake import Intake
from agui_host.runtimes.models import Agent
from events import journal
from events.journal import Batch
from runs.lifecycle import history, lifecycle, repetition
from runs.lifecycle.webhooks import payloads
from runs.models import Interrupt, Run, Thread, WebhookDelivery
from tests.asgi import ask_now
from tests.cast import Cast, fresh, log_of, start, types_of
from tests.runs.asking import asking, end, finish, resume, standing, yes
from tests.together import frozen

pytestmark = pytest.mark.django_db
USER = {"id": "u1", "role": "user", "content": "go"}


@pytest.fixture
def cast(cast: Cast) -> Cast:
    """With an agent that is repeatable."""
    Agent.objects.update(repeatable=True)
    return cast


def lose(run: Run, *events: dict[str, Any]) -> Run:
    """A worker claims it, stores some events, and is lost."""
    claimed = lifecycle.claim(run.pk)
    assert claimed
    intake = Intake(run.thread.thread_id, run.run_id, input=claimed.prepared.echo)
    records = [*intake.start(), *(record for event in events for record in intake.accept(event))]
    with transaction.atomic():
        journal.append([Batch(run.pk, claimed.claim.generation, 1, records)])
    assert lifecycle.end_lost(run)
    return fresh(run)


def test_it_is_started_again(cast: Cast) -> None:
    run = lose(start(cast.alice, threadId="t", runId="r"))
    (again,) = Run.objects.filter(pk__in=repetition.sweep())
    assert (again.repeats, again.run_id, again.attempt, again.tries) == (run, "r", 2, 2)
    assert (again.started_by, again.starter) == (run.started_by, run.starter)
    assert (again.status, again.input) == ("queued", run.input)
    assert again.stamp is not None
    assert repetition.sweep() == []
    end(again)
    assert repetition.sweep() == []
    assert types_of(run)[-1] == "RUN_ERROR", "the lost attempt stays as it ended"
    assert types_of(again) == ["RUN_STARTED", "RUN_FINISHED"]


def test_three_times_at_most(cast: Cast) -> None:
    run = lose(start(cast.alice, threadId="t"))
    for tries in (2, 3):
        (key,) = repetition.sweep()
        run = Run.objects.get(pk=key)
        assert run.tries == tries
        lose(run)
    assert repetition.sweep() == []


def test_a_worker_that_shut_down(cast: Cast) -> None:
    run = start(cast.alice, threadId="t")
    end(run, lambda intake: intake.fail(RunErrorCode.SHUTDOWN, "The worker was shut down."))
    (key,) = repetition.sweep()
    assert Run.objects.get(pk=key).repeats == run


def off(run: Run) -> None:
    Agent.objects.update(enabled=False)


def once(run: Run) -> None:
    Agent.objects.update(repeatable=False)


def cancelled(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(cancel_requested_at=timezone.now())


def long_ago(run: Run) -> None:
    ended = timezone.now() - repetition.WITHIN - timedelta(seconds=1)
    Run.objects.filter(pk=run.pk).update(ended_at=ended)


def its_own_fault(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(error_code=RunErrorCode.AGENT_ERROR)


def purged(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(purged_at=timezone.now())


@pytest.mark.parametrize("change", [off, once, cancelled, long_ago, its_own_fault, purged])
def test_it_stays_lost(cast: Cast, change: Callable[[Run], None]) -> None:
    run = lose(start(cast.alice, threadId="t"))
    change(run)
    assert repetition.sweep() == []
    assert repetition.repeat(run.pk) is None, "looked at again under the lock"


def test_not_when_the_thread_has_gone_on(cast: Cast) -> None:
    run = lose(start(cast.alice, threadId="t"))
    start(cast.alice, threadId="t")
    assert repetition.sweep() == []
    assert repetition.repeat(run.pk) is None


def test_not_a_child(cast: Cast) -> None:
    """Its parent is lost with it, and starts its own children when it is repeated."""
    parent = start(cast.alice, threadId="t")
    run = lose(start(cast.alice, threadId="c"))
    Run.objects.filter(pk=run.pk).update(parent=parent)
    assert repetition.sweep() == []


def test_a_team_at_its_limit_waits_for_the_next_sweep(
    cast: Cast, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One run of it is tried in each sweep, and one line says so, not one for each try."""
    tries: list[Any] = []
    repeat = repetition.repeat
    monkeypatch.setattr(repetition, "repeat", lambda run: (tries.append(run), repeat(run))[1])
    for number in range(3):
        lose(start(cast.alice, threadId=str(number)))
    settings.AGUI_LIMIT_RUNS_PER_MINUTE = 1
    with capture_logs() as lines:
        assert repetition.sweep() == []
        assert repetition.sweep() == []
    assert len(tries) == 2
    assert [line["event"] for line in lines] == ["run.not_repeated"]
    settings.AGUI_LIMIT_RUNS_PER_MINUTE = 10
    assert len(repetition.sweep()) == 3


def test_what_the_lost_attempt_said_is_not_said(cast: Cast) -> None:
    message = {"messageId": "m", "role": "assistant"}
    lose(
        start(cast.alice, threadId="t", messages=[USER]),
        {"type": "TEXT_MESSAGE_START", **message},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "half an ans"},
    )
    again = Run.objects.get(pk=repetition.sweep()[0])
    claimed = lifecycle.claim(again.pk)
    assert claimed
    assert claimed.prepared.input["messages"] == [USER]
    finish(claimed)
    assert history.current(again.thread_id).messages == [USER]


def test_its_answers_are_given_again(cast: Cast) -> None:
    asking(cast.alice, "i")
    run = lose(resume(cast.alice, yes("i", 1)))
    assert standing() == {"i": "open"}
    again = Run.objects.get(pk=repetition.sweep()[0])
    assert again.input == run.input
    assert Interrupt.objects.get(interrupt_id="i").answering_run == again


def test_not_when_somebody_answered_otherwise_meanwhile(cast: Cast) -> None:
    asking(cast.alice, "i")
    lose(resume(cast.alice, yes("i", 1)))
    resume(cast.bob, yes("i", 2))
    assert repetition.sweep() == []


def test_the_sweep_reads_no_whole_table(cast: Cast) -> None:
    """It runs every ten seconds in every process."""
    with connection.cursor() as cursor:
        cursor.execute("set local enable_seqscan = off")
        # Of so few rows any index is as good; of many failures this one would read all of a kind.
        cursor.execute("drop index run_team_failed_by_code, run_team_ended_newest")
        look = f"explain select from runs_run run where {repetition.LATELY}"
        cursor.execute(look, repetition.VALUES)
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "run_worker_gone" in plan


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_one_repeats_it(cast: Cast) -> None:
    def attempt(run: Run) -> Run | None:
        try:
            return repetition.repeat(run.pk)
        except turns.NotYet:
            return None
        finally:
            connection.close()

    for number in range(5):
        run = lose(start(cast.alice, threadId=str(number)))
        with ThreadPoolExecutor(4) as pool:
            made = [each for each in pool.map(attempt, [run] * 4) if each]
        assert len(made) == 1
        assert Run.objects.filter(repeats=run).count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_client_that_starts_again_is_not_doubled(cast: Cast) -> None:
    """Of its new run and the repetition either is there, or both in their order: never a mix."""

    def go_on(thread: str) -> None:
        try:
            start(cast.alice, threadId=thread, onBusy="enqueue")
        finally:
            connection.close()

    def repeat(run: Run) -> None:
        try:
            repetition.repeat(run.pk)
        except turns.NotYet:
            pass
        finally:
            connection.close()

    for number in range(5):
        run = lose(start(cast.alice, threadId=str(number)))
        with ThreadPoolExecutor(2) as pool:
            ways = [partial(go_on, str(number)), partial(repeat, run)]
            list(pool.map(lambda way: way(), ways))
        newer = list(Run.objects.filter(thread=run.thread, pk__gt=run.pk).order_by("pk"))
        assert [each.repeats for each in newer] in ([None], [run, None])


def lost_with_its_worker(run: Run) -> Run:
    """It is claimed and ended as the reaper ends it."""
    assert lifecycle.claim(run.pk)
    row = Run.objects.select_related("thread", "agent").get(pk=run.pk)
    assert repetition.end_lost(row)
    assert not repetition.end_lost(row), "once"
    return fresh(run)


def test_the_end_names_the_run_that_begins_with_it(cast: Cast) -> None:
    run = lost_with_its_worker(start(cast.alice, threadId="t", runId="r"))
    again = Run.objects.get(repeats=run)
    assert (again.attempt, again.tries, again.status) == (2, 2, "queued")
    assert again.stamp is not None
    error = log_of(run)[-1]
    assert (error["type"], error["code"]) == ("RUN_ERROR", "worker_lost")
    assert error["metadata"] == {"repeatedBy": str(again.pk)}
    assert repetition.repeated_by(run) == again.pk
    assert repetition.sweep() == []


@pytest.mark.parametrize("change", [off, once, cancelled])
def test_an_end_without_a_repetition_names_no_run(
    cast: Cast, change: Callable[[Run], None]
) -> None:
    run = start(cast.alice, threadId="t")
    change(run)
    run = lost_with_its_worker(run)
    assert log_of(run)[-1]["code"] == "worker_lost"
    assert "metadata" not in log_of(run)[-1]
    assert repetition.repeated_by(run) is None
    assert not Run.objects.filter(repeats=run).exists()


def test_a_run_that_may_not_start_yet_ends_by_itself(cast: Cast, settings: Any) -> None:
    run = start(cast.alice, threadId="t")
    settings.AGUI_LIMIT_RUNS_PER_MINUTE = 1
    run = lost_with_its_worker(run)
    assert "metadata" not in log_of(run)[-1]
    assert repetition.is_due(run.pk)
    settings.AGUI_LIMIT_RUNS_PER_MINUTE = 10
    (key,) = repetition.sweep()
    assert repetition.repeated_by(run) == key
    assert not repetition.is_due(run.pk)


def test_the_answers_of_a_run_are_repeated_with_its_end(cast: Cast) -> None:
    asking(cast.alice, "i")
    run = lost_with_its_worker(resume(cast.alice, yes("i", 1)))
    again = Run.objects.get(repeats=run)
    assert Interrupt.objects.get(interrupt_id="i").answering_run == again
    assert log_of(run)[-1]["metadata"] == {"repeatedBy": str(again.pk)}


@pytest.mark.django_db(transaction=True)
def test_an_end_does_not_wait_for_another_start_in_the_thread(cast: Cast) -> None:
    run = start(cast.alice, threadId="t")
    assert lifecycle.claim(run.pk)
    row = Run.objects.select_related("thread", "agent").get(pk=run.pk)
    with frozen(Thread.objects.filter(pk=run.thread_id)):
        assert repetition.end_lost(row)
        assert log_of(run)[-1]["code"] == "worker_lost"
        assert repetition.repeated_by(fresh(run)) is None
    assert len(repetition.sweep()) == 1


@pytest.mark.django_db(transaction=True)
def test_the_api_names_it_in_one_run_and_in_lists(cast: Cast) -> None:
    run = lost_with_its_worker(start(cast.alice, threadId="t"))
    again = str(Run.objects.get(repeats=run).pk)

    def listed() -> tuple[dict[str, Any], int]:
        with CaptureQueriesContext(connection) as queries:
            answer = ask_now("GET", "/api/v1/runs", cast.alice.headers)
        rows = {row["id"]: row["repeated_by"] for row in answer.json["results"]}
        return rows, len(queries)

    rows, count = listed()
    assert rows == {str(run.pk): again, again: None}
    for key, repeated_by in rows.items():
        one = ask_now("GET", f"/api/v1/runs/{key}", cast.alice.headers).json
        assert one["repeated_by"] == repeated_by
    lost_with_its_worker(start(cast.alice, threadId="u"))
    assert listed()[1] == count, "not one more for each run"


@pytest.mark.django_db(transaction=True)
def test_the_pages_of_both_attempts_link_to_each_other(cast: Cast) -> None:
    run = lost_with_its_worker(start(cast.alice, threadId="t"))
    again = Run.objects.get(repeats=run)
    for one, other in ((run, again), (again, run)):
        page = ask_now("GET", f"/runs/{one.pk}/", cast.alice.cookie)
        assert page.status == 200
        assert f'href="/runs/{other.pk}/"'.encode() in page.body


@pytest.mark.parametrize(("change", "final"), [(None, False), (once, True), (its_own_fault, True)])
def test_a_webhook_says_whether_that_was_the_end(
    cast: Cast, change: Callable[[Run], None] | None, final: bool
) -> None:
    """Also before the sweep, which has yet to start the run again."""
    run = lose(start(cast.alice, threadId="t"))
    if change is not None:
        change(run)

    def data(name: str) -> dict[str, Any]:
        row = WebhookDelivery(team=cast.team, type=name, run=run.pk, created_at=timezone.now())
        return dict(
            json.loads(
                payloads.body(row, next(iter(payloads.subjects([row]).values())), contents=False)
                or b""
            )["data"]
        )

    assert (data("run.failed")["final"], data("run.failed")["repeated_by"]) == (final, None)
    assert "final" not in data("run.started")
    again = repetition.sweep()
    assert data("run.failed")["final"] is final
    assert data("run.failed")["repeated_by"] == (str(again[0]) if again else None)
    for key in again:
        end(Run.objects.get(pk=key))
        row = WebhookDelivery(
            team=cast.team, type="run.succeeded", run=key, created_at=timezone.now()
        )
        ended = json.loads(
            payloads.body(row, next(iter(payloads.subjects([row]).values())), contents=False) or b""
        )["data"]
        assert (ended["final"], "repeated_by" in ended) == (True, False)
