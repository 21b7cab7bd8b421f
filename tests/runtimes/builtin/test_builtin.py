"""The shipped agents that need nothing but a body: table, slow, approval, scripted."""

import asyncio
import base64
import os
import random
import statistics
import time
from contextlib import aclosing
from typing import Any

import jsonpatch
import pytest

from agui_host import RunContext
from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.runtimes.builtin.approval import approval
from agui_host.runtimes.builtin.child_process import NICENESS, in_child_process
from agui_host.runtimes.builtin.scripted import RUBBISH, scripted
from agui_host.runtimes.builtin.slow import slow
from agui_host.runtimes.builtin.table import fenced_in, table
from tests.runtimes.playing import of, play, run_input, runtime, text_of, types


def state_after(events: list[dict[str, Any]], start: Any = None) -> Any:
    """What a client's state is after these events."""
    state = start or {}
    for event in events:
        if event["type"] == "STATE_SNAPSHOT":
            state = event["snapshot"]
        elif event["type"] == "STATE_DELTA":
            state = jsonpatch.apply_patch(state, event["delta"])
    return state


CSV = "name,age\r\n" + "".join(f"n{i},{i}\r\n" for i in range(12))


def data_part(data: bytes, kind: str = "document") -> dict[str, Any]:
    value = base64.b64encode(data).decode()
    return {"type": kind, "source": {"type": "data", "value": value, "mimeType": "text/csv"}}


@pytest.mark.parametrize(
    ("content", "state"),
    [
        (CSV, {}),
        (f"Profile this:\n{CSV}", {}),
        (f"Please look at\n```csv\n{CSV}```\nthanks", {}),
        ([{"type": "text", "text": "what is in it?"}, data_part(CSV.encode("utf-8-sig"))], {}),
        ([data_part(CSV.encode("utf-16"))], {}),
        ("profile the state", {"csv": CSV}),
        ("", {"csv": CSV}),
    ],
)
async def test_table_finds_the_csv_wherever_it_is(content: Any, state: dict[str, Any]) -> None:
    events = await play(table, run_input(content, state=state))
    profile = state_after(events, state)["profile"]
    assert (profile["rows"], profile["done"], profile["delimiter"]) == (12, True, ",")
    name, age = profile["columns"]
    assert (name["name"], name["type"], name["distinct"]) == ("name", "text", 12)
    assert (age["mean"], age["std"]) == (5.5, pytest.approx(statistics.stdev(range(12))))
    assert len(of(events, "STATE_DELTA")) >= 10
    assert "12 rows, 2 columns" in text_of(events)


async def test_table_says_what_it_can_do() -> None:
    link = {"type": "document", "source": {"type": "url", "value": "http://example.com/a.csv"}}
    for content in ("", "hello", [link]):
        events = await play(table, run_input(content))
        assert "Send me a CSV" in text_of(events)
        assert of(events, "STATE_DELTA") == []


async def test_table_reads_many_rows_without_holding_up_the_loop() -> None:
    chance = random.Random(1)
    numbers = [chance.gauss(0, 1) for _ in range(50_000)]
    text = "n,word\n" + "".join(f'{n!r},"w {i % 7}"\n' for i, n in enumerate(numbers))
    gaps: list[float] = []

    async def watch() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0)
            gaps.append(time.perf_counter() - before)

    watching = asyncio.create_task(watch())
    events = await play(table, run_input(text))
    watching.cancel()
    await asyncio.wait({watching})
    profile = state_after(events)["profile"]
    assert profile["rows"] == 50_000
    assert profile["columns"][0]["mean"] == pytest.approx(statistics.fmean(numbers), rel=1e-9)
    assert len(of(events, "STATE_DELTA")) >= 20
    # Generous, for busy machines: the work itself is done in a child process.
    assert len(gaps) > 20
    assert statistics.median(gaps) < 0.05


async def test_table_refuses_what_is_too_wide() -> None:
    events = await play(table, run_input("a," * 300_000 + "\n1,2"))
    assert "300,001 columns" in text_of(events)
    assert of(events, "STATE_DELTA") == []


@pytest.mark.parametrize(
    ("text", "csv"),
    [
        ("see ```csv\na,b\n1,2\n``` there", "a,b\n1,2\n"),
        ("```\r\na,b\r\n1,2```", "a,b\r\n1,2"),
        ("a ``` b ```\na,b\n1,2\n```", "a,b\n1,2\n"),
        ("```" + "x" * 50 + "\na\n```", None),
        ("```" * 100_000, None),
        ("```csv\na,b", None),
        ("no fence", None),
    ],
)
def test_table_finds_what_is_fenced(text: str, csv: str | None) -> None:
    assert fenced_in(text) == csv


async def test_a_cancelled_run_leaves_no_work_behind() -> None:
    async with aclosing(in_child_process("tests.runtimes.builtin.endless:work", None)) as items:
        child = await anext(items)
        own = os.getpriority(os.PRIO_PROCESS, 0)
        assert os.getpriority(os.PRIO_PROCESS, child) == min(own + NICENESS, 19)
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


async def test_work_that_takes_too_long_is_ended() -> None:
    children: list[int] = []

    async def work() -> None:
        async for child in in_child_process("tests.runtimes.builtin.endless:work", None, seconds=1):
            children.append(child)

    with pytest.raises(RunFailed, match="longer than 1 seconds") as failed:
        await work()
    assert failed.value.reason is RunErrorCode.TIMEOUT
    if children:  # on a busy machine it may not even have begun
        with pytest.raises(ProcessLookupError):
            os.kill(children[0], 0)


async def test_work_that_needs_too_much_memory_fails_alone() -> None:
    with pytest.raises(RunFailed, match="too much") as failed:
        async for _ in in_child_process("tests.runtimes.builtin.endless:memory", None):
            pass
    assert failed.value.reason is RunErrorCode.AGENT_ERROR


async def test_slow_works_in_steps() -> None:
    props = {"steps": 3, "seconds": 0}
    events = await play(slow, run_input("go", forwardedProps=props))
    assert [e["stepName"] for e in of(events, "STEP_FINISHED")] == ["step 1", "step 2", "step 3"]
    assert state_after(events) == {"progress": {"step": 3, "steps": 3}}
    assert "Step 2 of 3." in text_of(events)


async def test_slow_takes_settings_and_refuses_nonsense() -> None:
    odd = {"steps": "many", "seconds": -1}
    events = await play(slow, run_input("go", forwardedProps=odd), settings={"steps": 2})
    assert len(of(events, "STEP_STARTED")) == 2


async def proposed(text: str = "delete report.txt") -> tuple[Any, dict[str, Any], Any]:
    """The interrupt of a proposal, the state after it and the assistant's call."""
    events = await play(approval, run_input(text), default_state={"ledger": []})
    (interrupt,) = events[-1]["outcome"]["interrupts"]
    (start,), (args,) = of(events, "TOOL_CALL_START"), of(events, "TOOL_CALL_ARGS")
    call = {
        "id": start["toolCallId"],
        "type": "function",
        "function": {"name": start["toolCallName"], "arguments": args["delta"]},
    }
    return interrupt, state_after(events), call


async def answered(
    interrupt: Any, state: Any, call: Any = None, **answer: Any
) -> list[dict[str, Any]]:
    body = run_input("delete report.txt", state=state)
    if call:
        body["messages"].append({"id": "a1", "role": "assistant", "toolCalls": [call]})
    body["resume"] = [{"interruptId": interrupt["id"], **answer}]
    return await play(approval, body)


async def test_approval_asks_before_it_acts() -> None:
    interrupt, state, call = await proposed()
    assert interrupt["reason"] == "tool_call"
    assert interrupt["toolCallId"] == call["id"]
    assert interrupt["responseSchema"]["required"] == ["approved"]
    assert state["ledger"] == []
    assert call["function"]["arguments"] == '{"action":"delete","target":"report.txt"}'


@pytest.mark.parametrize("from_messages", [True, False])
async def test_approval_acts_when_approved(from_messages: bool) -> None:
    interrupt, state, call = await proposed()
    if from_messages:
        state.pop("pending")
    events = await answered(
        interrupt,
        state,
        call if from_messages else None,
        status="resolved",
        payload={"approved": True},
    )
    (result,) = of(events, "TOOL_CALL_RESULT")
    assert result["toolCallId"] == call["id"]
    assert of(events, "TOOL_CALL_START") == []
    done = {"toolCallId": call["id"], "action": "delete", "target": "report.txt"}
    after = state_after(events, state)
    assert after["ledger"] == [done]
    assert not after.get("pending")
    assert text_of(events) == "Done, in the ledger: delete report.txt."


@pytest.mark.parametrize(
    "answer",
    [
        {"status": "resolved", "payload": {"approved": False}},
        {"status": "resolved", "payload": {"approved": "yes"}},
        {"status": "resolved"},
        {"status": "cancelled", "payload": {"approved": True}},
    ],
)
async def test_approval_does_nothing_without_a_clear_yes(answer: dict[str, Any]) -> None:
    interrupt, state, call = await proposed()
    events = await answered(interrupt, state, call, **answer)
    assert state_after(events, state)["ledger"] == []
    assert text_of(events).startswith("I did not do it")
    assert len(of(events, "TOOL_CALL_RESULT")) == 1


async def test_approval_does_what_was_edited() -> None:
    interrupt, state, call = await proposed()
    payload = {"approved": True, "edited": "archive report.txt"}
    events = await answered(interrupt, state, call, status="resolved", payload=payload)
    assert state_after(events, state)["ledger"][0]["action"] == "archive"


async def test_approval_forgets_what_it_never_proposed() -> None:
    events = await answered({"id": "approve:other"}, {"ledger": []}, status="resolved")
    assert text_of(events).startswith("I no longer know")


async def test_scripted_plays_its_operations() -> None:
    event = {"type": "CUSTOM", "name": "a", "value": 1}
    script = [{"emit": event}, {"text": "x", "n": 3, "pad": 2}, {"text": "whole"}, {"sleep": 0},
              {"state": {"a": 1}}, {"result": 7}]  # fmt: skip
    before = time.time()
    events = await play(scripted, run_input("go", forwardedProps={"script": script}))
    assert events[0] == event
    deltas = [e["delta"].split() for e in of(events, "TEXT_MESSAGE_CONTENT")]
    assert [delta[1:] for delta in deltas[:3]] == [["0", "xxx"], ["1", "xxx"], ["2", "xxx"]]
    assert before <= float(deltas[0][0]) <= time.time()
    assert deltas[3] == ["whole"]
    assert types(events)[-2:] == ["STATE_DELTA", "RUN_FINISHED"]


async def test_scripted_plays_the_script_of_its_settings() -> None:
    settings = {"script": [{"text": "Mine."}]}
    input_ = run_input("go", forwardedProps={"script": [{"text": "Yours."}]})
    assert text_of(await play(scripted, input_, settings=settings)) == "Mine."


async def test_scripted_keeps_its_rate_against_the_clock() -> None:
    script = [{"text": "", "n": 50, "rate": 500}]
    events = await play(scripted, run_input("go", forwardedProps={"script": script}))
    times = [float(e["delta"].split()[0]) for e in of(events, "TEXT_MESSAGE_CONTENT")]
    # at the earliest; a first one that was held up makes the span shorter
    assert times[-1] - times[0] >= 49 / 500 / 2


@pytest.mark.parametrize("kind", sorted(RUBBISH))
async def test_scripted_rubbish_reaches_the_intake_as_it_is(kind: str) -> None:
    ctx = RunContext(run_input("go", forwardedProps={"script": [{"rubbish": kind}]}))
    async with aclosing(runtime(scripted).run(ctx)) as stream:
        events = [event async for event in stream]
    assert len(events) == 1


async def test_scripted_raises_what_it_is_told_to() -> None:
    for script in ([{"raise": "boom"}], [{"no such thing": 1}]):
        with pytest.raises((RuntimeError, ValueError)):
            await play(scripted, run_input("go", forwardedProps={"script": script}))
