"""CopilotKit's runtime contract over HTTP: info, stop, threads; and the readers of AG-UI 0.x."""

import json
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.protocol.errors import RunErrorCode
from agui_host.protocol.intake.intake import Intake
from agui_host.protocol.views import legacy
from agui_host.runtimes.models import Agent
from runs.lifecycle import lifecycle
from runs.models import Run
from tests.asgi import Answer, Exchange, ask_now
from tests.cast import Actor, Cast, fresh, log_of, start
from tests.runs.conversing import Stream, Told, tell, text, user

pytestmark = pytest.mark.django_db(transaction=True)

BASES = ["/agui", "/api/agui"]
PROTO = "application/vnd.ag-ui.event+proto"
CALL = [
    {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look"},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '{"at":1}'},
    {"type": "TOOL_CALL_END", "toolCallId": "c"},
]
RESULT = {"type": "TOOL_CALL_RESULT", "toolCallId": "c", "messageId": "r", "content": "42"}


def get(actor: Actor, path: str) -> Any:
    answer = ask_now("GET", f"/agui{path}", actor.headers)
    assert answer.status == 200, answer.body
    return answer.json


def stop(actor: Actor, thread: str = "t", agent: str = "echo", **body: Any) -> Answer:
    url = f"/agui/agent/{agent}/stop/{thread}"
    return ask_now("POST", url, actor.headers, json=body or None)


class TestInfo:
    @pytest.mark.parametrize("base", BASES)
    @pytest.mark.parametrize("slash", ["", "/"])
    def test_every_address(self, cast: Cast, base: str, slash: str) -> None:
        answer = ask_now("GET", f"{base}/info{slash}", cast.vera.headers)
        assert (answer.status, "echo" in answer.json["agents"]) == (200, True)

    def test_nobody(self, cast: Cast) -> None:
        assert ask_now("GET", "/agui/info").status == 401

    def test_the_map_of_agents(self, cast: Cast) -> None:
        row = {"profile": "Manager", "goal": "Ship", "constraints": "None", "secret": "s"}
        Agent.objects.create(team=cast.team, slug="boss", name="Boss", settings=row)
        Agent.objects.create(team=cast.team, slug="off", name="Off", enabled=False)
        Agent.objects.create(team=cast.other_team, slug="theirs", name="Theirs")
        info = get(cast.alice, "/info")
        assert info["service"] == "AG-UI run host"
        assert set(info["agents"]) == {"echo", "boss", "default"}
        assert all(agent["id"] == key for key, agent in info["agents"].items())
        boss = info["agents"]["boss"]
        assert [boss[name] for name in ("name", "profile", "goal", "constraints")] == [
            "Boss", "Manager", "Ship", "None",
        ]  # fmt: skip
        assert "secret" not in json.dumps(info)

    def test_what_copilotkit_reads_of_a_runtime(self, cast: Cast) -> None:
        info = get(cast.alice, "/info")
        assert info["mode"] == "sse", "not CopilotKit's paid platform"
        assert info["threadEndpoints"] == {
            "list": True, "inspect": True, "mutations": False, "realtimeMetadata": False,
        }  # fmt: skip
        assert isinstance(info["version"], str)
        assert (info["suggestions"], info["telemetryDisabled"]) == (False, True)

    def test_default_is_the_teams_default_agent(self, cast: Cast) -> None:
        body = {"threadId": "t", "runId": "r", "onBusy": "enqueue"}
        answer = ask_now("POST", "/api/v1/runs", cast.alice.headers, json={
            "agent": "default", "input": body,
        })  # fmt: skip
        assert answer.json["agent"] == "echo"

    def test_an_agent_called_default_is_itself(self, cast: Cast) -> None:
        Agent.objects.create(team=cast.team, slug="default", name="Mine", target="echo")
        assert get(cast.alice, "/info")["agents"]["default"]["name"] == "Mine"

    def test_capabilities(self, cast: Cast) -> None:
        Agent.objects.filter(team=cast.team).update(
            timeout_seconds=1.5,
            settings={
                "capabilities": {
                    "identity": {"provider": "Acme", "name": "E"},
                    "output": {"structuredOutput": True},
                    "transport": {"httpBinary": True},
                    "reasoning": "yes",
                }
            },
        )
        capabilities = get(cast.alice, "/info")["agents"]["echo"]["capabilities"]
        assert capabilities == {
            "identity": {"name": "E", "type": "python", "description": "", "provider": "Acme"},
            "transport": {
                "streaming": True,
                "websocket": True,
                "httpBinary": False,
                "pushNotifications": False,
                "resumable": True,
            },
            "tools": {"clientProvided": True},
            "state": {"snapshots": True, "deltas": True, "persistentState": True},
            "humanInTheLoop": {"interrupts": True},
            "output": {"structuredOutput": True},
            "execution": {"maxExecutionTime": 1500},
        }


class TestStop:
    def test_what_is_active_in_the_thread(self, cast: Cast) -> None:
        running = Told(start(cast.alice, threadId="t")).run
        queued = start(cast.alice, threadId="t", onBusy="enqueue")
        other = start(cast.alice, threadId="other")
        refused = stop(cast.bob)
        assert (refused.status, refused.json["error"]["code"]) == (403, "forbidden")
        assert not fresh(running).cancel_requested_at
        answer = stop(cast.alice)
        assert (answer.status, answer.json["stopped"]) == (200, True)
        assert fresh(running).cancel_requested_at
        assert [fresh(run).status for run in (running, queued, other)] == [
            "running", "cancelled", "queued",
        ]  # fmt: skip

    def test_the_newest_ends_first(self, cast: Cast) -> None:
        """When the first of them ends, nothing that waits after it can begin."""
        runs = [start(cast.alice, threadId="t", onBusy="enqueue") for _ in range(3)]
        assert stop(cast.alice).json["stopped"]
        ends = [fresh(run).ended_at for run in runs]
        assert None not in ends
        assert ends == sorted(ends, reverse=True)

    @pytest.mark.parametrize("where", ["body", "query"])
    def test_one_run_of_it(self, cast: Cast, where: str) -> None:
        first = start(cast.alice, threadId="t", runId="one")
        second = start(cast.alice, threadId="t", runId="two", onBusy="enqueue")
        body = {"runId": "two"} if where == "body" else {}
        answer = stop(cast.alice, "t" if body else "t?runId=two", **body)
        assert answer.json["stopped"]
        assert (fresh(first).status, fresh(second).status) == ("queued", "cancelled")

    @pytest.mark.parametrize("body", [{}, {"runId": "r"}, {"runId": "never"}])
    def test_nothing_to_stop(self, cast: Cast, body: dict[str, str]) -> None:
        lifecycle.cancel(start(cast.alice, threadId="t", runId="r"))
        answer = stop(cast.alice, **body)
        assert (answer.status, answer.json["stopped"]) == (200, False)

    @pytest.mark.parametrize("thread", ["a%2Fb", "a%20b", "%C3%BC"])
    def test_a_thread_with_any_name(self, cast: Cast, thread: str) -> None:
        names = {"a%2Fb": "a/b", "a%20b": "a b", "%C3%BC": "ü"}
        run = start(cast.alice, threadId=names[thread])
        assert stop(cast.alice, names[thread]).json["stopped"]
        assert fresh(run).status == "cancelled"

    def test_strangers_and_viewers(self, cast: Cast) -> None:
        run = start(cast.alice, threadId="t", runId="r")
        assert stop(cast.charlie).json == stop(cast.charlie, "t").json
        assert stop(cast.charlie, runId="r").json["stopped"] is False
        assert (stop(cast.vera).status, stop(cast.vera).code) == (403, "forbidden")
        assert fresh(run).status == "queued"

    @pytest.mark.parametrize("body", [{"runId": 5}, {"runId": ""}, {"runId": None, "x": 1}])
    def test_a_run_that_is_no_name(self, cast: Cast, body: dict[str, Any]) -> None:
        answer = stop(cast.alice, **body)
        assert answer.status == (200 if body["runId"] is None else 422)

    def test_an_unknown_agent(self, cast: Cast) -> None:
        assert stop(cast.alice, agent="nobody").code == "unknown_agent"


class TestThreads:
    def test_the_list(self, cast: Cast) -> None:
        tell(cast.alice, threadId="one")
        last = tell(cast.bob, threadId="two")
        tell(cast.charlie, threadId="theirs")
        page = get(cast.vera, "/threads")
        assert [thread["id"] for thread in page["threads"]] == ["two", "one"]
        assert page["nextCursor"] is None
        first = page["threads"][0]
        assert (first["agentId"], first["createdById"], first["name"], first["archived"]) == (
            "echo", "user:bob", None, False,
        )  # fmt: skip
        assert first["updatedAt"][:19] == f"{last.ended_at:%Y-%m-%dT%H:%M:%S}"

    def test_pages(self, cast: Cast) -> None:
        for number in range(5):
            tell(cast.alice, threadId=str(number))
        tell(cast.alice, threadId="1")
        ids: list[Any] = []
        cursor: str | None = ""
        while cursor is not None:
            page = get(cast.alice, f"/threads?limit=2{cursor and f'&cursor={cursor}'}")
            assert len(page["threads"]) <= 2
            ids += [thread["id"] for thread in page["threads"]]
            cursor = page["nextCursor"]
        assert ids == ["1", "4", "3", "2", "0"], "by their newest run"

    @pytest.mark.parametrize("query", ["limit=0", "limit=201", "limit=x", "cursor=x"])
    def test_bad_pages(self, cast: Cast, query: str) -> None:
        answer = ask_now("GET", f"/agui/threads?{query}", cast.alice.headers)
        assert answer.code in ("invalid", "bad_cursor")

    def test_of_one_agent(self, cast: Cast) -> None:
        other = Agent.objects.create(team=cast.team, slug="other", name="Other", target="echo")
        start(cast.alice, threadId="echo's")
        start(cast.alice, other, threadId="other's")
        for agent, expected in {"echo": "echo's", "other": "other's", "default": "echo's"}.items():
            page = get(cast.alice, f"/threads?agentId={agent}&includeArchived=true")
            assert [thread["id"] for thread in page["threads"]] == [expected]
        assert get(cast.alice, "/threads?agentId=nobody")["threads"] == []

    def test_messages(self, cast: Cast) -> None:
        tell(cast.alice, *CALL, RESULT, *text("a", "hello"), messages=[user("hi", "u")])
        assert get(cast.vera, "/threads/t/messages")["messages"] == [
            {"id": "u", "role": "user", "content": "hi"},
            {
                "id": "c",
                "role": "assistant",
                "toolCalls": [{"id": "c", "name": "look", "args": '{"at":1}'}],
            },
            {"id": "r", "role": "tool", "content": "42", "toolCallId": "c"},
            {"id": "a", "role": "assistant", "content": "hello"},
        ]

    def test_a_call_without_arguments(self, cast: Cast) -> None:
        tell(cast.alice, *(event for event in CALL if event["type"] != "TOOL_CALL_ARGS"))
        (message,) = get(cast.alice, "/threads/t/messages")["messages"]
        assert message["toolCalls"] == [{"id": "c", "name": "look", "args": "{}"}]

    def test_messages_of_a_live_run_too(self, cast: Cast) -> None:
        Told(start(cast.alice, threadId="t")).say(*text("a", "so ", "far"))
        assert get(cast.alice, "/threads/t/messages")["messages"][-1]["content"] == "so far"

    def test_pages_of_messages(self, cast: Cast) -> None:
        tell(cast.alice, messages=[user(str(n), f"u{n}") for n in range(5)])
        newest = get(cast.alice, "/threads/t/messages?limit=2")
        assert [message["id"] for message in newest["messages"]] == ["u3", "u4"]
        before = get(cast.alice, f"/threads/t/messages?limit=9&cursor={newest['nextCursor']}")
        assert [message["id"] for message in before["messages"]] == ["u0", "u1", "u2"]
        assert before["nextCursor"] is None

    def test_state(self, cast: Cast) -> None:
        tell(cast.alice, {"type": "STATE_SNAPSHOT", "snapshot": {"n": 1}})
        assert get(cast.vera, "/threads/t/state") == {"state": {"n": 1}}

    def test_events(self, cast: Cast) -> None:
        runs = [
            tell(cast.alice, *text("a", "x")),
            tell(cast.alice),
            start(cast.alice, threadId="t"),
        ]
        log = [event for run in runs for event in log_of(run)]
        assert get(cast.vera, "/threads/t/events") == {"events": log, "nextCursor": None}
        events: list[Any] = []
        cursor: str | None = ""
        while cursor is not None:
            page = get(cast.vera, f"/threads/t/events?limit=3{cursor and f'&cursor={cursor}'}")
            events += page["events"]
            cursor = page["nextCursor"]
        assert events == log

    @pytest.mark.parametrize("cursor", ["x", "x:1", "01999999-9999-7999-8999-999999999999:x"])
    def test_bad_cursors_of_events(self, cast: Cast, cursor: str) -> None:
        tell(cast.alice)
        url = f"/agui/threads/t/events?cursor={cursor}"
        assert ask_now("GET", url, cast.alice.headers).code == "bad_cursor"

    def test_a_strangers_thread_is_an_empty_one(self, cast: Cast) -> None:
        tell(cast.alice, {"type": "STATE_SNAPSHOT", "snapshot": {"n": 1}}, *text("a", "x"))
        for part in ("messages", "events", "state"):
            known, unknown = (
                get(cast.charlie, f"/threads/{name}/{part}") for name in ("t", "nobody's")
            )
            assert known == unknown
            assert not known[part]

    @pytest.mark.parametrize("base", BASES)
    def test_every_address(self, cast: Cast, base: str) -> None:
        tell(cast.alice, threadId="a/b")
        for path in ("threads", "threads/a/b/messages", "threads/a/b/events", "threads/a/b/state"):
            for slash in ("", "/"):
                answer = ask_now("GET", f"{base}/{path}{slash}", cast.alice.headers)
                assert answer.status == 200, path
                assert answer.json["nextCursor" if "state" not in path else "state"] in (None, {})


async def stopped(cast: Cast, **more: Any) -> tuple[Run, Stream]:
    """A run that is cancelled while it waits, as the one who started it reads it."""
    body = {"threadId": "t", "runId": "r", **more}
    async with Exchange("POST", "/agui", cast.alice.headers, json=body) as exchange:
        await exchange.until(b"retry")
        run = await db(Run.objects.select_related("thread", "journal").get)
        await db(lifecycle.cancel, run)
        return run, Stream.of(await exchange.rest())


class TestReadersOfTheOlderProtocol:
    async def test_a_cancelled_run(self, cast: Cast, bell: None) -> None:
        run, stream = await stopped(cast)
        assert stream.types == ["RUN_STARTED", "RUN_ERROR"]
        assert stream.events[-1]["code"] == "abort"
        assert stream.ids == [1, 2]
        log = await db(log_of, run)
        assert log[-1]["outcome"] == {"type": "cancelled"}, "the log stays 1.0"
        assert stream.events[-1]["timestamp"] == log[-1]["timestamp"]

    async def test_a_reader_of_1_0_gets_the_log(self, cast: Cast, bell: None) -> None:
        run, stream = await stopped(cast, protocolVersion="1.0")
        assert stream.events == await db(log_of, run)

    def test_coming_back_to_the_same_run(self, cast: Cast) -> None:
        tell(cast.alice, runId="r", end=Intake.cancel)
        body = {"threadId": "t", "runId": "r"}
        for version, ending in ((None, "RUN_ERROR"), ("1.0", "RUN_FINISHED")):
            request = {**body, "protocolVersion": version}
            answer = ask_now("POST", "/agui", cast.alice.headers, json=request)
            assert Stream.of(answer).types[-1] == ending

    def test_calls_for_the_application(self, cast: Cast) -> None:
        """0.x refuses ``pendingToolCallIds``; assistant-ui would run no call after a success."""
        tell(cast.alice, *CALL)
        for version, outcome in (
            (None, None),
            ("1.0", {"type": "success", "pendingToolCallIds": ["c"]}),
        ):
            body = {"threadId": "t", "protocolVersion": version}
            answer = ask_now("POST", "/agui/agent/echo/connect", cast.alice.headers, json=body)
            assert Stream.of(answer).events[-1].get("outcome") == outcome

    @pytest.mark.parametrize(
        "event",
        [
            {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
            {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "success"}},
            {
                "type": "RUN_FINISHED", "threadId": "t", "runId": "r",
                "outcome": {"type": "interrupt", "interrupts": [{"id": "q", "reason": "x"}]},
            },
            {"type": "RUN_ERROR", "message": "no", "code": RunErrorCode.TIMEOUT.value},
        ],
    )  # fmt: skip
    def test_any_other_ending_is_the_same_for_all(self, event: dict[str, Any]) -> None:
        frame = b"id: 3\ndata: %b\n\n" % json.dumps(event, separators=(",", ":")).encode()
        before = b'data: {"type":"X"}\n\n'
        assert legacy.Older(legacy.NEWEST).opening(before + frame).endswith(frame)
        assert legacy.Older(legacy.NEWEST).opening(b"") == b""

    @pytest.mark.parametrize("text", ["\ndata: {}", "data: ", "\n\n"])
    def test_what_a_message_says_is_no_frame(self, text: str) -> None:
        content = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": text}
        ending = {"type": "RUN_FINISHED", "result": text, "outcome": {"type": "cancelled"}}
        frames = b"".join(
            b"id: %d\ndata: %b\n\n" % (seq, json.dumps(event, separators=(",", ":")).encode())
            for seq, event in enumerate((content, ending), 1)
        )
        stream = Stream.of(legacy.Older(legacy.NEWEST).opening(frames))
        assert stream.events[0] == content
        assert stream.types[-1] == "RUN_ERROR"


@pytest.mark.parametrize("accept", [PROTO, f"{PROTO}, */*", f"{PROTO};q=1, text/event-stream;q=0"])
async def test_the_binary_form_is_answered_with_sse(cast: Cast, bell: None, accept: str) -> None:
    headers = {**cast.alice.headers, "accept": accept}
    async with Exchange("POST", "/agui", headers, json={"threadId": "t"}) as exchange:
        assert exchange.status == 200
        assert exchange.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert await exchange.until(b"retry: 1000\n")
