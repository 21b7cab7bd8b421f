"""The digest of a start: what makes a repeated request the same."""

import hashlib
import json

from tests.protocol.input.test_run_agent_input import parse


def test_the_digest_tells_requests_apart_by_what_was_sent() -> None:
    assert parse({"state": 1}).digest == parse({"state": 1}).digest
    assert parse({"state": 1}).digest != parse({"state": 2}).digest
    assert parse({}, agent="a").digest != parse({}, agent="b").digest


def test_a_digest_stays_what_stored_runs_have() -> None:
    """A request can be repeated after an upgrade."""
    data = {"state": {"ü": [None, 0.5, 1]}, "messages": []}
    text = json.dumps(["a", None, data], ensure_ascii=False, separators=(",", ":"))
    assert parse(data, agent="a").digest == hashlib.sha256(text.encode()).hexdigest()
