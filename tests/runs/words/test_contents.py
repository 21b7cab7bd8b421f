"""What of a run can be searched, and how little of a long one is read."""

import time
from collections.abc import Iterable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agui_host.protocol import strict_json
from agui_host.protocol.encoding import Record
from runs.lifecycle.words import contents
from runs.lifecycle.words.cut import words
from runs.models import Run, Thread
from tests.cast import Cast, start
from tests.events.records import record
from tests.runs.api.test_outline import with_log

pytestmark = pytest.mark.django_db(transaction=True)


def ended(cast: Cast, *events: Record) -> Run:
    begun = record("RUN_STARTED", threadId="t", runId="r")
    return with_log(cast.alice, [begun, *events, record("RUN_FINISHED", threadId="t", runId="r")])


def text(message: str, *pieces: str) -> Iterable[Record]:
    yield record("TEXT_MESSAGE_START", messageId=message, role="assistant")
    for piece in pieces:
        yield record("TEXT_MESSAGE_CONTENT", messageId=message, delta=piece)
    yield record("TEXT_MESSAGE_END", messageId=message)


def wide(piece: str) -> Record:
    """A piece of text as intake stores it: two bytes for each of its letters."""
    event = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": piece}
    return Record(event["type"], strict_json.dumps(event).encode(), time.time())


def words_of(run: Run) -> list[str]:
    outcome = contents.read(run.pk)
    assert outcome is not None
    return words(outcome.texts)


def test_a_message_comes_in_pieces_and_in_full(cast: Cast) -> None:
    long = ["very ", "long ", *["so "] * 100, "fin", "ally"]
    run = ended(cast, *text("m", *long), *text("n", "sec", "ond"))
    assert words_of(run)[-5:] == ["very", "long", "so", "finally", "second"]
    assert not {"assistant", "succeeded", "fin", "sec"} & set(words_of(run))


def test_what_the_outline_says(cast: Cast) -> None:
    run = ended(
        cast,
        record("STEP_STARTED", stepName="check stock"),
        record("STEP_FINISHED", stepName="check stock"),
        record("TOOL_CALL_START", toolCallId="c", toolCallName="charge_card"),
        record("TOOL_CALL_ARGS", toolCallId="c", delta='{"amount": 4711, '),
        record("TOOL_CALL_ARGS", toolCallId="c", delta='"to": "Ada"}'),
        record("TOOL_CALL_END", toolCallId="c"),
        record("STATE_SNAPSHOT", snapshot={"basket": []}),
    )
    expected = {"check", "stock", "charge", "card", "amount", "4711", "ada", "basket"}
    assert expected <= set(words_of(run))
    assert not {"snapshot", "queue", "attempt", "c"} & set(words_of(run))


def test_names_error_and_what_the_user_said_in_this_run(cast: Cast) -> None:
    messages: list[dict[str, Any]] = [
        {"id": "1", "role": "user", "content": "earlier question"},
        {"id": "2", "role": "assistant", "content": "earlier answer"},
        {"id": "3", "role": "user", "content": "look at"},
        {"id": "4", "role": "user", "content": [
            {"type": "text", "text": "this picture"},
            {"type": "binary", "mimeType": "image/png", "data": "aaaa"},
        ]},
    ]  # fmt: skip
    run = start(cast.alice, threadId="order-7", runId="first", messages=messages)
    Thread.objects.filter(pk=run.thread_id).update(title="Fragile goods")
    Run.objects.filter(pk=run.pk).update(error_message="No funds")
    assert words_of(run) == [
        "first", "order", "7", "fragile", "goods", "no", "funds", "look", "at", "this", "picture",
    ]  # fmt: skip


def test_of_a_snapshot_only_the_last_turn(cast: Cast) -> None:
    messages = [
        {"id": "1", "role": "user", "content": "first"},
        {"id": "2", "role": "assistant", "content": "reply"},
        {"id": "3", "role": "user", "content": "second"},
        {"id": "4", "role": "assistant", "content": "conclusion"},
    ]
    run = ended(cast, record("MESSAGES_SNAPSHOT", messages=messages))
    assert {"second", "conclusion"} <= set(words_of(run))
    assert not {"first", "reply"} & set(words_of(run))


@pytest.mark.parametrize(("events", "reads"), [(10, 2), (30, 4), (1_000, 4)])
def test_the_beginning_and_the_end_of_a_long_log(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, events: int, reads: int
) -> None:
    monkeypatch.setattr(contents, "MOST_EVENTS", 20)
    monkeypatch.setattr(contents.outlines, "STEP_EVENTS", 10)
    run = ended(cast, *text("m", *(f"d{n} " for n in range(events))))
    with CaptureQueriesContext(connection) as queries:
        cut = set(words_of(run))
    assert len([each for each in queries if "agui_events" in each["sql"]]) <= reads
    assert {"d0", f"d{events - 1}"} <= cut
    assert ("d500" in cut) is False


def test_many_bytes_are_not_read_and_none_is_skipped_before(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "MOST_BYTES", 30_000)
    monkeypatch.setattr(contents.outlines, "STEP_BYTES", 10_000)
    run = ended(cast, *(wide(f"ё{n} {'ж' * 1_000} ") for n in range(100)))
    numbers = [int(word[1:]) for word in words_of(run) if word[0] == "ё"]
    assert numbers == list(range(len(numbers)))
    assert 12 < len(numbers) < 18


def test_a_large_input_is_not_read(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MOST_BYTES", 5_000)
    messages = [{"id": "1", "role": "user", "content": "hello " + "x" * 5_000}]
    run = start(cast.alice, runId="r", threadId="t", messages=messages)
    assert words_of(run) == ["r", "t"]


def test_only_so_many_characters_are_cut(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MOST_TEXT", 12)
    run = start(cast.alice, runId="r", threadId="thread", messages=[
        {"id": "1", "role": "user", "content": "hello world"}
    ])  # fmt: skip
    assert words_of(run) == ["r", "thread", "hello"]
