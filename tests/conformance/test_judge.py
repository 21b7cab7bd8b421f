"""The judge is not ours: the stock client verifies and reduces what our strategies make.

Any legal log, cut anywhere: prelude and tail add up to what the whole log does, in our fold and in
the client. Any illegal event: the client and our verifier refuse the same one.
``JUDGE_EXAMPLES`` says how many of each are tried (300).
"""

import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.fold.prelude import prelude
from agui_host.protocol.intake.chunks import Chunks
from agui_host.protocol.intake.verifier import Verifier
from agui_host.protocol.schema import EVENTS
from agui_host.protocol.violation import Violation
from tests.conformance.node import Answers, answering
from tests.protocol.fold import corpus
from tests.protocol.illegal import BREAKERS, OURS_ALONE, Illegal, illegal
from tests.protocol.legal import THOROUGH, Event
from tests.protocol.logs import expanded, threads

EXAMPLES = int(os.environ.get("JUDGE_EXAMPLES", "300"))
CUTS = 2

thorough = settings(THOROUGH, max_examples=EXAMPLES)

PLACES: Mapping[str, Callable[[Fold], bool]] = {
    "before the first event": lambda fold: fold.started is None,
    "nothing open": lambda fold: bool(fold.started and not _open(fold)),
    "in a text message": lambda fold: "TEXT_MESSAGE_START" in _open(fold),
    "in a tool call": lambda fold: "TOOL_CALL_START" in _open(fold),
    "in a reasoning message": lambda fold: "REASONING_MESSAGE_START" in _open(fold),
    "in a reasoning span": lambda fold: "REASONING_START" in _open(fold),
    "in a step": lambda fold: bool(fold.parts.steps),
    "in a subagent": lambda fold: any(
        len(started_and_ended) == 1 for started_and_ended in fold.parts.subagents.values()
    ),
    "behind a subagent": lambda fold: any(
        len(started_and_ended) == 2 for started_and_ended in fold.parts.subagents.values()
    ),
    "in what a snapshot dropped": lambda fold: any(
        fold.call_name(part) is None if kind == "TOOL_CALL_START" else not fold.has_message(part)
        for kind, part in fold.parts.ids()
        if kind != "REASONING_START"
    ),
    "with activities": lambda fold: any(one["role"] == "activity" for one in fold.messages),
    "with a secret": lambda fold: any("encryptedValue" in one for one in fold.messages),
    "between runs": lambda fold: fold.terminal is not None,
    "in a later run": lambda fold: bool(fold.started and fold.started["runId"] != "run-1"),
    "with open interrupts": lambda fold: bool(fold.interrupts),
}
"""The kinds of cut."""


Judge = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def client() -> Iterator[Answers]:
    with answering("judge.mjs") as client:
        yield client


@pytest.fixture
def judge(client: Answers) -> Judge:
    """What the client makes of events; ``state`` is what it held before."""

    def judge(events: list[Event], **state: Any) -> dict[str, Any]:
        return client({"events": events, **state})

    return judge


def folded(events: list[Event]) -> Fold:
    fold = Fold()
    for event in events:
        fold.feed(event)
    return fold


def verdict(events: list[Event]) -> tuple[int, str] | None:
    """Where our verifier refuses, and by which rule."""
    chunks, verifier = Chunks(), Verifier()
    for at, event in enumerate(events):
        if event["type"] == "RUN_STARTED" and verifier.ended is not None:
            chunks, verifier = Chunks(), Verifier()
        try:
            for part in chunks.expand(event):
                verifier.feed(part)
        except Violation as violation:
            return at, violation.rule
    return None


def result(answer: dict[str, Any]) -> tuple[Any, Any, Any]:
    """What a client shows in the end, which it must have accepted."""
    assert answer["refused"] is None, answer["error"]
    return answer["messages"], answer["state"], answer["interrupts"]


def ours(fold: Fold) -> tuple[Any, Any, Any]:
    return fold.messages, fold.state, fold.interrupts


def tell(counted: Counter[str], expected: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Print how often each occurred; none may be missing."""
    with capsys.disabled():
        print()
        for what in expected:
            print(f"  {what:32} {counted[what]:>7}")
    assert not [what for what in expected if not counted[what]]


def test_prelude_and_tail_are_the_whole_log(
    judge: Judge, client: Answers, capsys: pytest.CaptureFixture[str]
) -> None:
    counted: Counter[str] = Counter()

    @thorough
    @given(threads(), st.data())
    def check(events: list[Event], data: st.DataObject) -> None:
        log = expanded(events)
        counted.update(event["type"] for event in events)
        assert verdict(events) is None
        before = (events[0].get("input") or {}).get("state", {})
        whole = result(judge(events, state=before))
        assert whole == ours(folded(log))
        chance = random.Random(data.draw(st.integers(0, 2**16)))
        for cut in chance.sample(range(len(log) + 1), min(CUTS, len(log) + 1)):
            begun = folded(log[:cut])
            count_cut(begun)
            joined = [*json.loads(json.dumps(prelude(begun))), *log[cut:]]
            assert verdict(joined) is None
            assert result(judge(joined, state={} if cut else before)) == whole
            assert ours(folded(joined)) == whole
            reloaded = Fold.load(begun.dump())
            assert prelude(reloaded) == prelude(begun)
            for event in log[cut:]:
                reloaded.feed(event)
            assert ours(reloaded) == whole

    def count_cut(begun: Fold) -> None:
        counted.update(place for place, is_there in PLACES.items() if is_there(begun))
        counted[f"{min(len(_lanes(begun)), 3)} lanes open"] += 1

    check()
    assert client.asked >= EXAMPLES
    expected = [*EVENTS, *PLACES, *(f"{lanes} lanes open" for lanes in range(4))]
    tell(counted, expected, capsys)


def test_what_must_not_come_is_refused_by_both(
    judge: Judge, capsys: pytest.CaptureFixture[str]
) -> None:
    counted: Counter[str] = Counter()

    def try_to_break(rule: str) -> None:
        known = "V3" if rule == "late error" else rule

        @settings(thorough, max_examples=max(EXAMPLES // len(BREAKERS), 15))
        @given(illegal(rule))
        def check(case: Illegal) -> None:
            counted[rule] += 1
            assert verdict(case.events) == (case.at, known)
            refused = judge(case.events)["refused"]
            if rule in OURS_ALONE:
                assert refused is None or refused > case.at
            else:
                assert refused == case.at

        check()

    for rule in BREAKERS:
        try_to_break(rule)
    tell(counted, list(BREAKERS), capsys)


def _open(fold: Fold) -> set[str]:
    return {kind for kind, _ in fold.parts.ids()} if fold.terminal is None else set()


def _lanes(fold: Fold) -> set[str | None]:
    parts, open_ = fold.parts, _open(fold)
    return {parts.owner(*part) for part in parts.ids() if part[0] in open_}


def test_patches_that_apply_here_apply_there(judge: Judge) -> None:
    """The committed patches, which the dashboard's module is tried on as well."""
    for case in corpus.read():
        if "result" not in case:
            continue
        ids = {"threadId": "thread", "runId": "run"}
        answer = judge(
            [
                {"type": "RUN_STARTED", **ids},
                {"type": "STATE_SNAPSHOT", "snapshot": case["document"]},
                {"type": "STATE_DELTA", "delta": case["patch"]},
                {"type": "RUN_FINISHED", **ids},
            ]
        )
        assert result(answer)[1] == case["result"], case


def test_the_committed_logs(judge: Judge) -> None:
    """Those that the dashboard's module is tried on as well."""
    for case in corpus.read_logs():
        before = (case["events"][0].get("input") or {}).get("state", {})
        messages, state, _ = result(judge(case["events"], state=before))
        assert (messages, state) == (case["messages"], case["state"]), case["events"]
