"""API keys in a chain are stored apart; a reference stands in their place."""

from typing import Any

import pytest

from agui_host.runtimes.middleware.keys import mentioned, put_away, taken_out

CHAIN = [{"kind": "citations", "options": {"verify": [{"url": "https://x", "api_key": "s3cret"}]}}]


def key_of(chain: list[Any]) -> Any:
    return chain[0]["options"]["verify"][0]["api_key"]


def test_a_key_is_put_away_and_taken_out() -> None:
    stored, keys = put_away(CHAIN, {})
    assert "s3cret" not in str(stored)
    assert keys == {key_of(stored)["secret"]: "s3cret"}
    assert taken_out(stored, keys) == CHAIN
    assert key_of(CHAIN) == "s3cret", "the chain itself is as it was"


def test_a_reference_keeps_its_key() -> None:
    stored, keys = put_away(CHAIN, {})
    again, known = put_away(stored, {**keys, "other": "unused"})
    assert (again, known) == (stored, keys)


def test_a_reference_to_nothing_leads_to_nothing() -> None:
    stored, _ = put_away(CHAIN, {})
    assert put_away(stored, {})[1] == {}
    assert key_of(taken_out(stored, {})) is None


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        (CHAIN, True),
        ([{"options": {"api_key": None}}], True),
        ([{"options": {}}], False),
        ("", False),
    ],
)
def test_a_chain_with_keys(entries: Any, expected: bool) -> None:
    assert mentioned(entries) == expected
