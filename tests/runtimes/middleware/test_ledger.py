"""The state of citations: every change as the operations that make it in the reader's copy."""

from copy import deepcopy
from typing import Any

import jsonpatch
import pytest

from agui_host.runtimes.middleware.citing.extract import Citation
from agui_host.runtimes.middleware.citing.ledger import LONGEST_KEY, Ledger, is_safe

ONE, TWO = Citation("k1", "the quote", "1"), Citation("k2", "another", None)
VERIFIED = {"status": "verified"}


class Reader:
    """A reader's state, to which every operation is applied."""

    def __init__(self, state: dict[str, Any], keep: int = 10) -> None:
        self.state: Any = deepcopy(state)
        self.ledger = Ledger("cites", state, keep)

    def take(self, operations: list[dict[str, Any]]) -> None:
        self.state = jsonpatch.apply_patch(self.state, operations)
        assert self.state["cites"] == self.ledger.tree


@pytest.mark.parametrize("key", ["", "__proto__", "constructor", "x" * (LONGEST_KEY + 1), 1])
def test_keys_that_could_harm_a_reader(key: Any) -> None:
    assert not is_safe(key)
    assert is_safe("x" * LONGEST_KEY)


def test_readers_follow_each_change() -> None:
    reader = Reader({"own": 1})
    ledger = reader.ledger
    reader.take(ledger.start("m"))
    reader.take(ledger.cite("m", [ONE, TWO]))
    assert ledger.messages["m"]["summary"] == {
        "total": 2, "verified": 0, "partial": 0, "missed": 0, "pending": 2,
    }  # fmt: skip
    reader.take(ledger.verified("m", "k1", VERIFIED))
    assert ledger.messages["m"]["summary"]["verified"] == 1
    assert ledger.messages["m"]["summary"]["pending"] == 1
    reader.take(ledger.status("m", "error", "no answer"))
    assert ledger.messages["m"]["error"] == "no answer"
    assert reader.state["own"] == 1


def test_nothing_cited_changes_nothing() -> None:
    reader = Reader({})
    reader.take(reader.ledger.start("m"))
    assert reader.ledger.cite("m", []) == []


def test_the_oldest_message_makes_room_with_what_only_it_cites() -> None:
    reader = Reader({}, keep=2)
    ledger = reader.ledger
    for message_id, citations in (("a", [ONE, TWO]), ("b", [TWO])):
        reader.take(ledger.start(message_id))
        reader.take(ledger.cite(message_id, citations))
    reader.take(ledger.start("c"))
    assert list(ledger.messages) == ["b", "c"]
    assert list(ledger.tree["citations"]) == ["k2"], "b still cites it"


def test_sound_messages_are_taken_over() -> None:
    before = Ledger("cites", {}, 10)
    before.start("m")
    before.cite("m", [ONE])
    before.verified("m", "k1", VERIFIED)
    tree = before.tree
    tree["messages"]["__proto__"], tree["messages"]["odd"] = {}, "?"
    tree["messages"]["m"]["verifications"]["unknown"] = VERIFIED
    after = Ledger("cites", {"cites": tree}, 10)
    assert list(after.messages) == ["m"]
    assert after.carried
    assert after.messages["m"]["status"] == "error", "nobody goes on with it"
    assert list(after.messages["m"]["verifications"]) == ["k1"]


@pytest.mark.parametrize(
    ("operation", "passes"),
    [
        ({"op": "add", "path": "/own", "value": 1}, True),
        ({"op": "add", "path": "/citesque", "value": 1}, True),
        ({"op": "test", "path": "/cites", "value": 1}, True),
        ({"op": "remove", "path": "/cites"}, False),
        ({"op": "add", "path": "/cites/messages/m", "value": 1}, False),
        ({"op": "move", "from": "/cites/messages", "path": "/own"}, False),
        ({"op": "copy", "from": "/cites/messages", "path": "/own"}, True),
    ],
)
def test_the_agent_cannot_write_here(operation: dict[str, Any], passes: bool) -> None:
    ledger = Ledger("cites", {}, 10)
    assert ledger.allowed(operation) == (operation if passes else None)


def test_a_snapshot_of_the_agent_keeps_the_citations() -> None:
    ledger = Ledger("cites", {}, 10)
    assert ledger.merged({"own": 1}) == {"own": 1}, "nothing to keep yet"
    ledger.start("m")
    assert ledger.merged({"own": 1}) == {"own": 1, "cites": ledger.tree}
    whole = {"op": "replace", "path": "", "value": {}}
    assert ledger.allowed(whole) == {**whole, "value": {"cites": ledger.tree}}
    assert ledger.merged("text") == "text"
    assert not ledger.rooted
