"""Recorded effects in place of calls, and 200 archives of the demo agents."""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import agui_host.runtimes.builtin.approval
import agui_host.runtimes.builtin.docs
import agui_host.runtimes.builtin.table  # noqa: F401  all three register their agent
from agui_host import testing
from agui_host.protocol.strict_json import dumps
from agui_host.runtimes.context.effects import digest_of
from agui_host.runtimes.context.run_context import RunContext
from agui_host.testing.recorded import Recorded
from tests.house.repository import ROOT

CALLS: list[int] = []


def charge(amount: int) -> str:
    CALLS.append(amount)
    return "called"


async def paying(ctx: RunContext) -> AsyncIterator[str]:
    yield "Paying. "
    with ctx.tool_call("charge", {"amount": 42}) as call:
        call.result(await ctx.once("charge", charge, 42))


def lines_of(agent: str, text: str, played: testing.Played) -> list[str]:
    start = played.events[0]
    message = {"id": "u", "role": "user", "content": text}
    opening = {
        "archive": 1, "agent": agent, "thread": start["threadId"], "run": start["runId"],
        "input": json.dumps({"messages": [message]}),
    }  # fmt: skip
    return [*map(dumps, [opening, *played.events]), '{"seal":"any"}']


def effect(key: str = "charge", amount: int = 42, status: str = "done") -> dict[str, Any]:
    digest = digest_of(key, (amount,), {})
    return {"key": key, "digest": digest, "status": status, "value": '"receipt 7"'}


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    played = testing.run(paying, "x", effects=Recorded([effect()]))
    file = tmp_path / "run.jsonl"
    file.write_text("\n".join(lines_of("paying", "x", played)) + "\n")
    CALLS.clear()
    return file


def with_effects(file: Path, *rows: dict[str, Any]) -> Path:
    file.write_text(file.read_text() + dumps({"effects": list(rows)}) + "\n")
    return file


def test_an_effect_is_read_and_not_called(recording: Path) -> None:
    replayed = testing.replay(with_effects(recording, effect()), paying)
    assert replayed.divergence is None
    assert replayed.played.messages[-1]["content"] == "receipt 7"
    assert CALLS == []


def test_an_archive_without_effects_calls_them(recording: Path) -> None:
    divergence = testing.replay(recording, paying).divergence
    assert divergence is not None
    assert divergence.cause == 'content of TOOL_CALL_RESULT was "receipt 7", now it is "called"'
    assert CALLS == [42]


@pytest.mark.parametrize(
    ("rows", "cause"),
    [
        ([], "ctx.once('charge') is called, and the recorded run never did"),
        ([effect(amount=7)], "ctx.once('charge') is called with other arguments than recorded"),
        ([effect(status="failed")], "ctx.once('charge') has no recorded value: it is failed"),
    ],
)
def test_an_effect_without_a_recorded_result_diverges(
    recording: Path, rows: list[dict[str, Any]], cause: str
) -> None:
    divergence = testing.replay(with_effects(recording, *rows), paying).divergence
    assert divergence is not None
    assert f"({cause})" in divergence.cause
    recorded = testing.replay(recording, paying).recorded.events
    assert recorded[divergence.seq - 1]["type"] == "TOOL_CALL_RESULT"
    assert CALLS == []


def test_an_agent_that_ignores_the_error_diverges_all_the_same(recording: Path) -> None:
    async def careless(ctx: RunContext) -> AsyncIterator[str]:
        yield "Paying. "
        with ctx.tool_call("charge", {"amount": 42}) as call:
            try:
                await ctx.once("other", charge, 1)
            except Exception:
                call.result("receipt 7")

    divergence = testing.replay(with_effects(recording, effect()), careless).divergence
    assert divergence is not None
    assert divergence.cause == "ctx.once('other') is called, and the recorded run never did"


def asked(number: int) -> tuple[str, str]:
    """A question for a demo agent, another for each number."""
    digest = hashlib.sha256(str(number).encode()).hexdigest()
    rows = "\n".join(f"{digest[i : i + 3]},{i * number}" for i in range(5))
    return [
        ("approval", f"Delete file {number}."),
        ("table", f"name,size\n{rows}\n"),
        ("docs", ["How does a run end?", "What is a thread?", "How are files kept?"][number % 3]),
    ][number % 3]


def test_200_archives_replay_and_a_planted_change_is_found(tmp_path: Path) -> None:
    for number in range(200):
        slug, text = asked(number)
        lines = lines_of(slug, text, testing.run(slug, text))
        (tmp_path / f"{number:03}.jsonl").write_text("\n".join(lines) + "\n")
    began = time.monotonic()
    for file in sorted(tmp_path.iterdir()):
        assert testing.replay(file).divergence is None, file
    assert time.monotonic() - began < 20
    for number in range(0, 200, 7):
        file = tmp_path / f"{number:03}.jsonl"
        lines = file.read_text().splitlines()
        seq = 2 + number % (len(lines) - 4)
        planted = json.loads(lines[seq]) | {"planted": True}
        # Deltas of a part are compared as one event: its first one has the number.
        while seq > 1 and _part(lines[seq - 1]) == _part(lines[seq]) is not None:
            seq -= 1
            planted = json.loads(lines[seq]) | {"planted": True}
        lines[seq] = dumps(planted)
        file.write_text("\n".join(lines) + "\n")
        divergence = testing.replay(file).divergence
        assert divergence is not None
        assert (divergence.seq, divergence.cause) == (
            seq, f"planted of {planted['type']} was true, now it is null"
        )  # fmt: skip


def _part(line: str) -> tuple[str, str] | None:
    event = json.loads(line)
    part = event.get("messageId") or event.get("toolCallId")
    return (event["type"], part) if "delta" in event and part else None


def test_the_command_of_the_ci_example_needs_no_database(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "examples" / "replay.md").read_text()
    command = "agui-host replay archives"
    assert f"run: {command}\n" in page
    folder = tmp_path / "archives"
    folder.mkdir()
    lines = lines_of("approval", "Pay.", testing.run("approval", "Pay."))
    (folder / "good.jsonl").write_text("\n".join(lines) + "\n")
    nowhere = {"DATABASE_URL": "postgres://nobody@127.0.0.1:9/none", "AGUI_DATA_DIR": str(tmp_path)}

    def replay() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "agui_project", *command.split()[1:]],
            cwd=tmp_path, env={**os.environ, **nowhere, "PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, timeout=100,
        )  # fmt: skip

    done = replay()
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"archives/good.jsonl: the same {len(lines) - 2} events\n"
    (folder / "bad.jsonl").write_text("\n".join(lines).replace("May I?", "Shall I?") + "\n")
    done = replay()
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("archives/bad.jsonl diverges at event ")
    assert "archives/good.jsonl: the same" in done.stdout
