"""The link view: no secret at a hidden place gets out, however it is cut; what is left is legal."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agui_host.protocol.encoding import encode
from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.intake.intake import Intake
from agui_host.protocol.intake.verifier import Verifier
from agui_host.protocol.questions.rules import RULES
from agui_host.protocol.views.link import LinkView
from agui_host.protocol.views.redaction import MASK, BadPath, Redaction
from tests.protocol.legal import Event
from tests.protocol.logs import expanded, threads

SECRET = "hunter2-of-alice"
START: Event = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
END: Event = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def visible(log: list[Event], *paths: str) -> list[Event]:
    """What a link's reader gets, as the bytes say it."""
    view = LinkView(Redaction(paths))
    return [json.loads(encode(each)) for event in log for each in view.show(event)]


def folded(log: list[Event]) -> Fold:
    fold = Fold()
    for event in log:
        fold.feed(event)
    return fold


def everything_in(log: list[Event]) -> str:
    """Everything a reader could read: the frames, and what their deltas add up to."""
    fold = folded(log)
    raw = [fold.messages, fold.state, fold.terminal, log]
    return json.dumps(raw, ensure_ascii=False)


def is_legal(log: list[Event]) -> bool:
    verifier = Verifier()
    for event in log:
        if event["type"] == "RUN_STARTED" and verifier.ended is not None:
            verifier = Verifier()
        verifier.feed(event)  # raises Violation
    return True


@st.composite
def cut(draw: Callable[..., Any], text: str) -> list[str]:
    """A text in pieces, cut anywhere."""
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]
    return [piece for piece in pieces if piece] or [text]


@st.composite
def holders(draw: Callable[..., Any]) -> Any:
    """JSON with the secret as or in the member ``password``, at any depth."""
    value: Any = draw(st.sampled_from([SECRET, [SECRET], {"x": SECRET}, {"1": [f"-{SECRET}-"]}]))
    value = {"password": value, "other": draw(st.integers(0, 9))}
    for _ in range(draw(st.integers(0, 3))):
        wrap = draw(st.sampled_from(["list", "member", "text", "number"]))
        if wrap == "list":
            value = [1, value]
        elif wrap == "text":
            value = {"note": json.dumps(value)}
        else:
            value = {"deep" if wrap == "member" else "7": value}
    return value if isinstance(value, dict) else {"list": value}


@st.composite
def texts(draw: Callable[..., Any]) -> str:
    """The same as a text: JSON, JSON with the name spelled by an escape, Python, broken JSON."""
    value = draw(holders())
    form = draw(st.sampled_from(["json", "escaped", "python", "broken", "doubled", "twice"]))
    text = json.dumps(value)
    if form == "escaped":
        return text.replace("password", "p\\u0061ssword")
    if form == "twice":
        return f'{{"a": {text}, "a": 1}}'
    if form == "doubled":
        return json.dumps(text)
    return {"python": repr(value), "broken": text[:-1]}.get(form, text)


def span(start: Event, content: Event, end: Event, pieces: list[str]) -> list[Event]:
    return [start, *({**content, "delta": piece} for piece in pieces), end]


@st.composite
def carriers(draw: Callable[..., Any]) -> list[Event]:
    """Events that carry the secret, each in a way of its own."""
    value, text, n = draw(holders()), draw(texts()), draw(st.integers(0, 10**6))
    kind = draw(st.sampled_from(range(14)))
    call = {"type": "TOOL_CALL_START", "toolCallId": f"c{n}", "toolCallName": "buy"}
    pieces = draw(cut(text))
    if kind == 0:
        more, done = ({"type": f"TOOL_CALL_{x}", "toolCallId": f"c{n}"} for x in ("ARGS", "END"))
        at = draw(st.integers(0, len(pieces)))
        twice = [span(call, more, done, part) for part in (pieces[:at], pieces[at:]) if part]
        return [event for part in twice for event in part]
    if kind in (1, 2):
        name = ("TEXT_MESSAGE", "REASONING_MESSAGE")[kind - 1]
        role = ("assistant", "reasoning")[kind - 1]
        start = {"type": f"{name}_START", "messageId": f"m{n}", "role": role}
        more, done = ({"type": f"{name}_{x}", "messageId": f"m{n}"} for x in ("CONTENT", "END"))
        return span(start, more, done, pieces)
    if kind == 3:
        done = {"type": "TOOL_CALL_END", "toolCallId": f"c{n}"}
        result = {"type": "TOOL_CALL_RESULT", "messageId": f"r{n}", "toolCallId": f"c{n}"}
        content = draw(st.sampled_from([text, f"It is {text}", [{"type": "text", "text": text}]]))
        return [call, done, {**result, "content": content}]
    if kind == 4:
        return [{"type": "STATE_SNAPSHOT", "snapshot": value}]
    if kind == 5:
        note = draw(st.sampled_from([{}, {"note": SECRET}, {"from": f"/{SECRET}"}]))
        patch = [{"op": "add", "path": "/x", "value": value, **note}]
        inner = [{"op": "add", "path": "/password", "value": SECRET}]
        deeper = [{"op": "replace", "path": "/password", "value": {"a": 1}},
                  {"op": "add", "path": "/password/b", "value": SECRET}]  # fmt: skip
        moved = [{"op": "test", "path": "/password/b", "value": SECRET},
                 {"op": "move", "from": "/password", "path": "/y/password"}]  # fmt: skip
        snapshot = {"type": "STATE_SNAPSHOT", "snapshot": {"y": {}}}
        deltas = [patch, inner, deeper, moved]
        return [snapshot, *({"type": "STATE_DELTA", "delta": delta} for delta in deltas)]
    if kind == 6:
        activity = {"messageId": f"a{n}", "activityType": "plan"}
        patch = [{"op": "add", "path": "/password", "value": [SECRET]}]
        return [
            {"type": "ACTIVITY_SNAPSHOT", **activity, "content": value},
            {"type": "ACTIVITY_DELTA", **activity, "patch": patch},
            {"type": "ACTIVITY_DELTA", **activity, "patch": [{**patch[0], "path": "/password/0"}]},
        ]
    if kind == 7:
        function = {"name": "buy", "arguments": text}
        calls = [{"id": f"c{n}", "type": "function", "function": function}]
        messages = [
            {"id": f"m{n}", "role": "assistant", "content": text, "toolCalls": calls},
            {"id": f"t{n}", "role": "tool", "toolCallId": f"c{n}", "content": text, "error": text},
            {"id": f"a{n}", "role": "activity", "activityType": "plan", "content": value},
            {"id": f"u{n}", "role": "user", "content": [{"type": "text", "text": text}]},
            {"id": f"d{n}", "role": "developer", "content": "x", "metadata": value},
        ]
        return [{"type": "MESSAGES_SNAPSHOT", "messages": messages}]
    if kind == 8:
        return [
            {"type": "CUSTOM", "name": draw(st.sampled_from(["c", "password"])), "value": value}
        ]
    if kind == 9:
        return [{"type": "RAW", "event": SECRET, "source": SECRET}]
    if kind == 10:
        name = draw(st.sampled_from([f"s{n}", f'{{"password": "{SECRET}", "n": {n}}}']))
        step = {"type": "STEP_STARTED", "stepName": name, "metadata": value}
        return [{**step, "rawEvent": SECRET}, {"type": "STEP_FINISHED", "stepName": name}]
    if kind == 11:
        encrypted = {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "x"}
        return [{**encrypted, "encryptedValue": SECRET}]
    if kind == 12:
        sub = {"subagentRunId": f"s{n}"}
        name = draw(st.sampled_from(["n", text]))
        started = {"type": "SUBAGENT_STARTED", **sub, "name": name, "description": text}
        return [started, {"type": "SUBAGENT_FINISHED", **sub, "result": value}]
    first, second = text[: n % len(text)], text[n % len(text) :]
    function = {"name": "buy", "arguments": first}
    calls = [{"id": f"c{n}", "type": "function", "function": function}]
    message = {"id": f"m{n}", "role": "assistant", "toolCalls": calls}
    more, done = ({"type": f"TOOL_CALL_{x}", "toolCallId": f"c{n}"} for x in ("ARGS", "END"))
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": [message]}
    begin = {**call, "parentMessageId": f"m{n}"}
    return [begin, snapshot, {**more, "delta": second or " "}, done]


@st.composite
def endings(draw: Callable[..., Any]) -> Event:
    value, text = draw(holders()), draw(texts())
    question = {
        "id": "i",
        "reason": "r",
        "message": text,
        "metadata": value,
        "responseSchema": value,
    }
    return draw(
        st.sampled_from(
            [
                {**END, "result": value, "rawEvent": SECRET},
                {**END, "outcome": {"type": "interrupt", "interrupts": [question]}},
                {"type": "RUN_ERROR", "message": text, "metadata": value},
            ]
        )
    )


def _names(log: list[Event]) -> list[str]:
    """What may occur once only in a log."""
    return [event["subagentRunId"] for event in log if event["type"] == "SUBAGENT_STARTED"]


@settings(max_examples=400, deadline=None, database=None)
@given(st.lists(carriers(), max_size=4), endings(), st.integers(0, 10**6))
def test_a_secret_gets_out_by_no_way(parts: list[list[Event]], end: Event, seed: int) -> None:
    start = {**START, "input": {"messages": [], "context": [{"value": SECRET}]}, "rawEvent": SECRET}
    log = [start, *(event for part in parts for event in part), end]
    assert SECRET in everything_in(log)
    assume(len(set(_names(log))) == len(_names(log)))
    view_of_it = visible(log, "password")
    assert SECRET not in everything_in(view_of_it)
    assert is_legal(view_of_it)


@settings(max_examples=150, deadline=None, database=None)
@given(threads(), st.sampled_from([(), ("x",), ("list",), ("state",), ("x.a", "metadata")]))
def test_any_log_stays_legal_and_shows_the_same_state(
    log: list[Event], paths: tuple[str, ...]
) -> None:
    log = expanded(log)
    runs: list[list[Event]] = []
    for event in log:
        if event["type"] == "RUN_STARTED":
            runs.append([])
        runs[-1].append(event)
    for run in runs:
        view_of_it = visible(run, *paths)
        assert is_legal(view_of_it)
        if any(event["type"] == "STATE_SNAPSHOT" for event in run):
            hidden, whole = Redaction(paths), folded(run).state
            assert folded(view_of_it).state == hidden.value(whole, ("state",))


def test_without_paths_all_but_the_callers_input_is_shown_as_stored() -> None:
    event = {"type": "CUSTOM", "name": "n", "value": 1}
    view = LinkView(Redaction())
    assert view.show({**START, "input": {}, "rawEvent": 1}) == [START]
    assert view.show(event)[0] is event


def test_a_call_is_said_whole_before_its_end() -> None:
    call = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "send"}
    args, end = (
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c"},
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
    )
    log = [call, {**args, "delta": '{"to":"bob","bo'}, {**args, "delta": 'dy":"x"}'}, end]
    view_of_it = visible(log, "send.to")
    assert [event["type"] for event in view_of_it] == [call["type"], args["type"], end["type"]]
    assert json.loads(view_of_it[1]["delta"]) == {"to": MASK, "body": "x"}
    assert json.loads(visible(log, "other.to")[1]["delta"])["to"] == "bob"


def test_prose_streams_on() -> None:
    text = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m"}
    view = LinkView(Redaction(["password"]))
    assert view.show({**text, "delta": " "}) == []
    assert [e["delta"] for e in view.show({**text, "delta": "Your password"})] == [
        " ",
        "Your password",
    ]
    assert view.show({**text, "delta": '{"'}) == [{**text, "delta": '{"'}]


@pytest.mark.parametrize("path", ["", ".", "a..b", "a.", "3", "a.0.b", "a\n"])
def test_paths_are_names_with_dots(path: str) -> None:
    with pytest.raises(BadPath):
        Redaction([path])


@settings(max_examples=60, deadline=None, database=None)
@given(threads(), st.sampled_from([(), ("x",), ("state",)]), st.floats(0, 1))
def test_a_copy_goes_on_as_the_view_does(
    log: list[Event], paths: tuple[str, ...], part: float
) -> None:
    """What one of them is shown afterwards, the other does not notice."""
    log = expanded(log)
    half, view = int(len(log) * part), LinkView(Redaction(paths))
    for event in log[:half]:
        view.show(event)
    rest = visible(log, *paths)[len(visible(log[:half], *paths)) :]
    for each in (view.copy(), view.copy(), view):
        assert [json.loads(encode(one)) for event in log[half:] for one in each.show(event)] == rest


def test_steps_whose_names_are_redacted_stay_apart() -> None:
    names = [f'{{"password": "{SECRET}-{number}"}}' for number in (1, 2)]
    kinds = ("STEP_STARTED", "STEP_FINISHED")
    log = [START, *({"type": kind, "stepName": name} for kind in kinds for name in names), END]
    view_of_it = visible(log, "password")
    assert is_legal(view_of_it)
    assert SECRET not in everything_in(view_of_it)
    assert [event["stepName"] for event in view_of_it[1:-1]] == [
        '{"password":"[redacted]"} 1',
        '{"password":"[redacted]"} 2',
    ] * 2


@pytest.mark.parametrize("path", [(), ("other",)], ids=("without paths", "with a path"))
def test_members_that_no_operation_has_are_left_out(path: tuple[str, ...]) -> None:
    patch = [{"op": "add", "path": "/a", "value": 1, "note": SECRET}]
    activity = {"messageId": "a", "activityType": "plan"}
    log = [
        {"type": "STATE_SNAPSHOT", "snapshot": {}},
        {"type": "STATE_DELTA", "delta": patch},
        {"type": "ACTIVITY_SNAPSHOT", **activity, "content": {}},
        {"type": "ACTIVITY_DELTA", **activity, "patch": patch},
    ]
    view_of_it = visible(log, *path)
    bare = [{"op": "add", "path": "/a", "value": 1}]
    assert (view_of_it[1]["delta"], view_of_it[3]["patch"]) == (bare, bare)


@pytest.mark.parametrize(
    ("path", "event"),
    [
        ("on_interrupt.password", {"question": "Pay?", "password": SECRET}),
        ("on_interrupt.message", {"id": "q", "reason": "confirm", "message": SECRET}),
        ("on_interrupt.metadata.x", {"id": "q", "reason": "confirm", "metadata": {"x": SECRET}}),
        ("on_interrupt", SECRET),
        ("pay.password", None),
        ("pay", None),
    ],
    ids=str,
)
def test_a_question_by_rule_does_not_repeat_a_secret(path: str, event: Any) -> None:
    intake = Intake("t", "r", rules=RULES)
    events = [{"type": "CUSTOM", "name": "on_interrupt", "value": event}]
    if event is None:
        call = {"toolCallId": "c"}
        events = [
            {"type": "TOOL_CALL_START", **call, "toolCallName": "pay"},
            {"type": "TOOL_CALL_ARGS", **call, "delta": json.dumps({"password": SECRET})},
            {"type": "TOOL_CALL_END", **call},
        ]
    records = [record for each in events for record in intake.accept(each)] + intake.finish()
    log = [json.loads(record.payload) for record in records]
    assert log[-1]["outcome"]["type"] == "interrupt"
    assert SECRET in json.dumps(log[-1])
    assert SECRET not in everything_in(visible(log, path))
    assert visible(log) == log
    assert is_legal(visible(log, path))


ASKED: dict[str, Any] = {"name": "pay", "args": {"password": SECRET}, "description": "Pays."}
IN_WORDS = f"Tool execution requires approval\n\nTool: pay\nArgs: {{'password': '{SECRET}'}}"


@pytest.mark.parametrize("path", ["password", "pay.password", "pay"])
@pytest.mark.parametrize(
    "about",
    [
        {"action_requests": [ASKED]},
        {"action_requests": [{**ASKED, "description": IN_WORDS}]},
        [{"action_request": {"action": "pay", "args": {"password": SECRET}}, "config": {}}],
        {"type": "tool_approval", "tool_call_id": "c", **ASKED},
        {"toolName": "pay", "input": {"password": SECRET}},
        {"function": {"name": "pay", "arguments": json.dumps({"password": SECRET})}},
        {"decisions": [{"type": "edit", "edited_action": ASKED}]},
    ],
    ids=["LangChain", "in words", "HumanInterrupt", "pydantic-ai", "AI SDK", "OpenAI", "edit"],
)
def test_a_call_that_a_question_describes_is_a_call(about: Any, path: str) -> None:
    """Approvals carry the arguments of the tool in data of many forms, and in words."""
    question = {"id": "q", "reason": "r", "message": IN_WORDS, "metadata": {"raw": about}}
    log: list[Event] = [
        {**START, "input": {"resume": [{"interruptId": "q", "payload": about}]}},
        {"type": "CUSTOM", "name": "on_interrupt", "value": json.dumps(about)},
        {"type": "STATE_SNAPSHOT", "snapshot": {"calls": [about]}},
        {**END, "outcome": {"type": "interrupt", "interrupts": [question]}},
    ]
    assert SECRET not in everything_in(visible(log, path))
    assert "pay" in everything_in(visible(log, "pay.other"))
