"""``agui_host.testing``: agents played without a server, and archives compared with a new run."""

import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from agui_host import testing
from agui_host.runtimes.context.run_context import RunContext
from tests.house.repository import ROOT

WORDS = ["one ", "two ", "three"]


async def counting(ctx: RunContext) -> AsyncIterator[str]:
    with ctx.tool_call("look", {"at": ctx.text}) as call:
        call.result("seen")
    for word in WORDS:
        yield word
    async for message in ctx.inbox:
        yield f"and {message.content}"
        return


def archive(path: Path, played: testing.Played, agent: str = "counting") -> Path:
    started = played.events[0]
    opening = {
        "archive": 1,
        "agent": agent,
        "thread": started["threadId"],
        "run": started["runId"],
        "input": json.dumps({"messages": [{"id": "u", "role": "user", "content": "x"}]}),
    }
    lines = [opening, *played.events, {"seal": "any"}]
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return path


def test_what_an_agent_did() -> None:
    played = testing.run(counting, "x", inbox=["four"])
    assert played.types[0] == "RUN_STARTED"
    assert played.types[-1] == "RUN_FINISHED"
    assert [m["content"] for m in played.messages if m["role"] == "user"] == ["x", "four"]
    assert played.text == "one two three\n\nand four"
    (call,) = played.calls("look")
    assert json.loads(call["function"]["arguments"]) == {"at": "x"}
    assert played.calls("other") == []


def test_plain_functions_questions_and_results() -> None:
    def plain(ctx: RunContext) -> Iterator[str]:
        message = ctx.inbox.poll()
        ctx.state["got"] = message.content if message else None
        assert ctx.inbox.poll() is None
        yield "Really?"
        ctx.interrupt("confirm", id="q")

    played = testing.run(plain, inbox=[{"id": "m", "content": "hello"}])
    assert played.state == {"got": "hello"}
    assert [question["id"] for question in played.interrupts] == ["q"]
    assert testing.run(lambda ctx: {"n": 1}).result == {"n": 1}


def test_failures_are_in_the_log() -> None:
    def broken(ctx: RunContext) -> None:
        raise ValueError("no luck")

    async def endless(ctx: RunContext) -> None:
        await anext(aiter(ctx.inbox))

    assert testing.run(broken).error == "ValueError: no luck"
    assert testing.run(endless, seconds=0.2).end["code"] == "timeout"


def test_a_replay_finds_no_difference_and_a_planted_one_at_its_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = archive(tmp_path / "run.jsonl", testing.run(counting, "x", inbox=["four"]))
    replayed = testing.replay(file, counting)
    assert replayed.divergence is None
    assert replayed.played.text == replayed.recorded.text
    monkeypatch.setattr("tests.testing.test_play.WORDS", ["one two ", "three"])
    assert testing.replay(file, counting).divergence is None, "deltas can be cut otherwise"
    monkeypatch.setattr("tests.testing.test_play.WORDS", ["one ", "too ", "three"])
    divergence = testing.replay(file, counting).divergence
    assert divergence is not None
    planted = replayed.recorded.events[divergence.seq - 1]
    assert planted == {
        "type": "TEXT_MESSAGE_CONTENT", "messageId": planted["messageId"], "delta": "one ",
        **{name: planted[name] for name in ("timestamp",) if name in planted},
    }  # fmt: skip
    assert divergence.cause == (
        'delta of TEXT_MESSAGE_CONTENT was "one two three", now it is "one too three"'
    )


@pytest.mark.parametrize(
    ("recorded", "played", "cause"),
    [
        (["STEP_STARTED"], ["RUN_FINISHED"], "STEP_STARTED was recorded, RUN_FINISHED was played"),
        (["STEP_STARTED"], [], "STEP_STARTED was recorded, nothing more was played"),
        ([], ["STEP_STARTED"], "STEP_STARTED was played after the recorded end"),
    ],
)
def test_causes(recorded: list[str], played: list[str], cause: str) -> None:
    logs: list[list[dict[str, Any]]] = [[{"type": t} for t in log] for log in (recorded, played)]
    divergence = testing.compare(*logs)
    assert divergence is not None
    assert (divergence.seq, divergence.cause) == (1, cause)


def test_a_file_that_is_no_archive(tmp_path: Path) -> None:
    for text in ("", "[]\n", '{"archive":2}\n'):
        (tmp_path / "x").write_text(text)
        with pytest.raises(ValueError, match="not the archive"):
            testing.replay(tmp_path / "x", counting)


def test_the_examples_of_the_page(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "howto-test-agents.md").read_text()
    order, archives = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "archives").mkdir()
    played = testing.run(counting, "x", inbox=["four"])
    archive(tmp_path / "archives" / "good.jsonl", played, "order-taker")
    (tmp_path / "test_order.py").write_text(order)
    (tmp_path / "test_archives.py").write_text("import test_order\n" + archives)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", "."]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, "test_order.py", "test_archives.py"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "good.jsonl diverges at event" in done.stdout
