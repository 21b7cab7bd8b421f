"""The status of a run: who may change it, and who wins when two want to."""

import json
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from agui_host.errors import Conflict
from agui_host.protocol.encoding import Record
from agui_host.protocol.input.run_agent_input import OnBusy
from agui_host.runtimes.models import Agent
from events import journal
from events.journal import Batch
from runs.lifecycle import lifecycle, statuses
from runs.models import ENDED, Run, Status, Thread
from tests.cast import Cast, fresh, log_of, start, types_of
from tests.runs.jobs import FAILED, FINISHED, rows

pytestmark = pytest.mark.django_db


class TestStart:
    def test_everything_a_run_needs_is_made_together(self, cast: Cast) -> None:
        run = fresh(start(cast.alice, threadId="t", runId="r", state={"a": 1}, parentRunId="p"))
        assert (run.status, run.run_id, run.thread.thread_id) == (Status.QUEUED, "r", "t")
        assert (run.team, run.agent, run.started_by) == (cast.team, cast.echo, "user:alice")
        assert (run.parent_run_id, run.started_at, run.ended_at) == ("p", None, None)
        assert json.loads(run.input)["state"] == {"a": 1}
        assert (run.journal.head, run.journal.closed_at) == (0, None)
        assert (run.due_at is None, run.worker, run.job_id) == (False, None, None)

    def test_the_next_run_joins_the_thread(self, cast: Cast) -> None:
        first = start(cast.alice, threadId="t", runId="1")
        lifecycle.cancel(first)
        second = start(cast.bob, threadId="t", runId="2")
        assert second.thread == first.thread

    def test_a_run_id_is_taken_once_per_thread(self, cast: Cast) -> None:
        first = start(cast.alice, threadId="t", runId="r")
        lifecycle.cancel(first)
        before = rows()
        with pytest.raises(lifecycle.RunExists) as refused:
            start(cast.bob, threadId="t", runId="r")
        assert refused.value.details == {
            "id": str(first.pk),
            "run_id": "r",
            "events_url": f"/api/v1/runs/{first.pk}/events",
        }
        assert rows() == before
        start(cast.bob, threadId="other", runId="r")

    def test_the_same_ids_in_two_teams_are_two_runs(self, cast: Cast) -> None:
        ours = start(cast.alice, key="k", threadId="t", runId="r")
        theirs = start(cast.charlie, key="k", threadId="t", runId="r")
        assert ours.pk != theirs.pk
        assert ours.thread_id != theirs.thread_id


class TestBusyThread:
    @pytest.mark.parametrize("state", ["queued", "running"])
    def test_reject_is_the_default(self, cast: Cast, state: str) -> None:
        first = start(cast.alice, threadId="t")
        if state == "running":
            lifecycle.claim(first.pk)
        before = rows()
        with pytest.raises(lifecycle.ThreadBusy) as refused:
            start(cast.alice, threadId="t")
        assert refused.value.details["id"] == str(first.pk)
        assert rows() == before

    def test_enqueue_waits_behind_it(self, cast: Cast) -> None:
        first = start(cast.alice, threadId="t")
        second = start(cast.alice, threadId="t", onBusy="enqueue")
        assert [fresh(run).status for run in (first, second)] == [Status.QUEUED, Status.QUEUED]
        assert [fresh(run).due_at is None for run in (first, second)] == [False, True]

    def test_cancel_running_ends_what_waits_and_stops_what_runs(self, cast: Cast) -> None:
        running = start(cast.alice, threadId="t")
        lifecycle.claim(running.pk)
        waiting = start(cast.alice, threadId="t", onBusy="enqueue")
        new = start(cast.alice, threadId="t", onBusy="cancel_running")
        assert fresh(waiting).status == Status.CANCELLED
        assert fresh(running).cancel_requested_at is not None
        assert fresh(new).status == Status.QUEUED

    def test_the_agents_policy_counts_where_the_request_has_none(self, cast: Cast) -> None:
        Agent.objects.filter(team=cast.team).update(on_busy=OnBusy.ENQUEUE)
        start(cast.alice, threadId="t")
        start(cast.alice, threadId="t")
        with pytest.raises(lifecycle.ThreadBusy):
            start(cast.alice, threadId="t", onBusy="reject")


class TestIdempotency:
    def test_the_same_request_gets_the_same_run(self, cast: Cast) -> None:
        first = start(cast.alice, key="k", state=1)
        before = rows()
        again = start(cast.bob, key="k", state=1)
        assert again.pk == first.pk
        assert rows() == before

    def test_it_outlives_the_run(self, cast: Cast) -> None:
        first = start(cast.alice, key="k", threadId="t", runId="r")
        lifecycle.cancel(first)
        assert start(cast.alice, key="k", threadId="t", runId="r").pk == first.pk

    def test_another_body_under_the_key_is_refused(self, cast: Cast) -> None:
        start(cast.alice, key="k", state=1)
        before = rows()
        with pytest.raises(lifecycle.IdempotencyConflict):
            start(cast.alice, key="k", state=2)
        assert rows() == before

    def test_without_a_key_every_request_is_its_own(self, cast: Cast) -> None:
        assert start(cast.alice).pk != start(cast.alice).pk


class TestTransitions:
    def test_a_queued_run_is_claimed_once(self, cast: Cast) -> None:
        run = start(cast.alice)
        claimed = lifecycle.claim(run.pk)
        assert claimed
        assert (claimed.run.status, claimed.claim.generation) == (Status.RUNNING, 1)
        assert claimed.run.started_at is not None
        assert lifecycle.claim(run.pk) is None
        assert fresh(run).journal.writer == 1, "a refused claim must not take the lease away"

    def test_nobody_claims_a_cancelled_run(self, cast: Cast) -> None:
        run = start(cast.alice)
        lifecycle.cancel(run)
        assert lifecycle.claim(run.pk) is None

    @pytest.mark.parametrize(
        ("terminal", "status"),
        [
            (FINISHED, Status.SUCCEEDED),
            ({**FINISHED, "outcome": {"type": "success"}}, Status.SUCCEEDED),
            ({**FINISHED, "outcome": {"type": "interrupt"}}, Status.INTERRUPTED),
            ({**FINISHED, "outcome": {"type": "cancelled"}}, Status.CANCELLED),
            (FAILED, Status.FAILED),
        ],
    )
    def test_the_terminal_event_decides_how_it_ended(
        self, cast: Cast, terminal: dict[str, Any], status: Status
    ) -> None:
        run = start(cast.alice)
        lifecycle.claim(run.pk)
        lifecycle.finish(run.pk, terminal)
        row = fresh(run)
        assert row.status == status
        assert row.ended_at is not None
        assert bool(row.error_code) == (status == Status.FAILED)

    def test_what_the_agent_left_is_kept(self, cast: Cast) -> None:
        run = start(cast.alice)
        lifecycle.claim(run.pk)
        lifecycle.finish(run.pk, {**FINISHED, "result": None, "usage": [{"inputTokens": 3}]})
        row = fresh(run)
        assert (row.result, row.usage) == ("null", '[{"inputTokens":3}]')

    @pytest.mark.parametrize("code", ["x" * 300, "nul\x00inside", "", None])
    def test_an_agents_own_error_fits_whatever_it_says(self, cast: Cast, code: str | None) -> None:
        run = start(cast.alice)
        lifecycle.claim(run.pk)
        terminal = {"type": "RUN_ERROR", "message": "nul\x00" + "long" * 5_000}
        lifecycle.finish(run.pk, terminal | ({} if code is None else {"code": code}))
        row = fresh(run)
        assert row.status == Status.FAILED
        assert 0 < len(row.error_code) <= 40

    def test_a_run_ends_once(self, cast: Cast) -> None:
        run = start(cast.alice)
        lifecycle.claim(run.pk)
        lifecycle.finish(run.pk, FINISHED)
        ended = fresh(run)
        for terminal in (FINISHED, FAILED, {**FINISHED, "outcome": {"type": "cancelled"}}):
            with pytest.raises(lifecycle.IllegalTransition):
                lifecycle.finish(run.pk, terminal)
        assert fresh(run).ended_at == ended.ended_at
        assert fresh(run).status == Status.SUCCEEDED

    def test_a_queued_run_cannot_succeed(self, cast: Cast) -> None:
        run = start(cast.alice)
        with pytest.raises(lifecycle.IllegalTransition):
            lifecycle.finish(run.pk, FINISHED)
        assert fresh(run).status == Status.QUEUED

    def test_illegal_transitions_are_conflicts(self) -> None:
        assert issubclass(lifecycle.IllegalTransition, Conflict)

    def test_the_table_leads_from_every_state_to_an_end_and_never_back(self) -> None:
        assert set(statuses.TRANSITIONS) == {Status.QUEUED, Status.RUNNING}
        for origin, targets in statuses.TRANSITIONS.items():
            assert Status.QUEUED not in targets
            assert origin not in targets
            assert targets & set(ENDED)


class TestDatabaseConstraints:
    """What the verbs refuse, the database refuses too, whoever asks it."""

    @pytest.mark.parametrize(
        ("values", "constraint"),
        [
            ({"status": "paused"}, "run_status_known|run_ended_at"),
            ({"status": Status.SUCCEEDED}, "run_ended_at_exactly_when_ended"),
            ({"ended_at": timezone.now()}, "run_ended_at_exactly_when_ended"),
            ({"error_code": "agent_error"}, "run_error_code_exactly_when_failed"),
            (
                {"status": Status.FAILED, "ended_at": timezone.now()},
                "run_error_code_exactly_when_failed",
            ),
        ],
    )
    def test_half_states(self, cast: Cast, values: dict[str, Any], constraint: str) -> None:
        run = start(cast.alice)
        with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
            Run.objects.filter(pk=run.pk).update(**values)

    def test_two_running_runs_of_a_thread(self, cast: Cast) -> None:
        first = start(cast.alice, threadId="t")
        second = start(cast.alice, threadId="t", onBusy="enqueue")
        Run.objects.filter(pk=first.pk).update(status=Status.RUNNING)
        with pytest.raises(IntegrityError, match="run_one_running"), transaction.atomic():
            Run.objects.filter(pk=second.pk).update(status=Status.RUNNING)

    def test_names_are_taken_once(self, cast: Cast) -> None:
        first = start(cast.alice, key="k", threadId="t", runId="r")
        second = start(cast.alice, threadId="t", runId="s", onBusy="enqueue")
        for values in ({"run_id": first.run_id}, {"idempotency_key": "k"}):
            with pytest.raises(IntegrityError), transaction.atomic():
                Run.objects.filter(pk=second.pk).update(**values)
        with pytest.raises(IntegrityError), transaction.atomic():
            Thread.objects.create(team=cast.team, thread_id="t")


class TestCancel:
    def test_a_queued_run_ends_at_once_with_a_whole_log(self, cast: Cast) -> None:
        run = start(cast.alice, threadId="t", runId="r")
        lifecycle.cancel(run)
        row = fresh(run)
        assert (row.status, row.started_at) == (Status.CANCELLED, None)
        assert row.cancel_requested_at is not None
        opening, ending = log_of(run)
        assert (opening["type"], opening["threadId"], opening["runId"]) == ("RUN_STARTED", "t", "r")
        assert (ending["type"], ending["outcome"]) == ("RUN_FINISHED", {"type": "cancelled"})
        assert row.journal.closed_at is not None
        assert row.due_at is None

    def test_a_running_run_is_asked_to_stop(self, cast: Cast) -> None:
        run = start(cast.alice)
        lifecycle.claim(run.pk)
        lifecycle.cancel(run)
        row = fresh(run)
        assert (row.status, row.due_at) == (Status.RUNNING, None)
        assert row.cancel_requested_at is not None
        assert row.journal.writer == 1, "the worker keeps its lease, to end the run itself"

    def test_asking_again_changes_nothing(self, cast: Cast) -> None:
        run = start(cast.alice)
        lifecycle.claim(run.pk)
        lifecycle.cancel(run)
        requested_at = fresh(run).cancel_requested_at
        lifecycle.cancel(run)
        assert fresh(run).cancel_requested_at == requested_at

    def test_an_ended_run_stays_as_it_ended(self, cast: Cast) -> None:
        run = start(cast.alice)
        lifecycle.claim(run.pk)
        lifecycle.finish(run.pk, FINISHED)
        lifecycle.cancel(run)
        row = fresh(run)
        assert (row.status, row.cancel_requested_at) == (Status.SUCCEEDED, None)

    def test_the_thread_is_free_afterwards(self, cast: Cast) -> None:
        lifecycle.cancel(start(cast.alice, threadId="t"))
        start(cast.alice, threadId="t")


class TestEndLost:
    @pytest.mark.parametrize("claimed", [True, False])
    def test_nobody_is_to_take_it(self, cast: Cast, claimed: bool) -> None:
        run = start(cast.alice)
        if claimed:
            lifecycle.claim(run.pk)
        assert lifecycle.end_lost(fresh(run))
        row = fresh(run)
        assert (row.status, row.error_code) == (Status.FAILED, "worker_lost")
        assert types_of(run) == ["RUN_STARTED", "RUN_ERROR"]
        assert row.due_at is None

    def test_what_was_stored_stays(self, cast: Cast) -> None:
        run = start(cast.alice)
        claimed = lifecycle.claim(run.pk)
        assert claimed
        record = Record("RUN_STARTED", b'{"type":"RUN_STARTED"}', 1.0)
        journal.append([Batch(run.pk, claimed.claim.generation, 1, [record])])
        assert lifecycle.end_lost(fresh(run))
        assert types_of(run) == ["RUN_STARTED", "RUN_ERROR"]

    def test_the_late_worker_appends_nothing(self, cast: Cast) -> None:
        run = start(cast.alice)
        claimed = lifecycle.claim(run.pk)
        assert claimed
        lifecycle.end_lost(fresh(run))
        before = types_of(run)
        record = Record("RUN_STARTED", b'{"type":"RUN_STARTED"}', 1.0)
        late = Batch(run.pk, claimed.claim.generation, 1, [record])
        assert journal.append([late]) == set()
        assert types_of(run) == before

    def test_an_ended_run_is_not_ended_again(self, cast: Cast) -> None:
        run = start(cast.alice)
        assert lifecycle.end_lost(fresh(run))
        assert not lifecycle.end_lost(fresh(run))
        assert types_of(run) == ["RUN_STARTED", "RUN_ERROR"]
