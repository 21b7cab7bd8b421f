"""What TanStack AI's client gets on /agui/agent/{slug}/run: runs, lines, threads, refusals."""

import hashlib
import json
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.dialects.tanstack.wire import BINDING, bound, ui_messages
from events.writer import JournalWriter
from runs.models import Run
from tests.asgi import Answer, Exchange, ask, ask_now, events_of
from tests.cast import Cast, LiveRun, log_of, start
from tests.runs.conversing import Told, tell, text, user

pytestmark = pytest.mark.django_db(transaction=True)

URL = "/agui/agent/echo/run"
LINES = {"accept": "application/x-ndjson"}
EMPTY = {"messages": [], "activeRun": None, "interrupts": None, "page": {"truncated": False}}
SCHEMA = {"type": "object", "properties": {"approved": {"type": "boolean"}}}
QUESTION = {"id": "q", "reason": "confirm", "message": "May I?", "responseSchema": SCHEMA}


def test_the_hash_of_a_schema_does_not_depend_on_the_order_of_its_keys() -> None:
    schemas = [{"type": "object", "required": ["a"]}, {"required": ["a"], "type": "object"}]
    marks = [
        bound({**QUESTION, "responseSchema": schema}, "r")["metadata"][BINDING]
        for schema in schemas
    ]
    assert marks[0] == marks[1]
    canonical = json.dumps(schemas[0], sort_keys=True, separators=(",", ":")).encode()
    assert marks[0]["responseSchemaHash"] == f"sha256:{hashlib.sha256(canonical).hexdigest()}"


def lines_of(body: bytes) -> list[tuple[int | None, Any]]:
    values = [json.loads(line) for line in body.splitlines() if line]
    return [(int(each["id"]), each["chunk"]) if "id" in each else (None, each) for each in values]


def numbered(run: Run) -> list[tuple[int | None, Any]]:
    return list(enumerate(log_of(run), 1))


async def test_a_run_is_replayed_as_stored_and_followed(cast: Cast, writer: JournalWriter) -> None:
    live = await LiveRun.begin(await db(start, cast.alice, threadId="t", runId="r"), writer)
    join = f"{URL}?offset=-1&runId=r"
    async with Exchange("GET", join, cast.vera.headers) as late:
        assert late.headers["content-type"].startswith("text/event-stream")
        async with Exchange("GET", join, {**cast.vera.headers, **LINES}) as other:
            assert other.headers["content-type"] == "application/x-ndjson"
            await live.say("a", "b")
            await live.end()
            rest = await other.rest()
        body = await late.rest()
    log = await db(numbered, live.run)
    assert events_of(body) == log
    assert lines_of(rest) == log
    either = {"accept": "text/event-stream, application/x-ndjson"}
    ended = await ask("GET", join, {**cast.vera.headers, **either})
    assert events_of(ended.body) == log
    for read, accept in ((events_of, {}), (lines_of, LINES)):
        # A cut join comes back to the same address.
        headers = {**cast.vera.headers, **accept, "last-event-id": "2"}
        assert read((await ask("GET", join, headers)).body) == log[2:]
        body = {"threadId": "t", "runId": "r", "messages": []}
        again = await ask(
            "POST", URL, {**cast.bob.headers, **accept, "last-event-id": "2"}, json=body
        )
        assert read(again.body) == log[2:]
    repeated = await ask("POST", URL, {**cast.bob.headers, **LINES}, json=body)
    assert [kind["type"] for _, kind in lines_of(repeated.body)][:2] == [
        "RUN_STARTED",
        "STATE_SNAPSHOT",
    ]
    assert lines_of(repeated.body)[-1] == log[-1]


def test_its_post_gets_the_log_as_stored(cast: Cast) -> None:
    """It declares no version, but names the run in a header and knows AG-UI 1.0."""
    run = tell(cast.alice, runId="r", end=lambda intake: intake.cancel())
    body = {"threadId": "t", "runId": "r"}
    for headers in ({"x-run-id": "r"}, LINES):
        request_headers = {**cast.bob.headers, **headers, "last-event-id": "0"}
        answer = ask_now("POST", URL, request_headers, json=body)
        read = lines_of if headers is LINES else events_of
        assert read(answer.body) == numbered(run)
    without = lines_of(
        ask_now("GET", f"{URL}?runId=r&raw=false", {**cast.bob.headers, **LINES}).body
    )
    assert without == numbered(run), "it has no RAW"


def hydrate(cast: Cast, query: str = "threadId=t", slug: str = "echo") -> Answer:
    accept = {**cast.vera.headers, "accept": "application/json"}
    return ask_now("GET", f"/agui/agent/{slug}/run?{query}", accept)


def answered(cast: Cast, number: int) -> Run:
    message = [
        *text(f"a{number}", "an", "swer"),
        {"type": "TEXT_MESSAGE_END", "messageId": f"a{number}"},
    ]
    return tell(
        cast.alice, *message, messages=[user(f"q {number}", f"u{number}")], runId=f"r{number}"
    )


def test_a_thread_before_in_and_after_a_run(cast: Cast) -> None:
    assert hydrate(cast).json == EMPTY
    answered(cast, 1)
    before = hydrate(cast).json
    assert before == EMPTY | {
        "messages": [
            {"id": "u1", "role": "user", "parts": [{"type": "text", "content": "q 1"}]},
            {"id": "a1", "role": "assistant", "parts": [{"type": "text", "content": "answer"}]},
        ]
    }
    waits = start(cast.alice, threadId="t", runId="r2", messages=[user("q 2", "u2")])
    queued = hydrate(cast).json
    assert queued["activeRun"] == {"runId": "r2"}
    assert [each["id"] for each in queued["messages"]] == ["u1", "a1", "u2"]
    live = Told(waits).say(*text("a2", "half"))
    assert hydrate(cast).json == queued, "the client replays the run from its first event"
    live.say({"type": "TEXT_MESSAGE_END", "messageId": "a2"}).end()
    after = hydrate(cast).json
    assert after["activeRun"] is None
    assert [each["id"] for each in after["messages"]] == ["u1", "a1", "u2", "a2"]


def test_calls_results_thoughts_and_a_question(cast: Cast) -> None:
    call = {"toolCallId": "c"}
    tell(
        cast.alice,
        {"type": "REASONING_MESSAGE_START", "messageId": "h", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "h", "delta": "Hm."},
        {"type": "REASONING_MESSAGE_END", "messageId": "h"},
        {"type": "TOOL_CALL_START", **call, "toolCallName": "look", "parentMessageId": "a"},
        {"type": "TOOL_CALL_ARGS", **call, "delta": '{"for": 1}'},
        {"type": "TOOL_CALL_END", **call},
        {"type": "TOOL_CALL_RESULT", **call, "messageId": "o", "content": '{"n": 2}'},
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "v", "activityType": "plan", "content": {}},
        messages=[user("go", "u")],
        runId="r",
        end=lambda intake: intake.finish({"type": "interrupt", "interrupts": [QUESTION]}),
    )  # fmt: skip
    thread = hydrate(cast).json
    assert [each["id"] for each in thread["messages"]] == ["u", "h", "a"]
    assert thread["messages"][1]["parts"] == [{"type": "thinking", "content": "Hm."}]
    called, result = thread["messages"][2]["parts"]
    assert (called["state"], called["input"], called["output"]) == (
        "complete",
        {"for": 1},
        {"n": 2},
    )
    assert (result["type"], result["toolCallId"], result["content"]) == (
        "tool-result",
        "c",
        '{"n": 2}',
    )
    (pending,) = thread["interrupts"]["pending"]
    assert thread["interrupts"]["runId"] == "r"
    binding = pending.pop("metadata")[BINDING]
    assert pending == QUESTION
    assert (binding["interruptId"], binding["interruptedRunId"]) == ("q", "r")
    answer = {"interruptId": "q", "status": "resolved", "payload": {"approved": True}}
    start(cast.alice, threadId="t", runId="r2", resume=[answer])
    resumed = hydrate(cast).json
    assert (resumed["interrupts"], resumed["activeRun"]) == (None, {"runId": "r2"})
    # The client drops a last message of the assistant once the run has content.
    assert resumed["messages"][-1]["parts"] == []
    assert resumed["messages"][:-1] == thread["messages"]


def test_a_call_without_arguments_is_json(cast: Cast) -> None:
    for name, pieces in (("none", ()), ("blank", (" ",)), ("half", ('{"for": ',))):
        call = {"toolCallId": name}
        tell(
            cast.alice,
            {"type": "TOOL_CALL_START", **call, "toolCallName": "look"},
            *({"type": "TOOL_CALL_ARGS", **call, "delta": piece} for piece in pieces),
            threadId=name,
            runId=name,
            end=lambda intake: intake.cancel(),
        )
        *_, message = hydrate(cast, f"threadId={name}").json["messages"]
        (part,) = message["parts"]
        text, value = ('{"for": ', ()) if name == "half" else ("{}", ({},))
        assert (part["arguments"], (*_input(part),)) == (text, value), name


def _input(part: Any) -> Any:
    return [part["input"]] if "input" in part else []


def test_a_result_before_its_call_and_one_without() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages = [
        {"id": "o", "role": "tool", "toolCallId": "c", "content": '{"n": 2}', "error": "late"},
        {"id": "p", "role": "tool", "toolCallId": "gone", "content": "3"},
        {"id": "a", "role": "assistant", "content": "So.", "toolCalls": [call]},
    ]
    alone, whole = ui_messages(messages)
    assert (alone["id"], alone["role"]) == ("p", "assistant")
    assert [part["toolCallId"] for part in alone["parts"]] == ["gone"]
    _, called, result = whole["parts"]
    assert (called["state"], called["output"]) == ("error", {"n": 2})
    assert (result["id"], result["error"]) == ("o", "late")


def test_pages_of_a_long_thread(cast: Cast) -> None:
    for number in (1, 2, 3):
        answered(cast, number)
    newest = hydrate(cast, "threadId=t&limit=4").json
    assert [each["id"] for each in newest["messages"]] == ["u2", "a2", "u3", "a3"]
    assert newest["page"] == {"truncated": True, "cursor": "u2"}
    oldest = hydrate(cast, "threadId=t&limit=4&before=u2").json
    assert [each["id"] for each in oldest["messages"]] == ["u1", "a1"]
    assert oldest["page"] == {"truncated": False}


def test_refusals(cast: Cast) -> None:
    answered(cast, 1)
    start(cast.alice, threadId="other", runId="r1")
    for query, status, code in (
        ("", 400, "bad_request"),
        ("offset=-1", 400, "bad_request"),
        ("runId=nowhere&offset=-1", 404, "not_found"),
        ("runId=r1&offset=-1", 409, "conflict"),
        ("threadId=t&limit=0", 422, "invalid"),
        ("threadId=t&limit=99999", 422, "invalid"),
        ("threadId=t&limit=٣", 422, "invalid"),
        ("threadId=t&before=nowhere", 400, "bad_cursor"),
    ):
        refusal = hydrate(cast, query)
        assert (refusal.status, refusal.code) == (status, code), query
    lone = tell(cast.alice, threadId="third", runId="lone")
    for offset in ("x", "-2", str(lone.journal.head + 1)):
        refusal = hydrate(cast, f"runId=lone&offset={offset}")
        assert (refusal.status, refusal.code) == (400, "bad_cursor"), offset
    assert hydrate(cast, "threadId=t", slug="nobody").code == "unknown_agent"
    assert hydrate(cast, "runId=lone", slug="nobody").code == "unknown_agent"
    assert ask_now("GET", f"{URL}?threadId=t").status == 401
    for query in ("runId=lone&offset=-1", "threadId=t"):
        stranger = ask_now("GET", f"{URL}?{query}", cast.charlie.headers)
        assert stranger.status == 404 if "runId" in query else stranger.json == EMPTY
