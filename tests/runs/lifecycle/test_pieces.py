"""Texts in pieces: what goes in comes out, whatever else of the thread was purged."""

from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.db.models.functions import Length
from hypothesis import given, settings
from hypothesis import strategies as st

from agui_host.backends.postgres import roles, scope
from agui_host.protocol.strict_json import dumps
from runs.lifecycle import history, interrupts
from runs.lifecycle.deletion import erasure
from runs.lifecycle.pieces import cutting, storing
from runs.models import Interrupt, Piece, Run, Status, ThreadHistory, whole_size
from tests.cast import Actor, Cast, start
from tests.runs.conversing import Told, text, user

pytestmark = pytest.mark.django_db(transaction=True)

LONG = 3_000
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.floats(1e15, 1e18),
    st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=8),
    st.sampled_from(["\x01", "\x00", "\ud800", "é😀"]),
    st.builds(lambda letter: letter * LONG, st.characters()),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)
BODIES = st.dictionaries(st.text(max_size=5) | st.sampled_from(["messages", "state"]), VALUES)


def question(number: int) -> dict[str, Any]:
    return user(f"words of {number}: " + f"{number:05}" * 2_000, f"u{number}")


def talk(actor: Actor, turns: int) -> list[Run]:
    """A conversation whose client sends all messages again with each turn."""
    runs, messages = [], []
    for number in range(turns):
        messages.append(question(number))
        state = {"step": number, "notes": "n" * LONG}
        body = {"threadId": "t", "messages": list(messages), "state": state, "tools": [], "x": 1.0}
        answer = f"{number}" * LONG
        runs.append(
            Told(start(actor, **body)).say(*text(f"a{number}", answer), end_of(number)).end()
        )
        messages.append({"id": f"a{number}", "role": "assistant", "content": answer})
    return runs


def end_of(number: int) -> dict[str, Any]:
    return {"type": "TEXT_MESSAGE_END", "messageId": f"a{number}"}


def stored(run: Run) -> str:
    """The column as it is."""
    with connection.cursor() as cursor:
        cursor.execute("select input from runs_run where journal_id = %s", [run.pk])
        return str(cursor.fetchone()[0])


def inputs(runs: list[Run]) -> dict[UUID, str]:
    rows = Run.objects.of_any_team().filter(pk__in=[run.pk for run in runs])
    return dict(rows.values_list("pk", "input"))


@given(BODIES)
def test_the_parts_of_any_input_are_its_text(body: dict[str, Any]) -> None:
    whole = dumps(body)
    parts = cutting.of_input(whole, body)
    assert "".join(part.text for part in parts) == whole
    assert all(len(part.text) >= cutting.PIECE for part in parts if part.is_piece)


@given(st.lists(st.text(st.characters(exclude_characters="\n")) | st.just("x" * LONG)))
def test_the_parts_of_any_fold_are_its_text(lines: list[str]) -> None:
    whole = "\n".join(lines)
    if len(lines) > 1:
        assert "".join(part.text for part in cutting.of_fold(whole)) == whole


def test_inputs_come_out_equal(cast: Cast) -> None:
    """Through the one way by which all of the host reads them."""
    thread = start(cast.alice, threadId="t").thread_id

    @given(BODIES)
    @settings(max_examples=60, deadline=None)
    def check(body: dict[str, Any]) -> None:
        whole = dumps(body)
        if any("\ud800" <= letter <= "\udfff" for letter in whole) or "\x00" in whole:
            return  # what UTF-8 cannot carry is refused at the door, or escaped
        with transaction.atomic():
            column = storing.input_of(thread, whole, body)
        with connection.cursor() as cursor:
            cursor.execute("select agui_whole(%s), agui_whole_size(%s)", [column, column])
            assert cursor.fetchone() == (whole, len(whole.encode()))

    check()


def test_a_conversation_is_stored_once(cast: Cast) -> None:
    runs = talk(cast.alice, 6)
    whole = inputs(runs)
    words = sum(len(question(number)["content"]) for number in range(6)) + 6 * LONG
    rows = Run.objects.of_any_team().filter(pk=runs[-1].pk)
    ((column, size),) = rows.values_list(Length("input"), whole_size("input"))
    assert size == len(whole[runs[-1].pk]) > words
    assert column < 2_048
    bodies = sum(len(body) for body in Piece.objects.of_any_team().values_list("body", flat=True))
    assert bodies < 1.3 * words
    assert [message["id"] for message in history.current(runs[0].thread_id).messages][-1] == "a5"


def test_a_purge_of_some_runs_leaves_the_other_inputs_whole(cast: Cast) -> None:
    runs = talk(cast.alice, 5)
    before = inputs(runs)
    for victim in (runs[3], runs[0], runs[4]):
        erasure.erase_run("host", victim)
        before[victim.pk] = "{}"
        assert inputs(runs) == before
        assert len(history.current(runs[0].thread_id).messages) == 10


def test_what_only_a_purged_run_had_goes_with_it(cast: Cast) -> None:
    """Its state, for one: the conversation keeps the messages."""
    runs = talk(cast.alice, 2)
    note = {"description": "d", "value": "secret" * LONG}
    odd = Told(start(cast.alice, threadId="t", context=[note])).end()
    assert Piece.objects.of_any_team().filter(body__contains="secretsecret").exists()
    erasure.erase_run("host", odd)
    assert not Piece.objects.of_any_team().filter(body__contains="secretsecret").exists()
    assert len(inputs(runs)) == 2


def test_erasing_the_thread_leaves_no_piece(cast: Cast) -> None:
    thread = talk(cast.alice, 3)[0].thread
    other = talk(cast.charlie, 2)
    erasure.erase_thread("host", thread)
    assert not Piece.objects.for_team(cast.team).exists()
    assert all('"messages"' in whole for whole in inputs(other).values())


def test_a_short_input_is_stored_whole_without_a_further_statement(
    cast: Cast, django_assert_num_queries: Any
) -> None:
    thread = start(cast.alice, threadId="t").thread_id
    body = {"messages": [user("x" * 3_000, "u")]}
    with django_assert_num_queries(0):
        assert storing.input_of(thread, dumps(body), body) == dumps(body)


def test_whole_inputs_of_an_earlier_release_are_read_and_converted(cast: Cast) -> None:
    runs = talk(cast.alice, 3)
    before = inputs(runs)
    fold = history.current(runs[0].thread_id).dump()
    for run_id, whole in before.items():
        Run.objects.of_any_team().filter(pk=run_id).update(input=whole)
    ThreadHistory.objects.update(fold=fold)
    storing.drop_unused([runs[0].thread_id])
    assert not Piece.objects.of_any_team().exists()
    assert inputs(runs) == before
    call_command("store_pieces")
    assert all(stored(run).startswith(storing.MARK) for run in runs)
    assert inputs(runs) == before
    assert history.current(runs[0].thread_id).dump() == fold


def test_a_question_of_a_long_conversation(cast: Cast) -> None:
    """The role that appends to journals reads no pieces."""
    talk(cast.alice, 1)
    messages = [question(0), {"id": "a0", "role": "assistant", "content": "0" * LONG}, question(1)]
    run = start(cast.alice, threadId="t", messages=messages)
    assert stored(run).startswith(storing.MARK)
    asked = {"outcome": {"type": "interrupt", "interrupts": [{"id": "q", "reason": "why"}]}}
    for _ in range(2):  # The second time the question of the first one is there.
        with scope.limited(cast.team.pk), transaction.atomic(), roles.appending():
            interrupts.settle(run.pk, Status.INTERRUPTED, asked)
    assert Interrupt.objects.get().run_id == run.pk
