"""Every reader learns the same, whether a run streams its answer or sends it as a snapshot.

``FORM_EXAMPLES`` says how many answers the long run tries.
"""

import json
import os
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from tests.dialects.folds.conversation import conversations, mistaken, retold, settled, snapshot_of
from tests.dialects.folds.forms import SECRET, Event, answers, folded, log, snapshot, streamed
from tests.dialects.folds.readers import READERS
from tests.protocol.legal import THOROUGH

SIZES = "short", "long"
MANY = int(os.environ.get("FORM_EXAMPLES", "10000"))


def test_some_answers_in_two_forms() -> None:
    prove(150)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_many_answers_in_two_forms() -> None:
    prove(MANY)


def prove(examples: int) -> None:
    settings(THOROUGH, max_examples=examples)(given(answers())(both_forms))()


def both_forms(messages: list[Event]) -> None:
    events = log(streamed(messages))
    whole = folded(events).messages
    snapshots = log([snapshot(whole[1:])])
    for name, read in READERS.items():
        assert read(snapshots) == read(events), name
    repeated = log([*streamed(messages), snapshot(whole[1:])])
    for name, read in READERS.items():
        assert read(repeated) == read(events), f"{name}: a snapshot that repeats says nothing new"
    silent = [event for event in streamed(messages) if event["type"] != "TOOL_CALL_ARGS"]
    late = log([*silent, snapshot(whole[1:])])
    for name, read in READERS.items():
        assert read(late) == read(events), f"{name}: arguments that only the snapshot has"


def test_some_conversations() -> None:
    converse(150)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_many_conversations() -> None:
    converse(MANY)


def converse(examples: int) -> None:
    settings(THOROUGH, max_examples=examples)(given(conversations(), st.data())(all_forms))()


def all_forms(log: list[Event], data: st.DataObject) -> None:
    """A log; its messages as a snapshot; the log with snapshots that repeat or correct it."""
    *events, end = log
    others = {
        "a snapshot alone": retold(log),
        "a snapshot that repeats": [*events, snapshot_of(log), end],
        "a snapshot that corrects another": [
            *events,
            mistaken(log, data.draw),
            snapshot_of(log),
            end,
        ],
    }
    note(json.dumps(log))
    for name, read in READERS.items():
        expected = settled(name, read(log))
        for form, other in others.items():
            assert settled(name, read(other)) == expected, (name, form)
    short, long = (settled("page", READERS[f"page of a {size} run"](log)) for size in SIZES)
    assert short == long


def test_some_redacted_answers() -> None:
    redact(150)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_many_redacted_answers() -> None:
    redact(MANY)


def redact(examples: int) -> None:
    bounds = settings(THOROUGH, max_examples=examples)
    bounds(given(answers(), st.randoms(use_true_random=False))(redacted))()


def redacted(messages: list[Event], chance: Any) -> None:
    """Parts are streamed with a secret, or not at all; the last snapshot has the truth."""
    before = [_with_secret(message, chance) for message in messages if chance.random() < 0.8]
    calls = {call["id"] for message in before for call in message.get("toolCalls", ())}
    before = [each for each in before if each.get("toolCallId") in (None, *calls)]
    gone = {"id": "gone", "role": "assistant", "content": f"{SECRET} that goes"}
    before.insert(chance.randrange(len(before) + 1), gone)
    events = streamed(before) if chance.random() < 0.7 else [snapshot(before)]
    if chance.random() < 0.5:
        events.append(snapshot(before))
    final = log([*events, snapshot(messages)])
    plain = log(streamed(messages))
    for name, read in READERS.items():
        answer = read(final)
        if name == "outline":  # the row stays, without the text
            answer = [row for row in answer if row["id"] != "gone"]
        assert SECRET not in repr(answer), name
        words, expected = _words(answer), _words(read(plain))
        if name == "Chat Completions":  # where all texts are one
            words, expected = sorted("".join(words)), sorted("".join(expected))
        assert words == expected, name


def _with_secret(message: Event, chance: Any) -> Event:
    now = dict(message)
    if chance.random() < 0.5 and isinstance(now.get("content"), str):
        now["content"] = f"{SECRET} {now['content']}"
    calls = [
        {**call, "function": {**call["function"], "arguments": f'{{"q":"{SECRET}"}}'}}
        if chance.random() < 0.3
        else call
        for call in now.get("toolCalls", ())
    ]
    return {**now, "toolCalls": calls} if calls else now


def _words(answer: Any) -> list[str]:
    """All texts of an answer, in any order: streamed parts come before those of a snapshot."""
    if isinstance(answer, str):
        return sorted(answer.split("\n\n"))
    if isinstance(answer, dict):
        answer = list(answer.values())
    if isinstance(answer, list | tuple):
        return sorted(word for part in answer for word in _words(part) if word)
    return []
