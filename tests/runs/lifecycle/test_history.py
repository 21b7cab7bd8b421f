"""History: the host's own messages win, new ones join, a regenerate leaves the old ones behind."""

import json
from typing import Any

import pytest

from agui_host.protocol.encoding import encode
from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.sizes import memory_of
from runs.lifecycle import history, lifecycle
from tests.cast import Actor, Cast, log_of, start
from tests.runs.conversing import tell, text


def message(role: str, id: str, content: str = "") -> dict[str, Any]:
    return {"id": id, "role": role, "content": content or f"{role} {id}"}


STORED = [message("user", "u1"), message("assistant", "a1"), message("user", "u2"),
          message("assistant", "a2")]  # fmt: skip


def ids(messages: list[dict[str, Any]]) -> list[str]:
    return [item["id"] for item in messages]


ALL = ["u1", "a1", "u2", "a2"]
SAYS_SO: dict[str, Any] = {"forwardedProps": {"regenerate": True}}
ANSWER: dict[str, Any] = {"resume": [{"interruptId": "q", "status": "resolved"}]}
LEGACY: dict[str, Any] = {"forwardedProps": {"command": {"resume": "yes"}}}
RULE: dict[str, tuple[list[dict[str, Any]], dict[str, Any], list[str]]] = {
    # name: (what the client sends, what else is in its input, what the thread then holds)
    "only the new one": ([message("user", "u3")], {}, [*ALL, "u3"]),
    "full history": ([*STORED, message("user", "u3")], {}, [*ALL, "u3"]),
    "nothing new": ([*STORED], {}, ALL),
    "nothing": ([], {}, ALL),
    "an old tab asks something": ([*STORED[:2], message("user", "u3")], {}, [*ALL, "u3"]),
    "an old tab brings a result": ([*STORED[:2], message("tool", "t1")], {}, [*ALL, "t1"]),
    "an old tab brings an answer": (STORED[:1], ANSWER, ALL),
    "a legacy answer": (STORED[:3], LEGACY, ALL),
    "an old tab, nothing new": (STORED[:2], {}, ALL),
    "a tool result": ([message("tool", "t1")], {}, [*ALL, "t1"]),
    "a forged answer": ([message("assistant", "a9")], {}, ALL),
    "forged reasoning": ([message("reasoning", "r9")], {}, ALL),
    "regenerate": (STORED[:3], {}, ["u1", "a1", "u2"]),
    "regenerate, only that message": (STORED[2:3], {}, ["u1", "a1", "u2"]),
    "regenerate an earlier answer": (STORED[:1], {}, ["u1"]),
    "regenerate, reasoning behind": (
        [*STORED[:3], message("reasoning", "r1")], {}, ["u1", "a1", "u2"],
    ),
    "regenerate, an answer unknown here": (
        [STORED[0], message("assistant", "a9"), STORED[2]], {}, ["u1", "a1", "u2"],
    ),
    "said: from a question": (STORED[:3], SAYS_SO, ["u1", "a1", "u2"]),
    "said: from an answer": (STORED[:2], SAYS_SO, ["u1", "a1"]),
    "said: another question instead": (
        [*STORED[:2], message("user", "u9")], SAYS_SO, ["u1", "a1", "u9"],
    ),
    "said: nothing sent": ([], SAYS_SO, ["u1", "a1", "u2"]),
    "said: nothing known": ([message("user", "u9")], SAYS_SO, [*ALL, "u9"]),
    "said otherwise": (STORED[:2], {"forwardedProps": {"regenerate": "a2"}}, ALL),
}  # fmt: skip


@pytest.mark.parametrize("case", RULE)
def test_what_becomes_of_the_thread(case: str) -> None:
    messages, more, expected = RULE[case]
    regenerated = history.regenerates(STORED, {"messages": messages, **more})
    merged = history.merge(STORED, messages, keep=regenerated and regenerated[0])
    assert ids(merged.messages) == expected
    assert ids(merged.fresh) == [name for name in expected if name not in ALL]
    assert merged.superseded == (not set(ALL) <= set(expected))
    explicit = more is SAYS_SO
    assert regenerated is None or regenerated[1] == explicit


def test_a_stored_message_is_never_rewritten() -> None:
    forged = [message("assistant", "a1", "I never said that"), *STORED[1:]]
    merged = history.merge(STORED, [STORED[0], forged[0], *STORED[2:]])
    assert merged.messages == STORED


def test_an_empty_thread_takes_a_whole_conversation_over() -> None:
    merged = history.merge([], STORED)
    assert merged.messages == merged.fresh == STORED


def test_what_clients_do_not_send_back_is_no_regenerate() -> None:
    stored = [*STORED, message("reasoning", "r1"), message("activity", "x1")]
    messages = [*STORED, message("user", "u3")]
    assert history.regenerates(stored, {"messages": messages}) is None
    merged = history.merge(stored, messages)
    assert not merged.superseded
    assert ids(merged.messages) == ["u1", "a1", "u2", "a2", "r1", "x1", "u3"]


def turn(actor: Actor, number: int, *new_messages: dict[str, Any], **more: Any) -> list[str]:
    """A run that sends these messages and answers; what the thread then says."""
    run = tell(
        actor, *text(f"a{number}", f"answer {number}"),
        {"type": "TEXT_MESSAGE_END", "messageId": f"a{number}"},
        runId=f"r{number}", messages=list(new_messages), **more,
    )  # fmt: skip
    return ids(history.current(run.thread_id).messages)


@pytest.mark.django_db(transaction=True)
def test_a_team_mates_turn_stays_whatever_an_old_tab_sends(cast: Cast) -> None:
    question, again = message("user", "u1"), message("user", "u3")
    turn(cast.alice, 1, question)
    assert turn(cast.bob, 2, message("user", "u2")) == ALL
    old_tab = [question, message("assistant", "a1")]
    assert turn(cast.alice, 3, *old_tab, again) == [*ALL, "u3", "a3"]
    assert turn(cast.alice, 4, question) == [*ALL, "u3", "a3", "a4"], "another answer to u1, kept"
    options = {"forwardedProps": {"regenerate": True}}
    assert turn(cast.alice, 5, question, **options) == ["u1", "a5"]


@pytest.mark.django_db(transaction=True)
def test_ones_own_turns_may_be_told_anew(cast: Cast) -> None:
    turn(cast.bob, 1, message("user", "u1"))
    turn(cast.alice, 2, message("user", "u2"))
    turn(cast.alice, 3, message("user", "u3"))
    messages = [message("user", "u1"), message("assistant", "a1"), message("user", "u2")]
    assert turn(cast.alice, 4, *messages) == ["u1", "a1", "u2", "a4"]
    assert turn(cast.bob, 5, *messages) == ["u1", "a1", "u2", "a5"], "nobody's question goes"


@pytest.mark.django_db(transaction=True)
def test_a_run_that_never_began_keeps_what_its_user_said(cast: Cast) -> None:
    run = start(cast.alice, threadId="t", messages=[message("user", "u1", "do not forget me")])
    lifecycle.cancel(run)
    assert log_of(run)[0]["input"]["messages"] == [message("user", "u1", "do not forget me")]
    fold = history.current(run.thread_id)
    assert [item["content"] for item in fold.messages] == ["do not forget me"]


def test_no_line_break_that_splits_a_stream_leaves_unescaped() -> None:
    event = {"type": "CUSTOM", "name": "breaks", "value": "a\u2028b\u2029c\x85d"}
    assert len(encode(event).decode().splitlines()) == 1


@pytest.mark.django_db(transaction=True)
def test_the_memory_of_a_history_is_known_from_stored_texts(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim writes no history again to measure it; what an input repeats counts once."""
    long = [message("user", f"u{n}", "some words " * 1_000) for n in range(20)]
    end = {"type": "TEXT_MESSAGE_END", "messageId": "a1"}
    tell(cast.alice, *text("a1", "yes"), end, messages=long, threadId="t")
    run = start(cast.alice, threadId="t", messages=[*long, message("user", "new")])
    past = history.measured(run.thread_id)
    monkeypatch.setattr(Fold, "dump", None)
    prepared = history.prepare(run, past)
    whole = memory_of(json.dumps({"messages": prepared.history}))
    assert len(prepared.history) == 22
    assert whole < prepared.memory < 1.5 * whole
    lifecycle.cancel(run)
    more = start(cast.alice, threadId="t", runId="more", messages=[message("user", "more")])
    assert whole < history.prepare(more, past).memory < 1.2 * whole
