"""``citations`` with too much, and with what is not what it should be."""

import pytest
import structlog

from agui_host.runtimes.middleware import citations
from agui_host.runtimes.middleware.chain import parse
from agui_host.runtimes.middleware.citing.extract import Citation
from agui_host.runtimes.options import BadOptions
from tests.runtimes.middleware.citing import (
    BAD,
    CITE,
    FINISHED,
    GOOD,
    Held,
    chain,
    folded,
    key_of,
    message_of,
)
from tests.runtimes.middleware.passing import Wire, passed, text_message, types


async def test_a_message_that_is_too_large_still_passes() -> None:
    entry = {**CITE, "max_buffer": 100}
    pieces = text_message("m", GOOD, *["x" * 50] * 4, GOOD)
    events = await passed(chain(entry), *pieces, FINISHED)
    assert [e for e in events if e["type"].startswith("TEXT")] == pieces
    message = message_of(events)
    assert message["status"] == "error"
    assert message["error"] == "The message is larger than 100 bytes."
    assert message["summary"]["verified"] == 1


def test_the_bound_is_a_megabyte() -> None:
    assert citations.CitationsOptions().max_buffer == 1024 * 1024


@pytest.mark.parametrize("name", ["__proto__", "constructor", "prototype", "x" * 201])
async def test_ids_that_are_not_safe_get_no_state(name: str) -> None:
    events = await passed(chain(), *text_message(name, GOOD), *text_message("m", GOOD), FINISHED)
    assert folded(events)["deepcitation"]["messages"].keys() == {"m"}
    assert [e for e in events if e["type"].startswith("TEXT")] == [
        *text_message(name, GOOD),
        *text_message("m", GOOD),
    ]


@pytest.mark.parametrize("name", ["a/b", "~", "~1", "../x", "/deepcitation", "-", "0"])
async def test_ids_cannot_point_elsewhere(name: str) -> None:
    events = await passed(chain(), *text_message(name, GOOD), FINISHED)
    assert folded(events).keys() == {"deepcitation"}
    assert message_of(events, name)["status"] == "complete"


@pytest.mark.parametrize("key", ["__proto__", "constructor", "", "prototype"])
def test_keys_that_are_not_safe_are_refused(key: str) -> None:
    with pytest.raises(BadOptions, match="not an allowed name in a state"):
        parse([{**CITE, "key": key}])


async def test_only_the_last_messages_are_kept() -> None:
    quotes = [f'"quote number {n}" [1]' for n in range(5)]
    talk = [event for n, quote in enumerate(quotes) for event in text_message(f"m{n}", quote)]
    events = await passed(chain({**CITE, "keep": 2}), *talk, FINISHED)
    tree = folded(events)["deepcitation"]
    assert list(tree["messages"]) == ["m3", "m4"]
    assert tree["citations"].keys() == {key_of(quotes[3]), key_of(quotes[4])}


async def test_the_messages_of_earlier_runs_stay() -> None:
    before = folded(await passed(chain(), *text_message("old", GOOD), FINISHED))
    before["deepcitation"]["messages"]["__proto__"] = {"citations": {}}
    before["deepcitation"]["messages"]["odd"] = 5
    before["deepcitation"]["messages"]["cut"] = {"status": "verifying"}
    events = await passed(chain(state=before), *text_message("new", BAD), FINISHED)
    messages = folded(events, before)["deepcitation"]["messages"]
    assert {name: m["status"] for name, m in messages.items()} == {
        "old": "complete", "cut": "error", "new": "complete",
    }  # fmt: skip
    assert messages["old"]["summary"]["verified"] == 1


async def test_messages_of_others_are_not_looked_at() -> None:
    begin, *rest = text_message("m", GOOD)
    events = await passed(chain(), {**begin, "role": "user"}, *rest, FINISHED)
    assert "STATE_DELTA" not in types(events)


async def test_no_content_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(Held):
        async def verify(self, citation: Citation) -> Wire:
            raise ValueError(f"refused: {citation.quote}")

    monkeypatch.setitem(citations.VERIFIERS, "local", lambda options, ctx: Broken())
    with structlog.testing.capture_logs() as lines:
        events = await passed(
            chain(), *text_message("m\n\x1b[31m", GOOD), *text_message("__proto__"), FINISHED
        )
    assert lines
    assert "twelve" not in str(lines)
    assert "\\x1b" not in str(lines)
    message = message_of(events, "m\n\x1b[31m")
    assert (message["status"], message["error"]) == ("error", "1 could not be verified.")
    assert message["summary"]["pending"] == 1
