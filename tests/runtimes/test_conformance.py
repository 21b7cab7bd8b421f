"""``manage.py check_agent``: one run of an agent, and what a stock client would say to it."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core.management import CommandError, call_command

from agui_host.runtimes import conformance, registry
from agui_host.runtimes.conformance import Report
from agui_host.runtimes.models import Agent
from agui_host.teams.models import Team

HELLO = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
DELTA = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "line\u2028separator"}
BYE = {"type": "TEXT_MESSAGE_END", "messageId": "m"}
OPEN = {"type": "RUN_STARTED", "threadId": "<thread>", "runId": "<run>"}
DONE = {**OPEN, "type": "RUN_FINISHED"}


@pytest.fixture(autouse=True)
def no_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_agents", {})


def checked(*arguments: str) -> tuple[str, int]:
    """What the command prints, and its exit code."""
    out = StringIO()
    try:
        call_command("check_agent", *arguments, stdout=out, no_color=True)
    except SystemExit as left:
        return out.getvalue(), int(str(left.code))
    return out.getvalue(), 0


def playing(*events: Any, fail: Exception | None = None) -> None:
    @registry.agent("subject")
    async def agent(ctx: Any) -> AsyncIterator[Any]:
        for event in events:
            yield event
        if fail:
            raise fail


def test_an_agent_that_conforms() -> None:
    playing(HELLO, DELTA, BYE)
    out, code = checked("subject")
    assert code == 0
    counts = dict(line.split() for line in out.split("findings")[0].splitlines()[1:])
    assert counts == {
        "RUN_STARTED": "1",
        "TEXT_MESSAGE_START": "1",
        "TEXT_MESSAGE_CONTENT": "1",
        "TEXT_MESSAGE_END": "1",
        "RUN_FINISHED": "1",
    }
    assert "findings\n  none\n" in out
    assert "  conforms: " in out


def test_an_agent_that_the_host_mends() -> None:
    playing(DELTA, BYE, BYE, {"type": "NOVEL"}, {"type": "RUN_FINISHED"})
    out, code = checked("subject")
    assert code == 0
    section = out.split("findings\n")[1].split("verdict")[0]
    assert [line.split() for line in section.splitlines()] == [
        ["V4", "dropped", "1"],
        ["V4", "inserted_start", "1"],
        ["unknown_type", "wrapped", "1"],
    ]
    assert "  repaired: " in out


@pytest.mark.parametrize(
    ("events", "error", "why"),
    [
        ([HELLO, {**DELTA, "subagentRunId": "s"}], None, "V10 failed"),
        ([{**DELTA, "delta": {"x": 5}}], None, "'delta'|must be a string"),
        ([HELLO], ZeroDivisionError("hm"), "ZeroDivisionError: hm"),
    ],
)
def test_an_agent_that_nobody_can_mend(events: Any, error: Any, why: str) -> None:
    playing(*events, fail=error)
    out, code = checked("subject")
    assert code == 1
    assert any(part in out for part in why.split("|"))
    assert "  fails: " in out


def test_the_agent_is_asked_the_message() -> None:
    messages = []
    registry.agent("subject")(lambda ctx: messages.append(ctx.text))
    checked("subject", "--message", "How are you?")
    assert messages == ["How are you?"]


def test_an_agent_that_never_ends() -> None:
    @registry.agent("subject")
    async def agent(ctx: Any) -> None:
        await asyncio.Event().wait()

    out, code = checked("subject", "--timeout", "0.05")
    assert code == 1
    assert "longer than 0.05 seconds" in out


def test_what_cannot_be_asked() -> None:
    with pytest.raises(CommandError, match=r'no code for the agent "nobody"\. Add --team TEAM'):
        checked("nobody")
    with pytest.raises(CommandError, match="Name: value"):
        checked("http://127.0.0.1:1/", "--header", "nonsense")


def test_an_agent_that_ends_with_an_error() -> None:
    playing({"type": "RUN_ERROR", "message": "The model is away", "code": "away"})
    out, code = checked("subject")
    assert code == 1
    assert "  fails: away: The model is away" in out


@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        ({"argv": ["echo", "hello"]}, "conforms: "),
        ({"argv": ["echo", "1"], "resume_argv": ["echo"], "directory": "thread"}, "conforms: "),
        (
            {"argv": ["no-such-program"]},
            "fails: process_exit: The program 'no-such-program' is not on the worker's PATH, or"
            " is not executable.",
        ),
        (
            {"argv": ["./no-such-program"]},
            "fails: process_exit: The program 'no-such-program' is not on the worker's PATH, or"
            " is not executable.",
        ),
        ({"argv": ["sh", "-c", "exit 3"]}, "fails: process_exit: The command ended with status 3."),
    ],
)
def test_a_teams_command_line(
    command: dict[str, Any], verdict: str, db: None, tmp_path: Path, settings: Any
) -> None:
    settings.AGUI_DATA_DIR = tmp_path
    team = Team.objects.create(slug="acme", name="Acme")
    Agent.objects.create(
        team=team, slug="command", kind="process", settings={**command, "unconfined": True}
    )
    out, code = checked("command", "--team", "acme")
    assert f"verdict\n  {verdict}" in out
    assert code == int(verdict.startswith("fails"))
    assert [*tmp_path.glob("processes/*/*")] == [], "nothing stays"


def test_an_agent_that_the_team_does_not_have(db: None) -> None:
    with pytest.raises(CommandError, match="There is no team 'acme'"):
        checked("command", "--team", "acme")
    Team.objects.create(slug="acme", name="Acme")
    with pytest.raises(CommandError, match="Team 'acme' has no agent 'command'"):
        checked("command", "--team", "acme")


def test_an_endpoint_that_is_not_there() -> None:
    out, code = checked("http://127.0.0.1:1/")
    assert code == 1
    assert "ConnectError" in out


# --- an endpoint


def frame(event: Any) -> str:
    return f"data: {json.dumps(event, ensure_ascii=False)}\n\n"


async def judged(*parts: Any, status: int = 200, headers: Any = ()) -> Report:
    """The report on an endpoint that answers with these events or pieces of text."""
    input_body = conformance.body("hi")

    def answer(request: httpx.Request) -> httpx.Response:
        assert json.loads(request.content) == input_body
        assert request.headers["accept"] == "text/event-stream"
        texts = [part if isinstance(part, str) else frame(part) for part in parts]
        text = "".join(texts).replace("<thread>", input_body["threadId"])
        body = text.replace("<run>", input_body["runId"]).encode()
        return httpx.Response(status, content=in_pieces(body))

    transport = httpx.MockTransport(answer)
    events = conformance.remote("http://agent/", input_body, dict(headers), transport)
    return await conformance.judge(events, input_body, alone=True, timeout=10)


async def in_pieces(body: bytes) -> AsyncGenerator[bytes, None]:
    """Cut anywhere: inside lines and inside characters."""
    for at in range(0, len(body), 7):
        yield body[at : at + 7]


@pytest.mark.parametrize("end", ["\n\n", "\n", ""])
async def test_an_endpoint_that_conforms(end: str) -> None:
    comments = ": keep-alive\n\nevent: x\nid: 5\nretry: 1\n"
    last = frame(DONE).rstrip("\n") + end
    report = await judged(comments, OPEN, HELLO, "data:" + frame(DELTA)[6:], BYE, last)
    assert report.verdict == "conforms", report
    assert report.events.total() == 5


async def test_an_endpoint_answers_for_its_own_frame() -> None:
    report = await judged(HELLO, BYE)
    assert dict(report.findings) == {("V1", "inserted_start"): 1, ("terminal", "added"): 1}
    assert report.verdict == "repaired"
    other = {**DONE, "runId": "mine"}
    report = await judged(OPEN, other, HELLO)
    assert dict(report.findings) == {("ids", "corrected"): 1, ("V3", "dropped"): 1}


@pytest.mark.parametrize(
    ("parts", "status", "why"),
    [
        ([OPEN], 401, "HTTP 401"),
        ([OPEN, "data: [DONE]\n\n"], 200, "not JSON"),
        ([OPEN, frame(HELLO).replace("\n", "\r\n")], 200, "CR LF"),
        ([OPEN, "data: 5\n\n"], 200, "must be an object"),
    ],
)
async def test_an_endpoint_that_no_client_can_read(parts: Any, status: int, why: str) -> None:
    report = await judged(*parts, status=status)
    assert report.verdict == "fails"
    assert report.failure is not None
    assert why in report.failure
