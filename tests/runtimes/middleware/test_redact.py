"""``redact``: no secret leaves, however it is cut; everything else does."""

import asyncio
import json
import re
from time import thread_time
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import settings as limits
from hypothesis import strategies as st

from agui_host.runtimes.middleware import patterns, redact
from agui_host.runtimes.middleware.chain import parse
from agui_host.runtimes.middleware.patterns import Patterns, Veil, compiled
from agui_host.runtimes.options import BadOptions
from tests.runtimes.middleware.passing import (
    Wire,
    args,
    chain_of,
    custom,
    passed,
    text,
    text_message,
    until_it_breaks,
)

KEY = "sk-abcdefghijklmnopqrst"
BY_PATTERN = {"name": "redact", "patterns": ["sk-[a-z0-9]{10,}"], "hold": 16}
BY_KEY = {"name": "redact", "keys": ["password", "Token"]}


def joined(events: list[Wire]) -> str:
    return "".join(event.get("delta", "") for event in events)


async def through(entry: Wire, *events: Wire) -> list[Wire]:
    return await passed(chain_of(entry), *events)


async def test_a_secret_in_one_delta() -> None:
    begin, delta, end = text_message("m", f"the key is {KEY}, keep it")
    events_out = await through(BY_PATTERN, begin, delta, end)
    assert events_out[0] == begin
    assert events_out[-1] == end
    assert joined(events_out) == "the key is [redacted], keep it"


@drawn(
    st.text("sk-ab1 .", max_size=60),
    st.lists(st.integers(1, 7), min_size=1, max_size=60),
    st.integers(0, 60),
)
@limits(deadline=None)
def test_however_the_text_is_cut_it_reads_as_if_it_were_whole(
    around: str, cuts: list[int], at: int
) -> None:
    whole = f"{around[:at]}{KEY}{around[at:]}"
    pieces, rest = [], whole
    for size in cuts:
        pieces.append(rest[:size])
        rest = rest[size:]
    events_out = asyncio.run(through(BY_PATTERN, *text_message("m", *pieces, rest)))
    expected = re.sub(BY_PATTERN["patterns"][0], "[redacted]", whole)  # type: ignore[index]
    assert joined(events_out) == expected
    assert KEY[:13] not in str(events_out)


async def test_text_flows_while_it_is_harmless() -> None:
    veil = Veil(Patterns([compiled("sk-[a-z0-9]{10,}", 16)]), "*", 16)
    first_part = veil.feed("harmless words that are long enough")
    assert first_part == "harmless words that"
    assert first_part + veil.end() == "harmless words that are long enough"


async def test_what_stands_before_a_secret_counts_after_it_has_gone_on() -> None:
    veil = Veil(Patterns([compiled(r"\bkey=[a-z]+", 8)]), "*", 8)
    veiled = "".join(veil.feed(letter) for letter in "a monkey=abcdefghijkl and a key=abcdefghi 1")
    assert veiled + veil.end() == "a monkey=abcdefghijkl and a * 1"


async def test_a_match_without_end_is_cut_off() -> None:
    veil = Veil(Patterns([compiled("sk-[a-z]+", 8)]), "*", 8)
    veiled = veil.feed("so: sk-" + "a" * (2 * patterns.MOST_HELD)) + veil.feed("bc") + veil.end()
    assert veiled == "so: *"


async def test_messages_that_are_interleaved() -> None:
    events = [text("sk-abcdef"), text("sk-abcdef", "n"), text("ghijklm"), text("ghijklm", "n")]
    ends = [{"type": "TEXT_MESSAGE_END", "messageId": name} for name in ("m", "n")]
    events_out = await through(BY_PATTERN, *events, *ends)
    assert events_out == [text("[redacted]"), ends[0], text("[redacted]", "n"), ends[1]]


async def test_arguments_of_a_call_are_looked_at_whole() -> None:
    pieces = ['{"to": "a", "pass', 'word": "hun', 'ter2", "deep": [{"TOKEN": 5}]}']
    end = {"type": "TOOL_CALL_END", "toolCallId": "c"}
    events_out = await through(BY_KEY, *map(args, pieces), custom("meanwhile"), end)
    assert events_out[0] == custom("meanwhile")
    assert events_out[2] == end
    assert json.loads(events_out[1]["delta"]) == {
        "to": "a", "password": "[redacted]", "deep": [{"TOKEN": "[redacted]"}],
    }  # fmt: skip


async def test_arguments_that_are_no_json_or_escape_the_secret() -> None:
    end = {"type": "TOOL_CALL_END", "toolCallId": "c"}
    events_out = await through(BY_PATTERN, args(f'{{"a": "{KEY}'), end)
    assert joined(events_out) == '{"a": "[redacted]'
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in KEY)
    events_out = await through(BY_PATTERN, args(f'{{"a": "{escaped}"}}'), end)
    assert json.loads(joined(events_out)) == {"a": "[redacted]"}


async def test_arguments_without_end_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redact, "MOST_ARGS", 10)
    events_out = await through(BY_KEY, *[args("abcdef")] * 3)
    assert joined(events_out) == '"[redacted]"'


def secretive(value: Any) -> Wire:
    return {"a": [value, "fine"], "password": {"x": 1}, "n": 1}


@pytest.mark.parametrize(
    "event",
    [
        custom(secretive(KEY)),
        {"type": "STATE_SNAPSHOT", "snapshot": secretive(KEY)},
        {"type": "TOOL_CALL_RESULT", "messageId": "x", "toolCallId": "c",
         "content": json.dumps(secretive(KEY))},
        {"type": "MESSAGES_SNAPSHOT", "messages": [
            {"id": "sk-0123456789", "role": "user", "content": KEY}]},
        {"type": "RUN_ERROR", "message": f"refused: {KEY}"},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": secretive(KEY)},
        {"type": "STATE_DELTA", "delta": [
            {"op": "add", "path": "/password", "value": KEY},
            {"op": "add", "path": "/a/-", "value": KEY}]},
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "m", "activityType": "X",
         "content": secretive(KEY)},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "m", "delta": KEY},
    ],
    ids=lambda event: event["type"],
)  # fmt: skip
async def test_every_event_that_says_something(event: Wire) -> None:
    entry = {**BY_PATTERN, "keys": ["password"]}
    events_out = await through(entry, event)
    assert KEY not in str(events_out)
    assert '"x": 1' not in json.dumps(events_out)
    assert "[redacted]" in str(events_out)
    if event["type"] == "MESSAGES_SNAPSHOT":
        assert events_out[0]["messages"][0]["id"] == "sk-0123456789"


async def test_patches_below_a_replaced_place_are_left_out() -> None:
    delta = [
        {"op": "add", "path": "/user/password/salt", "value": "x"},
        {"op": "replace", "path": "/user/password", "value": {"salt": "x"}},
        {"op": "remove", "path": "/user/password"},
        {"op": "add", "path": "/user/name", "value": {"token": "x", "n": 1}},
    ]
    (events_out,) = await through(BY_KEY, {"type": "STATE_DELTA", "delta": delta})
    assert events_out["delta"] == [
        {"op": "replace", "path": "/user/password", "value": "[redacted]"},
        {"op": "remove", "path": "/user/password"},
        {"op": "add", "path": "/user/name", "value": {"token": "[redacted]", "n": 1}},
    ]


async def test_originals_are_left_out_unless_they_are_wanted() -> None:
    raw = {"type": "RAW", "event": {"delta": "sk-abc"}}
    events = [raw, custom() | {"rawEvent": {"delta": "sk-abc"}}]
    assert await through(BY_PATTERN, *events) == [custom()]
    assert await through({**BY_PATTERN, "raw": True}, *events) == events


async def test_half_a_secret_does_not_leave_when_the_stream_is_cut() -> None:
    events_out = await until_it_breaks(chain_of(BY_PATTERN), _cut())
    assert joined(events_out) == "so far, and after a whi"
    failed = {"type": "RUN_ERROR", "message": "no"}
    assert await through(BY_PATTERN, text("sk-abcdefghi"), args('{"a'), failed) == [failed]


async def test_what_an_agent_leaves_open_is_said_at_the_end() -> None:
    ending = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
    assert await through(BY_PATTERN, text("open")) == [text("open")]
    assert await through(BY_PATTERN, text("open"), ending) == [text("open"), ending]


async def _cut() -> Any:
    yield text("so far, and after a while: ")
    yield text("sk-abcdefghi")
    raise RuntimeError


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("(", "not a regular expression"),
        ("a*", "matches the empty text"),
        (r"(a)\1", "linear time"),
        ("(?<=key=)a+", "linear time"),
        ("a(?!b)", "linear time"),
        ("((a{9}b{9}){9}c{1,9}){1,9}", "set hold to at least"),
        (r"(\d{1,9}\w){12}", "too large"),
        ("a" * 1001, "at most 1000"),
        ("a{200}", "set hold to at least"),
    ],
)
def test_a_pattern_that_could_harm_is_refused(pattern: str, problem: str) -> None:
    with pytest.raises(BadOptions, match=problem):
        parse([{"name": "redact", "patterns": [pattern]}])


@pytest.mark.parametrize("pattern", ["(a+)+b", "a*a*a*a*a*b", "(a|a)*b", "(a|ab)*c"])
def test_no_pattern_takes_for_ever(pattern: str) -> None:
    began = thread_time()
    assert compiled(pattern, 128).spans("a" * 1_000_000) == []
    assert thread_time() - began < 1


@pytest.mark.parametrize(
    ("pattern", "text", "redacted"),
    [
        (r"\w+@\w+", "an José@köln here", "an * here"),
        (r"[\w.]+@\w+", "josé.ñ@x", "*"),
        (r"\d{4}", "٠١٢٣", "*"),
        (r"a\sb", "a\u2003b", "*"),
        (r"[^\W\d]+x", "ab1x", "ab1x"),
        (r"a{,2}b", "caab", "c*"),
        (r"end\Z", "end", "*"),
        (r"\u00e9+", "éé", "*"),
        (r"[x\[:]+", "a[:x", "a*"),
    ],
)
def test_a_pattern_means_what_it_means_in_python(pattern: str, text: str, redacted: str) -> None:
    spans = compiled(pattern, 128).spans(text)
    assert patterns.replaced(text, spans, "*") == redacted == re.sub(pattern, "*", text)


def test_usual_patterns_are_taken() -> None:
    usual = [
        r"[\w.+-]+@[\w-]+\.[\w.]+", r"\b\d{4}([ -]?\d{4}){3}\b", r"AKIA[0-9A-Z]{16}",
        r"(?i)bearer\s+[a-z0-9._-]{20,}", r"eyJ[\w-]+\.[\w-]+\.[\w-]+", r"gh[pousr]_\w{36}",
    ]  # fmt: skip
    parse([{"name": "redact", "patterns": usual}])
