"""Any legal log, cut anywhere: prelude and tail fold to what the whole log folds to.

The stock client judges a few hundred of these in ``tests/conformance/test_judge.py``; here our
own fold and verifier go through many more. ``JOIN_EXAMPLES`` says how many.
"""

import json
import os
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.fold.prelude import prelude
from agui_host.protocol.intake.verifier import Verifier
from tests.protocol.legal import THOROUGH, Event
from tests.protocol.logs import expanded, threads

MANY = int(os.environ.get("JOIN_EXAMPLES", "100000"))
CUTS = 3


def folded(events: list[Event]) -> Fold:
    fold = Fold()
    for event in events:
        fold.feed(event)
    return fold


def is_legal(events: list[Event]) -> bool:
    verifier = Verifier()
    for event in events:
        if event["type"] == "RUN_STARTED" and verifier.ended is not None:
            verifier = Verifier()
        verifier.feed(event)  # raises Violation
    return True


def content(fold: Fold) -> tuple[object, object, object]:
    return fold.messages, fold.state, fold.interrupts


def check(events: list[Event], seed: int) -> None:
    log = expanded(events)
    whole = content(folded(log))
    chance = random.Random(seed)
    for cut in chance.sample(range(len(log) + 1), min(CUTS, len(log) + 1)):
        opening = json.loads(json.dumps(prelude(folded(log[:cut]))))
        joined = [*opening, *log[cut:]]
        assert is_legal(joined)
        assert content(folded(joined)) == whole


def prove(examples: int) -> None:
    bounds = settings(THOROUGH, max_examples=examples)
    bounds(given(threads(), st.integers(0, 2**16))(check))()


def test_some_joins() -> None:
    prove(200)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_many_joins() -> None:
    prove(MANY)
