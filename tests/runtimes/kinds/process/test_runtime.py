"""Commands as agents: what they get, what they say, how they end."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.protocol.intake.intake import Intake
from tests.runtimes.playing import of, run_input, text_of, types
from tests.runtimes.processing import RECORDED, Leftovers, process, script


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(settings, "AGUI_DATA_DIR", tmp_path)
    return tmp_path


def play_recorded(name: str, status: int = 0) -> list[str]:
    """A scripted CLI: says how it was called, on stderr, then plays a recorded session."""
    return script(f"""
        import json, os, sys
        print(json.dumps({{"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(),
                           "stdin": sys.stdin.read()}}), file=sys.stderr)
        print(open({str(RECORDED / name)!r}).read(), end="")
        sys.exit({status})
    """)


def called(events: list[dict[str, Any]]) -> dict[str, Any]:
    """How the scripted CLI says it was called."""
    raw = next(e for e in of(events, "RAW") if e["source"] == "stderr")
    return dict(json.loads(raw["event"]))


async def test_a_recorded_session(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "SECRET_KEY", "AGUI_SECRET_THING", "OTHER", "CLI_KEY"):
        monkeypatch.setenv(name, f"{name}-of-the-host")
    left = Leftovers()
    events = await process(
        [*play_recorded("claude_partial.jsonl"), "--thread={thread_id}", "--", "{text}"],
        run_input("--dangerous $(id) {run_id}"),
        env={"MODE": "test"}, env_from_host=["CLI_KEY"],
    )  # fmt: skip
    left.gone()
    how = called(events)
    assert how["argv"] == ["--thread=t", "--", "--dangerous $(id) {run_id}"]
    assert json.loads(how["stdin"])["messages"][0]["content"] == "--dangerous $(id) {run_id}"
    root = data / "processes" / "runs"
    assert Path(how["cwd"]).parent.parent == root
    env = how["env"]
    home = {
        "HOME": str(Path(how["cwd"]).parent / "home"),
        "TMPDIR": str(Path(how["cwd"]).parent / "tmp"),
    }
    environment = {"PATH": os.environ["PATH"], "MODE": "test", "CLI_KEY": "[redacted]", **home}
    harmless = {"LANG", "LC_ALL", "LC_CTYPE", "TZ"}
    assert {name: env[name] for name in env if name not in harmless} == environment
    assert list(root.iterdir()) == []
    assert text_of(events) == "I count the words.notes.txt has five words."
    end = events[-1]
    assert end["type"] == "RUN_FINISHED"
    assert end["result"]["costUsd"] == 0.028124999999999994
    assert end["usage"][0]["outputTokens"] == 126


async def test_events_pass_through_and_the_last_one_waits_for_the_command() -> None:
    events = await process(script("""
        import json, pathlib
        for event in ({"type": "STEP_STARTED", "stepName": "a"},
                      {"type": "STEP_FINISHED", "stepName": "a"},
                      {"type": "RUN_FINISHED", "threadId": "x", "runId": "y", "result": 1}):
            print(json.dumps(event), flush=True)
        print("late", flush=True)
        pathlib.Path("../home/cleaned").write_text("up")
    """), directory="thread")  # fmt: skip
    assert types(events) == ["STEP_STARTED", "STEP_FINISHED", "RUN_FINISHED"]
    assert list(settings.AGUI_DATA_DIR.glob("processes/threads/*/home/cleaned"))


async def test_a_question_and_its_answer() -> None:
    """A command that speaks AG-UI asks with its RUN_FINISHED and finds the answer in its input."""
    argv = script("""
        import json, sys
        run = json.load(sys.stdin)
        if run.get("resume"):
            print("You said", run["resume"][0]["payload"])
        else:
            print(json.dumps({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome":
                {"type": "interrupt", "interrupts": [{"id": "q", "reason": "ask"}]}}))
    """)
    asking = await process(argv)
    assert asking[-1]["outcome"]["interrupts"][0]["id"] == "q"
    answer = [{"interruptId": "q", "status": "resolved", "payload": "yes"}]
    assert text_of(await process(argv, run_input("hi", resume=answer))) == "You said yes\n"


@pytest.mark.parametrize(("status", "end"), [(0, {"type": "STEP_FINISHED"}), (3, None)])
async def test_a_marked_step_ends_with_the_command(status: int, end: dict[str, Any] | None) -> None:
    """One that fails leaves it open, and the intake says that it has failed."""
    argv = script(f"print('## build'); print('on'); raise SystemExit({status})")
    events = await process(argv, step_marker="## ")
    assert text_of(events) == "on\n"
    assert of(events, "STEP_STARTED") == [{"type": "STEP_STARTED", "stepName": "build"}]
    assert of(events, "STEP_FINISHED") == ([{**end, "stepName": "build"}] if end else [])
    intake = Intake("t", "r")
    stored = [json.loads(record.payload) for e in events for record in intake.accept(e)]
    stored += [json.loads(r.payload) for r in intake.finish()] if intake.terminal is None else []
    (finished,) = of(stored, "STEP_FINISHED")
    assert finished.get("metadata") == (None if end else {"status": "failed"})


def worktree(name: Any) -> dict[str, Any]:
    return run_input("hi", forwardedProps={"alpine": {"worktreeDir": name}})


async def test_the_command_works_in_the_worktree_that_the_request_names(data: Path) -> None:
    argv = script("""
        import os, pathlib
        if not os.path.lexists("../../outside"):
            os.symlink("/", "../../outside")
        pathlib.Path("mine").touch()
        print(os.getcwd())
    """)
    where = [
        text_of(await process(argv, worktree(name), directory="thread")).strip()
        for name in ("wt/feature-x", "./wt/feature x/")
    ]
    (root,) = data.glob("processes/threads/*/work")
    assert where == [f"{root}/wt/feature-x", f"{root}/wt/feature x"]
    assert (root / "wt" / "feature-x" / "mine").exists()
    with pytest.raises(RunFailed, match=r"cannot work in outside/tmp: Not a directory") as failed:
        await process(argv, worktree("outside/tmp"), directory="thread")
    assert failed.value.reason == RunErrorCode.PROCESS_EXIT


@pytest.mark.parametrize("name", ["/etc", "..", "a/../../b", "a\0", "a\n", "x" * 201, "a/" * 9, 7])
async def test_a_worktree_elsewhere_is_refused(data: Path, name: Any) -> None:
    with pytest.raises(RunFailed, match="below the agent's own working directory"):
        await process(script("print('ran')"), worktree(name))
    assert not list(data.glob("processes/*/*"))


@pytest.mark.parametrize(("stdin", "read"), [("text", "hello"), ("none", "")])
async def test_other_inputs(stdin: str, read: str) -> None:
    argv = script("import sys; print(repr(sys.stdin.read()))")
    assert text_of(await process(argv, stdin=stdin)) == f"{read!r}\n"


async def test_a_thread_goes_on_with_its_session() -> None:
    argv = play_recorded("claude.jsonl")
    options: dict[str, Any] = {
        "resume_argv": [*argv, "--resume", "{session_id}"], "directory": "thread",
    }  # fmt: skip
    first = called(await process(argv, **options))
    second = called(await process(argv, **options))
    other = called(await process(argv, run_input("hi", threadId="u"), **options))
    assert first["argv"] == other["argv"] == []
    assert second["argv"] == ["--resume", "20b940b2-99d1-488e-951c-d8e13716dbe9"]
    assert first["cwd"] == second["cwd"] != other["cwd"]
    # A session that cannot be resumed is forgotten: the thread is not lost with it.
    options["resume_argv"] = script("raise SystemExit('no such session')")
    assert (await process(argv, **options))[-1]["code"] == "process_exit"
    assert called(await process(argv, **options))["argv"] == []


async def test_a_resumed_session_counts_what_this_run_used(data: Path) -> None:
    argv = play_recorded("codex.jsonl")
    options: dict[str, Any] = {
        "resume_argv": [*argv, "{session_id}"], "directory": "thread",
    }  # fmt: skip
    used = [(await process(argv, **options))[-1]["usage"][0]["inputTokens"] for _ in range(2)]
    assert used == [6000, 0]  # the recorded session says 6000 both times
    # The command can write there too: what it writes is no option, and breaks nothing.
    (session,) = data.glob("processes/threads/*/session")
    for text in ("--dangerous\n{}", "fine\n[1", "fine\n[[1]]", "x" * 10_000, "\0"):
        session.write_text(text)
        assert called(await process(argv, **options))["argv"] == []
    session.unlink()
    os.mkfifo(session)
    assert called(await process(argv, **options))["argv"] == []
    assert session.is_file()


async def test_a_run_directory_may_be_kept(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "AGUI_PROCESS_KEEP", True)
    await process(script("open('note', 'w').close(); print('x')"))
    assert len(list(data.glob("processes/runs/*/work/note"))) == 1


# --- how it ends


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        (script("raise SystemExit(3)"), "process_exit", "The command ended with status 3."),
        (
            script("import sys; sys.exit('\\x1b[31mbad key: CLI-KEY-VALUE\\x07\\n')"),
            "process_exit", "The command ended with status 1: bad key: [redacted]",
        ),
        (script(""), "process_exit", "The command ended with status 0 and printed nothing."),
        (
            script("import os, sys; print('kept', flush=True); os.kill(os.getpid(), 9)"),
            "process_exit", "The command was ended by SIGKILL.",
        ),
        (
            ["/nowhere/cli"], "process_exit",
            "The program 'cli' is not on the worker's PATH, or is not executable.",
        ),
        (
            play_recorded("claude_fail.jsonl", 1), "process_exit",
            "The command ended with status 1: API Error: 400 no such model",
        ),
        (
            play_recorded("claude_fail.jsonl"), "agent_error",
            "The command failed: API Error: 400 no such model",
        ),
        (
            script("print('{\"type\": \"system\", \"session_id\": \"s\"}')"), "process_exit",
            "The command ended before its session did.",
        ),
    ],
)  # fmt: skip
async def test_how_a_command_ends(argv: list[str], code: str, message: str) -> None:
    left = Leftovers()
    events = await process(argv, env={"CLI_KEY": "CLI-KEY-VALUE"})
    left.gone()
    assert types(events).count("RUN_ERROR") == 1
    assert (events[-1]["code"], events[-1]["message"]) == (code, message)
