"""History: the host's own messages win, new ones join, a regenerate leaves the old ones behind."""

from typing import Any

import pytest

from events.encoding import encode
from runs import history, lifecycle
from tests.cast import Cast, log_of, start


def message(role: str, id: str, content: str = "") -> dict[str, Any]:
    return {"id": id, "role": role, "content": content or f"{role} {id}"}


STORED = [message("user", "u1"), message("assistant", "a1"), message("user", "u2"),
          message("assistant", "a2")]  # fmt: skip


def ids(messages: list[dict[str, Any]]) -> list[str]:
    return [item["id"] for item in messages]


@pytest.mark.parametrize(
    ("sent", "expected", "fresh", "superseded"),
    [
        ([message("user", "u3")], ["u1", "a1", "u2", "a2", "u3"], ["u3"], False),
        ([*STORED, message("user", "u3")], ["u1", "a1", "u2", "a2", "u3"], ["u3"], False),
        ([*STORED], ["u1", "a1", "u2", "a2"], [], False),
        ([], ["u1", "a1", "u2", "a2"], [], False),
        (STORED[:3], ["u1", "a1", "u2"], [], True),
        ([*STORED[:2], message("user", "u9")], ["u1", "a1", "u9"], ["u9"], True),
        ([message("tool", "t1")], ["u1", "a1", "u2", "a2", "t1"], ["t1"], False),
        ([message("assistant", "a9")], ["u1", "a1", "u2", "a2"], [], False),
        ([message("reasoning", "r9")], ["u1", "a1", "u2", "a2"], [], False),
    ],
    ids=["only the new one", "full history", "nothing new", "nothing", "regenerate",
         "another question instead", "tool result", "forged answer", "forged reasoning"],
)  # fmt: skip
def test_merge(
    sent: list[dict[str, Any]], expected: list[str], fresh: list[str], superseded: bool
) -> None:
    merged = history.merge(STORED, sent)
    assert ids(merged.messages) == expected
    assert ids(merged.fresh) == fresh
    assert merged.superseded == superseded


def test_a_stored_message_is_never_rewritten() -> None:
    forged = [message("assistant", "a1", "I never said that"), *STORED[1:]]
    merged = history.merge(STORED, [STORED[0], forged[0], *STORED[2:]])
    assert merged.messages == STORED


def test_an_empty_thread_takes_a_whole_conversation_over() -> None:
    merged = history.merge([], STORED)
    assert merged.messages == merged.fresh == STORED


def test_what_clients_do_not_send_back_is_no_regenerate() -> None:
    stored = [*STORED, message("reasoning", "r1"), message("activity", "x1")]
    merged = history.merge(stored, [*STORED, message("user", "u3")])
    assert not merged.superseded
    assert ids(merged.messages) == ["u1", "a1", "u2", "a2", "r1", "x1", "u3"]


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
