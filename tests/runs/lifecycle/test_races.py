"""Two at once: of verbs that want the same run, one wins, and the other knows."""

from functools import partial

import pytest

from runs.lifecycle import lifecycle
from runs.models import Run, Status
from tests.cast import Cast, fresh, start, types_of
from tests.runs.jobs import FINISHED, rows
from tests.together import together

pytestmark = pytest.mark.django_db(transaction=True)


def test_of_cancel_and_claim_one_wins_and_the_other_knows(cast: Cast) -> None:
    for number in range(40):
        run = start(cast.alice, threadId=str(number))
        claimed, cancelled = together(
            partial(lifecycle.claim, run.pk),
            partial(lifecycle.cancel, run),
        )
        assert cancelled is None
        row = fresh(run)
        assert row.cancel_requested_at is not None
        if claimed is None:
            assert row.status == Status.CANCELLED
            assert types_of(run) == ["RUN_STARTED", "RUN_FINISHED"]
            assert row.due_at is None
        else:
            assert isinstance(claimed, lifecycle.Claimed)
            assert row.status == Status.RUNNING
            assert row.journal.writer == claimed.claim.generation
            assert row.journal.head == 0
            assert row.due_at is None


def test_one_of_many_claims_wins(cast: Cast) -> None:
    for number in range(10):
        run = start(cast.alice, threadId=str(number))
        results = together(*[partial(lifecycle.claim, run.pk)] * 4)
        won = [result for result in results if result is not None]
        assert len(won) == 1
        assert isinstance(won[0], lifecycle.Claimed)
        assert fresh(run).journal.writer == won[0].claim.generation


def test_of_cancel_and_finish_one_is_too_late(cast: Cast) -> None:
    for number in range(20):
        run = start(cast.alice, threadId=str(number))
        lifecycle.claim(run.pk)
        results = together(
            partial(lifecycle.finish, run.pk, FINISHED),
            partial(lifecycle.cancel, run),
        )
        assert results == [run.pk, None]
        assert fresh(run).status == Status.SUCCEEDED


def test_the_same_key_twice_at_once_makes_one_run(cast: Cast) -> None:
    """Both mint a threadId of their own, so nothing but the key can bring them together."""
    echo = cast.echo
    for number in range(15):
        post = partial(start, cast.alice, echo, f"k{number}", state={"same": True})
        results = together(*[post] * 3)
        assert all(isinstance(result, Run) for result in results), results
        assert len({result.pk for result in results}) == 1
    assert rows() == (15, 15, 15, 0)


def test_another_body_at_once_is_refused(cast: Cast) -> None:
    echo = cast.echo
    for number in range(10):
        post = partial(start, cast.alice, echo, f"k{number}")
        results = together(partial(post, state=1), partial(post, state=2))
        kinds = sorted(type(result).__name__ for result in results)
        assert kinds == ["IdempotencyConflict", "Run"]
    assert rows() == (10, 10, 10, 0)


def test_a_new_thread_admits_one_of_many(cast: Cast) -> None:
    echo = cast.echo
    for number in range(10):
        posts = [
            partial(start, actor, echo, threadId=f"t{number}") for actor in (cast.alice, cast.bob)
        ]
        results = together(*posts * 2)
        kinds = sorted(type(result).__name__ for result in results)
        assert kinds == ["Run", "ThreadBusy", "ThreadBusy", "ThreadBusy"]
    assert rows() == (10, 10, 10, 0)
