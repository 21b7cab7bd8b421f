"""Who gets a stamp, and when: a team's limit, a thread's turn, and fairness between teams."""

from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction

from agui_host.teams.limits import LimitReached
from agui_host.teams.models import TeamLimits
from events.models import Journal
from runs.access.usage import limits
from runs.lifecycle import admission, lifecycle
from runs.models import ACTIVE, EndedRun, Run, Status, TeamUsage
from runs.worker import reaper
from tests.cast import Actor, Cast, fresh, start
from tests.runs import clocks
from tests.runs.jobs import a_worker, give, taken_by
from tests.together import frozen, together

pytestmark = pytest.mark.django_db

FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def limit(actor: Actor, **values: int) -> None:
    TeamLimits.objects.update_or_create(team=actor.team, defaults=values)


def admitted(*runs: Run) -> list[bool]:
    return [fresh(run).stamp is not None for run in runs]


def end(run: Run) -> None:
    """A worker has executed it, and the writer stores its end."""
    lifecycle.claim(run.pk)
    admission.ended([lifecycle.finish(run.pk, FINISHED)])


def fetch() -> Any:
    """The run that a worker takes now."""
    return next(iter(taken_by(a_worker(), most=1)), None)


class TestTheTeamsLimit:
    def test_above_it_runs_wait_without_a_job(self, cast: Cast) -> None:
        limit(cast.alice, concurrent_runs=2)
        runs = [start(cast.alice) for _ in range(4)]
        assert admitted(*runs) == [True, True, False, False]
        assert {fresh(run).status for run in runs} == {Status.QUEUED}
        assert admitted(start(cast.charlie)) == [True], "other teams have limits of their own"

    def test_the_end_of_a_run_admits_the_next_in_order(self, cast: Cast) -> None:
        limit(cast.alice, concurrent_runs=1)
        runs = [start(cast.alice) for _ in range(3)]
        end(runs[0])
        assert admitted(*runs[1:]) == [True, False]
        end(runs[1])
        assert admitted(runs[2]) == [True]

    def test_so_does_a_cancel_of_one_that_no_worker_took(self, cast: Cast) -> None:
        limit(cast.alice, concurrent_runs=1)
        first, second = (start(cast.alice) for _ in range(2))
        lifecycle.cancel(first)
        assert admitted(second) == [True]

    def test_a_waiting_run_can_be_cancelled(self, cast: Cast) -> None:
        limit(cast.alice, concurrent_runs=1)
        first, second, third = (start(cast.alice) for _ in range(3))
        lifecycle.cancel(second)
        assert fresh(second).status == Status.CANCELLED
        assert admitted(third) == [False]
        end(first)
        assert admitted(third) == [True]

    def test_so_does_the_end_of_a_lost_run(self, cast: Cast) -> None:
        limit(cast.alice, concurrent_runs=1)
        first, second = (start(cast.alice) for _ in range(2))
        give(first, None)
        assert reaper.run_once() == [first.pk], "the one that waits is not lost"
        assert admitted(second) == [True]

    def test_a_raised_limit_lets_in_what_waits(self, cast: Cast) -> None:
        limit(cast.alice, concurrent_runs=1)
        runs = [start(cast.alice) for _ in range(4)]
        limit(cast.alice, concurrent_runs=3)
        reaper.run_once()
        assert admitted(*runs) == [True, True, True, False]
        limit(cast.alice, concurrent_runs=0)
        assert admission.sweep() == 1

    def test_a_lowered_limit_admits_nobody_until_there_is_room(self, cast: Cast) -> None:
        limit(cast.alice, concurrent_runs=3)
        runs = [start(cast.alice) for _ in range(4)]
        limit(cast.alice, concurrent_runs=1)
        end(runs[0])
        end(runs[1])
        assert admitted(runs[3]) == [False]
        end(runs[2])
        assert admitted(runs[3]) == [True]

    def test_a_cancel_that_read_the_run_before_it_was_admitted(self, cast: Cast) -> None:
        limit(cast.alice, concurrent_runs=1)
        first, second = (start(cast.alice) for _ in range(2))
        stale = fresh(second)
        end(first)
        assert fresh(second).due_at is not None
        lifecycle.cancel(stale)
        assert fresh(second).due_at is None


class TestTheThreadsTurn:
    def test_a_run_behind_another_takes_no_slot(self, cast: Cast) -> None:
        limit(cast.alice, concurrent_runs=2)
        first = start(cast.alice, threadId="t")
        behind = start(cast.alice, threadId="t", onBusy="enqueue")
        other = start(cast.alice)
        assert admitted(first, behind, other) == [True, False, True]
        end(first)
        assert admitted(behind) == [True]

    def test_in_their_order(self, cast: Cast) -> None:
        runs = [start(cast.alice, threadId="t", onBusy="enqueue") for _ in range(4)]
        for number, run in enumerate(runs):
            assert admitted(*runs) == [True] * (number + 1) + [False] * (3 - number)
            end(run)

    def test_the_cancel_of_one_in_the_middle(self, cast: Cast) -> None:
        first, second, third = (start(cast.alice, threadId="t", onBusy="enqueue") for _ in range(3))
        lifecycle.cancel(second)
        assert admitted(third) == [False]
        end(first)
        assert admitted(third) == [True]

    def test_cancel_running_makes_way(self, cast: Cast) -> None:
        limit(cast.alice, concurrent_runs=1)
        start(cast.alice, threadId="t")
        new = start(cast.alice, threadId="t", onBusy="cancel_running")
        assert admitted(new) == [True]


class TestRefusals:
    def test_too_many_wait(self, cast: Cast) -> None:
        limit(cast.alice, concurrent_runs=1, queued_runs=2)
        for _ in range(3):
            start(cast.alice)
        before = Run.objects.count()
        with pytest.raises(LimitReached) as refused:
            start(cast.alice)
        assert refused.value.details == {"limit": "queued_runs", "max": 2}
        assert Run.objects.count() == before, "nothing of a refused run is left"

    def test_too_many_in_a_minute(self, cast: Cast) -> None:
        limit(cast.alice, runs_per_minute=2)
        start(cast.alice)
        start(cast.alice, key="k")
        with pytest.raises(LimitReached) as refused:
            start(cast.alice)
        assert refused.value.details["limit"] == "runs_per_minute"
        assert 0 < int(refused.value.headers["Retry-After"]) <= 60
        start(cast.alice, key="k")  # the same run as before
        start(cast.charlie)

    def test_the_minute_passes(self, cast: Cast) -> None:
        limit(cast.alice, runs_per_minute=1)
        start(cast.alice)
        with clocks.ahead(61):
            start(cast.alice)

    def test_too_much_is_stored(self, cast: Cast) -> None:
        run = start(cast.alice)
        lifecycle.cancel(run)
        stored = TeamUsage.objects.get(team=cast.team).stored_bytes
        assert stored == fresh(run).journal.bytes == logged_bytes(run)
        limit(cast.alice, stored_bytes=stored)
        with pytest.raises(LimitReached) as refused:
            start(cast.alice)
        assert refused.value.details["limit"] == "stored_bytes"

    def test_what_ended_runs_stored_counts_before_it_is_added_up(self, cast: Cast) -> None:
        run = start(cast.alice)
        lifecycle.claim(run.pk)
        Journal.objects.filter(pk=run.pk).update(bytes=7)
        admission.ended([lifecycle.finish(run.pk, FINISHED)])
        assert TeamUsage.objects.get(team=cast.team).stored_bytes == 0
        assert [each.used for each in limits.of(cast.team) if each.name == "stored_bytes"] == [7]
        limit(cast.alice, stored_bytes=7)
        with pytest.raises(LimitReached):
            start(cast.alice)
        admission.sweep()
        assert TeamUsage.objects.get(team=cast.team).stored_bytes == 7
        assert not EndedRun.objects.exists()

    def test_what_is_purged_counts_no_more_after_the_recount(self, cast: Cast) -> None:
        run = start(cast.alice)
        lifecycle.cancel(run)
        admission.recount()
        assert TeamUsage.objects.get(team=cast.team).stored_bytes == logged_bytes(run)
        run.journal.bytes = 0
        run.journal.save(update_fields=["bytes"])
        admission.recount()
        assert TeamUsage.objects.get(team=cast.team).stored_bytes == 0


def logged_bytes(run: Run) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "select sum(octet_length(payload)) from events_event where journal_id = %s", [run.pk]
        )
        return int(cursor.fetchone()[0])


def test_usage_says_what_is_used(cast: Cast) -> None:
    limit(cast.alice, concurrent_runs=1, queued_runs=0)
    for _ in range(3):
        start(cast.alice)
    used = {use.name: use for use in limits.of(cast.team)}
    assert used["concurrent_runs"] == ("concurrent_runs", 1, 1)
    assert used["queued_runs"] == ("queued_runs", None, 2)
    assert used["runs_per_minute"].used == 3
    assert used["events_per_second"].used is None


class TestBetweenTeams:
    def test_the_newcomer_goes_before_the_backlog(self, cast: Cast) -> None:
        backlog = [start(cast.alice) for _ in range(10)]
        for _ in range(3):
            run = fetch()
            assert run in backlog
            lifecycle.claim(run.pk)
        newcomer = start(cast.charlie)
        assert fetch() == newcomer

    def test_two_backlogs_take_turns(self, cast: Cast) -> None:
        for actor in (cast.alice, cast.charlie):
            for _ in range(6):
                start(actor)
        order = []
        while run := fetch():
            lifecycle.claim(run.pk)
            order.append(run.team_id)
        assert len(order) == 12
        for turn in range(0, 12, 2):
            assert len(set(order[turn : turn + 2])) == 2

    def test_runs_that_are_admitted_together_take_turns_as_well(self, cast: Cast) -> None:
        limit(cast.alice, concurrent_runs=1)
        for _ in range(5):
            start(cast.alice)
        limit(cast.alice, concurrent_runs=5)
        assert admission.sweep() == 4
        for _ in range(4):
            start(cast.charlie)
        order = []
        while run := fetch():
            lifecycle.claim(run.pk)
            order.append(run.team_id)
        assert order[:6].count(cast.other_team.pk) == 3

    def test_idle_time_is_not_saved_up(self, cast: Cast) -> None:
        """Charlie did nothing for fifty of Alice's runs; he still gets every other one only."""
        for _ in range(50):
            end(start(cast.alice))
        for actor in (cast.alice, cast.charlie):
            for _ in range(4):
                start(actor)
        order = []
        while run := fetch():
            lifecycle.claim(run.pk)
            order.append(run.team_id)
        assert order[:4].count(cast.other_team.pk) == 2

    def test_a_teams_own_runs_stay_in_order(self, cast: Cast) -> None:
        runs = [start(cast.alice) for _ in range(5)]
        assert [fetch() for _ in range(5)] == runs


@pytest.mark.django_db(transaction=True)
class TestRaces:
    def going(self, cast: Cast) -> int:
        return Run.objects.filter(team=cast.team, status__in=ACTIVE, stamp__isnull=False).count()

    def test_many_starts_at_once_keep_to_the_limit(self, cast: Cast) -> None:
        limit(cast.alice, concurrent_runs=3, queued_runs=3)
        echo = cast.echo
        results = together(*[partial(start, cast.alice, echo)] * 8)
        kinds = [type(result).__name__ for result in results]
        assert kinds.count("Run") >= 6, "those under way at once do not see each other"
        assert set(kinds) <= {"Run", "LimitReached"}
        assert self.going(cast) == 3
        with pytest.raises(LimitReached):
            start(cast.alice)

    def test_ends_and_starts_at_once_lose_no_slot(self, cast: Cast) -> None:
        """Whoever comes last sees everybody: no free slot is left beside a run that waits."""
        limit(cast.alice, concurrent_runs=2)
        echo = cast.echo
        live = [start(cast.alice) for _ in range(2)]
        for _ in range(15):
            ends = [partial(in_transaction, run) for run in live]
            together(*ends, *[partial(start, cast.alice, echo)] * 2)
            assert self.going(cast) == 2
            live = list(Run.objects.filter(status__in=ACTIVE, stamp__isnull=False))

    def test_two_writers_ending_runs_of_two_teams(self, cast: Cast) -> None:
        """Each ends a run of either team, in opposite order: no deadlock."""
        for actor in (cast.alice, cast.charlie):
            limit(actor, concurrent_runs=2)
        for _ in range(10):
            ours, theirs = (
                [start(actor) for _ in range(2)] for actor in (cast.alice, cast.charlie)
            )
            results = together(
                partial(in_transaction, ours[0], theirs[0]),
                partial(in_transaction, theirs[1], ours[1]),
            )
            assert results == [None, None]

    def test_a_frozen_holder_of_the_lock_delays_nobody(self, cast: Cast) -> None:
        """Neither starts nor ends wait for a team's lock; the sweep admits later, counts once."""
        limit(cast.alice, concurrent_runs=1)
        first, second = (start(cast.alice) for _ in range(2))
        with frozen(TeamUsage.objects.filter(team=cast.team)):
            in_transaction(first)
            assert fresh(first).status == Status.SUCCEEDED
            third = start(cast.alice)
            lifecycle.cancel(third)
            assert admitted(second, start(cast.alice)) == [False, False]
            assert EndedRun.objects.count() == 2
        Journal.objects.filter(pk=first.pk).update(bytes=7)
        assert admission.sweep() == 1
        assert admitted(second) == [True]
        assert EndedRun.objects.count() == 0

    def test_a_refused_start_leaves_nobody_waiting(self, cast: Cast) -> None:
        """It held the lock when others looked, and its rollback took back whom it had admitted."""
        limit(cast.alice, concurrent_runs=1, queued_runs=1)
        end(start(cast.alice))
        with frozen(TeamUsage.objects.filter(team=cast.team)):
            waiting = [start(cast.alice) for _ in range(2)]
            assert admitted(*waiting) == [False, False]
        with pytest.raises(LimitReached):
            start(cast.alice)
        assert admitted(*waiting) == [True, False]

    def test_what_a_run_stored_is_counted_once_whoever_comes_first(self, cast: Cast) -> None:
        runs = [start(cast.alice) for _ in range(4)]
        for run in runs:
            lifecycle.claim(run.pk)
            Journal.objects.filter(pk=run.pk).update(bytes=10)
            lifecycle.finish(run.pk, FINISHED)
        together(
            *[partial(admission.ended, [run.pk]) for run in runs],
            admission.sweep,
            admission.recount,
            *[partial(start, cast.alice)] * 2,
        )
        admission.sweep()
        assert TeamUsage.objects.get(team=cast.team).stored_bytes == 40
        lifecycle.claim((last := start(cast.alice)).pk)
        Journal.objects.filter(pk=last.pk).update(bytes=10)
        lifecycle.finish(last.pk, FINISHED)
        admission.freed(cast.team.pk, 15)  # erased before it was counted
        admission.ended([last.pk])
        assert TeamUsage.objects.get(team=cast.team).stored_bytes == 35


def in_transaction(*runs: Run) -> None:
    """What a writer does with the runs that end in one transaction."""
    for run in runs:
        lifecycle.claim(run.pk)
    with transaction.atomic():
        ended = [lifecycle.finish(run.pk, FINISHED) for run in runs]
    admission.ended(ended)
