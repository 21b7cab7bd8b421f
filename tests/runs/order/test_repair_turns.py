"""Turns that were lost before ids were raised above their threads' newest."""

from collections.abc import Iterator

import pytest
from django.core.management import call_command

from runs.lifecycle import history
from runs.lifecycle.statements import new_run
from runs.models import Run
from tests.cast import Cast, start
from tests.runs import clocks
from tests.runs.conversing import tell, text, user

pytestmark = pytest.mark.django_db
BEFORE = """
with journal as ({insert_journal} values ({journal}))
{insert_run} values ({run}) returning created_at
"""


@pytest.fixture(autouse=True)
def _an_older_host(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Runs are stored with the id that their process gave them."""
    monkeypatch.setattr(new_run, "RUN", BEFORE)
    new_run._run.cache_clear()
    yield
    new_run._run.cache_clear()


def turn(cast: Cast, number: int, behind: float = 0.0) -> Run:
    with clocks.ahead(-behind):
        run = tell(
            cast.alice,
            *text(f"a{number}", f"answer {number}"),
            {"type": "TEXT_MESSAGE_END", "messageId": f"a{number}"},
            messages=[user(f"question {number}", f"u{number}")],
        )
    # A test is one transaction, and so one moment for the database.
    Run.objects.filter(pk=run.pk).update(created_at=run.created_at.replace(microsecond=number))
    history.current(run.thread_id)
    return run


def ids(run: Run) -> list[str]:
    return [message["id"] for message in history.current(run.thread_id).messages]


def expected(number: int) -> list[str]:
    return [f"{who}{each}" for each in range(number) for who in "ua"]


def test_lost_turns_come_back_where_they_belong(cast: Cast) -> None:
    turns = [turn(cast, number, behind=60 * (number % 2)) for number in range(6)]
    assert len(ids(turns[0])) < 12
    call_command("repair_turns")
    assert ids(turns[0]) == expected(6)
    call_command("repair_turns")
    assert ids(turns[0]) == expected(6)


def test_all_turns_after_a_clock_was_set_back(cast: Cast) -> None:
    turns = [turn(cast, number, behind=60 * (number > 1)) for number in range(5)]
    assert ids(turns[0]) == expected(2)
    call_command("repair_turns")
    assert ids(turns[0]) == expected(5)


def test_a_busy_thread_is_left(cast: Cast, capsys: pytest.CaptureFixture[str]) -> None:
    first = turn(cast, 0)
    turn(cast, 1, behind=60)
    start(cast.alice, threadId="t")
    call_command("repair_turns")
    assert "1 threads left" in capsys.readouterr().out
    assert ids(first) == expected(1)
