"""A command whose worker is lost: its tool resumes the session, or its output is replaced."""

import json
import random
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from agui_host import RunContext
from agui_host.runtimes.context.so_far import of_messages
from agui_host.runtimes.kinds.process.command import Command
from agui_host.runtimes.kinds.process.runtime import ProcessRuntime
from tests.runtimes.playing import of, run_input, text_of
from tests.runtimes.processing import RECORDED, script

SESSIONS = {
    "claude.jsonl": "20b940b2-99d1-488e-951c-d8e13716dbe9",
    "claude_partial.jsonl": "20b940b2-99d1-488e-951c-d8e13716dbe9",
    "codex.jsonl": "01a1fc8d-2764-7613-8500-cb817f2163a9",
}
PLAYED = """
    import pathlib, sys
    words = sys.stdin.read()
    with open("calls", "a") as file:
        file.write(repr((sys.argv[1:], words)) + chr(10))
    for line in pathlib.Path({path!r}).read_text().splitlines():
        print(line, flush=True)
"""


@pytest.fixture(autouse=True)
def data(settings: Any, tmp_path: Path) -> Path:
    settings.AGUI_DATA_DIR = tmp_path
    return tmp_path


def runtime(name: str, **options: Any) -> ProcessRuntime:
    """The tool whose session was recorded, with and without a session to resume."""
    argv = script(PLAYED.format(path=str(RECORDED / name)))
    values = {
        "argv": argv, "resume_argv": [*argv, "--resume", "{session_id}"], "directory": "thread",
        "stdin": "text", "unconfined": True, **options,
    }  # fmt: skip
    return ProcessRuntime(Command.of(values))


async def attempt(agent: ProcessRuntime, number: int, most: int = 10_000) -> list[dict[str, Any]]:
    """The first events of an attempt; then its worker is gone."""
    ctx = RunContext(run_input("count"), agent="cli", team="team")
    ctx.attempt = number
    if number > 1:
        spoken = [{"id": "said", "role": "assistant", "content": "I count"}]
        ctx.so_far = of_messages(spoken, {}, [], ctx.messages, ctx.body.get("state"))
    events: list[dict[str, Any]] = []
    async with aclosing(agent.run(ctx)) as stream:
        async for event in _first(stream, most):
            events.append(event)
    return events


async def _first(stream: Any, most: int) -> AsyncIterator[Any]:
    async for event in stream:
        yield event
        most -= 1
        if not most:
            return


def calls(data: Path) -> list[Any]:
    (file,) = data.glob("processes/threads/*/work/calls")
    return [eval(line) for line in file.read_text().splitlines()]  # noqa: S307  (ours)


@pytest.mark.parametrize("name", SESSIONS)
@pytest.mark.parametrize("seed", range(3))
async def test_the_tool_resumes_the_session(name: str, seed: int, data: Path) -> None:
    agent = runtime(name)
    await attempt(agent, 1, random.Random(seed).randint(2, 9))
    events = await attempt(agent, 2)
    assert events[-1]["type"] == "RUN_FINISHED"
    assert not of(events, "MESSAGES_SNAPSHOT"), "what readers have stays"
    (_, words), resumed = calls(data)
    assert words == "count"
    assert resumed == (["--resume", SESSIONS[name]], "Continue from where you left off.")


async def test_its_own_words_to_continue(data: Path) -> None:
    agent = runtime("codex.jsonl", continue_text="Go on.")
    await attempt(agent, 1, 3)
    await attempt(agent, 2)
    assert calls(data)[-1][1] == "Go on."


async def test_another_run_does_not_resume_it(data: Path) -> None:
    agent = runtime("claude.jsonl")
    await attempt(agent, 1, 3)
    ctx = RunContext(run_input("count", runId="other"), agent="cli", team="team")
    ctx.attempt = 2
    async with aclosing(agent.run(ctx)) as stream:
        async for _ in stream:
            pass
    assert calls(data)[-1] == ([], "count")


@pytest.mark.parametrize("options", [{"directory": "run", "resume_argv": []}, {"resume_argv": []}])
async def test_a_command_that_cannot_resume_replaces_its_output(options: dict[str, Any]) -> None:
    events = await attempt(runtime("claude.jsonl", **options), 2)
    (snapshot,) = of(events, "MESSAGES_SNAPSHOT")
    assert [message["id"] for message in snapshot["messages"]] == ["u1"]
    assert text_of(events) == "I count the words.notes.txt has five words."
    assert json.dumps(events).count("I count the words.") == 1
