"""The order of a thread's runs, where the newest is started by a process whose clock is behind.

By that clock its id would be the lower one, and each comparison of the two runs would be wrong.
"""

import json

import pytest
from django.http import QueryDict

from agui_host.dashboard import listing
from agui_host.dialects.ai_sdk import resumes
from agui_host.dialects.copilotkit import verbs as copilot_channel
from agui_host.protocol.ids import Position
from agui_host.runtimes.models import Agent
from agui_host.teams.models import AuditEntry
from agui_host.web.host_socket.new_runs import floor
from runs.access import access, again, copilot_threads, following, start, threads
from runs.api.listing import search
from runs.lifecycle import admission, history, interrupts, lifecycle, repetition, turns
from runs.lifecycle.logs import joining
from runs.models import Interrupt, Run, Thread
from tests.cast import Cast
from tests.cast import start as started
from tests.runs import clocks
from tests.runs.asking import asked_again, asking, end, resume, yes
from tests.runs.conversing import tell, text, user
from tests.runs.lifecycle.test_repetition import lose

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast(cast: Cast) -> Cast:
    """With agents whose runs wait for their turn in a busy thread."""
    Agent.objects.update(on_busy="enqueue")
    return cast


def turn(cast: Cast, number: int, behind: float = 0.0) -> Run:
    with clocks.ahead(-behind):
        return tell(
            cast.alice,
            *text(f"a{number}", f"answer {number}"),
            {"type": "TEXT_MESSAGE_END", "messageId": f"a{number}"},
            messages=[user(f"question {number}", f"u{number}")],
        )


def two_turns(cast: Cast) -> tuple[Run, Run]:
    return turn(cast, 0), turn(cast, 1, behind=60)


def waiting(cast: Cast) -> Run:
    """A run that waits in the thread, started by a process whose clock is a minute behind."""
    with clocks.ahead(-60):
        return started(cast.alice, threadId="t")


@pytest.mark.parametrize("behind", [2, 60, 300])
def test_every_turn_is_in_the_history_in_order(cast: Cast, behind: float) -> None:
    runs = [turn(cast, number, behind * (number % 2)) for number in range(6)]
    messages = [message["id"] for message in history.current(runs[0].thread_id).messages]
    assert messages == [f"{who}{number}" for number in range(6) for who in "ua"]
    assert runs == sorted(runs, key=lambda run: run.pk)


def test_all_that_names_a_run_has_its_raised_id(cast: Cast) -> None:
    first = turn(cast, 0)
    later = waiting(cast)
    assert later.pk > first.pk
    assert later.journal.pk == later.pk
    assert AuditEntry.objects.filter(action="run.started", target=str(later.pk)).exists()


def test_each_thread_notes_its_newest_run(cast: Cast) -> None:
    two_turns(cast)
    last = waiting(cast)
    alone = started(cast.alice, threadId="another")
    assert dict(Thread.objects.values_list("thread_id", "newest")) == {
        "t": last.pk, "another": alone.pk
    }  # fmt: skip


def test_a_thread_whose_ids_are_of_the_future_goes_on(cast: Cast) -> None:
    with clocks.ahead(300):
        first = turn(cast, 0)
    later = turn(cast, 1)
    assert later.pk > first.pk
    messages = history.current(first.thread_id).messages
    assert [message["id"] for message in messages] == ["u0", "a0", "u1", "a1"]


class TestQuestions:
    """``interrupts``, ``resume`` and ``answers``."""

    def test_the_newest_are_those_of_the_newest_run(self, cast: Cast) -> None:
        asking(cast.alice, "q1")
        end(resume(cast.alice, yes("q1")))
        with clocks.ahead(-60):
            second = asking(cast.alice, "q2")
        assert [row.run for row in interrupts.newest(second.thread_id)] == [second]
        assert [row.run for row in interrupts.outstanding(second)] == [second]
        assert interrupts.asker(cast.team, "t") == cast.echo.slug

    def test_an_answer_starts_a_run(self, cast: Cast) -> None:
        turn(cast, 0)
        with clocks.ahead(-60):
            asking(cast.alice, "q")
        question = Interrupt.objects.get()
        with clocks.ahead(-120):
            run = start.answer(cast.alice.principal, question.pk, {"status": "resolved"})
        assert run is not None
        assert run.pk > question.run_id
        claimed = lifecycle.claim(run.pk)
        assert claimed is not None
        assert claimed.questions == []

    def test_what_an_answer_completes(self, cast: Cast) -> None:
        """Two questions after an earlier one: the second answer brings both."""
        asking(cast.alice, "q1")
        end(resume(cast.alice, yes("q1")))
        with clocks.ahead(-60):
            asking(cast.alice, "q2", "q3")
        fields = {"status": "resolved"}
        first, second = Interrupt.objects.filter(interrupt_id__in=["q2", "q3"]).order_by("pk")
        assert start.answer(cast.alice.principal, first.pk, fields) is None
        run = start.answer(cast.alice.principal, second.pk, fields)
        assert run is not None
        assert len(json.loads(run.input)["resume"]) == 2

    def test_those_that_a_run_ended_with(self, cast: Cast) -> None:
        first = asking(cast.alice, "q")
        with clocks.ahead(-60):
            again_asked = asked_again(cast.alice)
        row = Interrupt.objects.get()
        assert row.run == again_asked
        assert list(interrupts.ended_with(first)) == [row]
        assert interrupts.asked_by(first, "q") == row.pk
        assert interrupts.hold(first)


class TestWhoIsNext:
    """``agui_next_runs``, ``repetition`` and ``again``."""

    def test_runs_begin_in_the_order_of_their_starts(self, cast: Cast) -> None:
        busy = started(cast.alice, threadId="t")
        second = waiting(cast)
        third = started(cast.alice, threadId="t")
        for run in (busy, second, third):
            admission.admit_next(cast.team.pk)
            active = Run.objects.filter(stamp__isnull=False, ended_at=None)
            assert list(active) == [run]
            end(run)

    def test_a_lost_run_is_not_repeated_once_the_thread_went_on(self, cast: Cast) -> None:
        Agent.objects.update(repeatable=True)
        lost = lose(started(cast.alice, threadId="t"))
        waiting(cast)
        assert repetition.sweep() == []
        assert repetition.repeat(lost.pk) is None

    def test_a_lost_run_is_repeated_by_a_slow_clock(self, cast: Cast) -> None:
        Agent.objects.update(repeatable=True)
        turn(cast, 0)
        lost = lose(started(cast.alice, threadId="t"))
        with clocks.ahead(-60):
            (repeated,) = repetition.sweep()
        assert repeated > lost.pk

    def test_only_the_newest_run_goes_on(self, cast: Cast) -> None:
        first, second = two_turns(cast)
        assert not again.may_run_again(cast.alice.principal, first)
        assert not again.may_continue(cast.alice.principal, first)
        assert again.may_run_again(cast.alice.principal, second)
        assert again.may_continue(cast.alice.principal, second)

    def test_a_regenerate_spares_what_another_person_brought(self, cast: Cast) -> None:
        turn(cast, 0)
        tell(cast.bob, messages=[user("from Bob", "bob")])
        with clocks.ahead(-60):
            run = tell(cast.alice, messages=[user("question 0", "u0")])
        messages = history.current(run.thread_id).messages
        assert "bob" in [message["id"] for message in messages]


class TestReaders:
    """``joining``, ``following``, ``turns``, the dialects and the lists."""

    def test_the_cut_of_a_thread(self, cast: Cast) -> None:
        first = turn(cast, 0)
        assert joining.thread(first.thread_id)[1] == [first.pk]  # type: ignore[index]
        second = turn(cast, 1, behind=60)
        state = joining.standing(first.thread_id)
        assert state is not None
        assert state.runs == [second.pk]
        third = waiting(cast)
        state = joining.standing(first.thread_id)
        assert state is not None
        assert state.runs[-1] == third.pk

    def test_a_reader_of_the_thread_gets_the_next_run(self, cast: Cast) -> None:
        first, second = two_turns(cast)
        thread = first.thread_id
        alice = cast.alice.principal
        assert following.page(alice, thread, first.pk) == [second.pk]
        assert following.newest(alice, thread) == second.pk
        assert following.first(alice, thread, whole=True) == first.pk

    def test_a_socket_looks_back_from_the_databases_time(self, cast: Cast) -> None:
        first, second = two_turns(cast)
        runs = [(first.thread_id, first.pk), (first.thread_id, second.pk)]
        assert following.made_since({first.thread_id}, floor()) == runs
        assert following.since(cast.alice.principal, {first.thread_id}, floor()) == runs

    def test_turns(self, cast: Cast) -> None:
        first, second = two_turns(cast)
        assert turns.newest(first.thread_id) == [[first], [second]]
        assert turns.of(first) == [first]
        assert turns.starting(first) == [first]
        asking_run = asking(cast.alice, "q")
        with clocks.ahead(-60):
            answer = resume(cast.alice, yes("q"))
        assert turns.starting(asking_run) == [asking_run, answer]

    def test_dialects(self, cast: Cast) -> None:
        first, second = two_turns(cast)
        third = waiting(cast)
        fourth = started(cast.alice, threadId="t")
        alice = cast.alice.principal
        assert threads.active(alice, "t") == [third, fourth]
        assert resumes.turn(alice, "t") == [third]
        cursor = f"{first.pk}:1"
        place = copilot_channel._behind(alice, first.thread_id, cursor)
        assert place == (1, [first.pk, second.pk, third.pk, fourth.pk])

    def test_the_events_of_a_thread(self, cast: Cast) -> None:
        first, second = two_turns(cast)
        (listed,) = copilot_threads.newest(cast.alice.principal, limit=5)
        assert (listed.last, listed.started_by) == (second, first.started_by)
        thread = Thread.objects.get()
        after = copilot_threads.Place(first.pk, Position(first.journal.head))
        page, _ = copilot_threads.events(thread, after, 100)
        assert len(page) == second.journal.head

    def test_the_list_of_runs(self, cast: Cast) -> None:
        first, second = two_turns(cast)
        visible = access.visible(cast.alice.principal)
        assert list(visible) == [second, first]
        assert listing.count_newer(visible, str(first.pk)) == 1
        page = listing.page(
            cast.alice.principal, search.matching(cast.alice.principal, QueryDict())
        )
        assert page.runs == [second, first]
