"""The runs resource over HTTP: what it answers, and what it does with every bad request."""

import asyncio
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.management import call_command
from pytest_django import Settings

from agui_project.bridge import db
from events.models import Event, Journal
from events.writer import JournalWriter
from runs import lifecycle
from runs.models import Run, Thread
from runtimes.models import Agent
from teams import keys
from teams.models import ApiKey, Role
from tests.asgi import Answer, ask, ask_now
from tests.cast import Actor, Cast, LiveRun, Register, fresh, perform, start

pytestmark = pytest.mark.django_db(transaction=True)

RUNS = "/api/v1/runs"
STREAMED = ["/agui", "/", "/api/agui/", "/agui/agent/echo/run"]
STARTS = [*STREAMED, RUNS, f"{RUNS}?wait=1"]
JSON = {"content-type": "application/json"}
OWN = {"origin": "http://localhost"}


@contextmanager
def nothing_written() -> Iterator[None]:
    """No row of a run is there afterwards that was not there before."""

    def rows() -> list[int]:
        return [model.objects.count() for model in (Thread, Run, Journal, Event)]

    before = rows()
    yield
    assert rows() == before


def refused(answer: Answer, status: int, code: str) -> dict[str, Any]:
    """Check a refusal; its details."""
    assert (answer.status, answer.code) == (status, code), answer.body
    assert answer.headers["x-request-id"]
    assert "Traceback" not in answer.body.decode()
    details: dict[str, Any] = answer.json["error"]["details"]
    return details


def post(path: str, body: bytes, headers: dict[str, str]) -> Answer:
    """Post a RunAgentInput, in the wrapping that the API wants around it."""
    if path.startswith(RUNS):
        body = b'{"input": %b}' % body
    return ask_now("POST", path, {**JSON, **headers}, body=body)


def nested(depth: int) -> bytes:
    return b'{"state": ' + b"[" * depth + b"]" * depth + b"}"


BAD_BODIES: dict[str, tuple[bytes, int, str]] = {
    "malformed": (b'{"threadId": ', 400, "bad_json"),
    "two values": (b"{} {}", 400, "bad_json"),
    "NaN": (b'{"state": NaN}', 400, "bad_json"),
    "Infinity": (b'{"state": -Infinity}', 400, "bad_json"),
    "a number beyond floats": (b'{"state": 1e999}', 400, "bad_json"),
    "an integer beyond 2^53": (b'{"state": 9007199254740993}', 400, "bad_json"),
    "depth 1,000": (nested(1_000), 400, "bad_json"),
    "depth 100,000": (nested(100_000), 400, "bad_json"),
    "NUL": (rb'{"threadId": "a\u0000b"}', 400, "bad_json"),
    "NUL in a key": (rb'{"state": {"\u0000": 1}}', 400, "bad_json"),
    "a lone surrogate": (rb'{"state": "\ud800"}', 400, "bad_json"),
    "not UTF-8": (b'{"state": "\xff"}', 400, "bad_json"),
    "a threadId that is no string": (b'{"threadId": 5}', 422, "invalid"),
    "a threadId that is too long": (b'{"threadId": "%b"}' % (b"x" * 256), 422, "invalid"),
    "a long protocol version": (b'{"protocolVersion": "%b"}' % (b"1" * 21), 422, "invalid"),
    "messages that are no list": (b'{"messages": "hi"}', 422, "invalid"),
    "a message without a role": (b'{"messages": [{"content": "hi"}]}', 422, "invalid"),
    "an unknown policy": (b'{"onBusy": "maybe"}', 422, "invalid"),
}


class TestBadBodies:
    @pytest.mark.parametrize("path", STARTS)
    def test_are_refused_before_anything_is_written(
        self, cast: Cast, path: str, subtests: pytest.Subtests
    ) -> None:
        for name, (body, status, code) in BAD_BODIES.items():
            with subtests.test(name), nothing_written():
                refused(post(path, body, cast.alice.headers), status, code)

    @pytest.mark.parametrize("path", STARTS)
    def test_no_objects_at_all(self, cast: Cast, path: str, subtests: pytest.Subtests) -> None:
        for body in (b"[]", b"5", b"null", b'"text"', b""):
            with subtests.test(body.decode()), nothing_written():
                answer = ask_now("POST", path, {**JSON, **cast.alice.headers}, body=body)
                assert answer.code in ("bad_request", "bad_json", "invalid")
                assert answer.status in (400, 422)

    @pytest.mark.parametrize("path", STARTS)
    def test_over_the_limit(self, cast: Cast, path: str, settings: Settings) -> None:
        settings.AGUI_MAX_BODY_BYTES = 1_000
        body = b'{"state": "%b"}' % (b"x" * 1_000)
        with nothing_written():
            details = refused(post(path, body, cast.alice.headers), 413, "too_large")
            assert details == {"limit": 1_000}

    def test_the_limit_itself_is_allowed(self, cast: Cast, settings: Settings) -> None:
        settings.AGUI_MAX_BODY_BYTES = 1_000
        body = json.dumps({"input": {"state": ""}}).encode()
        body = body.replace(b'""', b'"%b"' % (b"x" * (1_000 - len(body))))
        assert len(body) == 1_000
        answer = ask_now("POST", RUNS, {**JSON, **cast.alice.headers}, body=body)
        assert answer.status == 202

    @pytest.mark.parametrize(
        ("body", "path"),
        [
            ({}, "input"),
            ({"input": None}, "input"),
            ({"input": []}, "input"),
            ({"input": {}, "agent": 5}, "agent"),
            ({"input": {}, "agent": []}, "agent"),
            ({"input": {}, "on_busy": False}, "on_busy"),
            ({"input": {}, "on_busy": "maybe"}, "onBusy"),
            ({"input": {"runId": []}}, "runId"),
        ],
    )
    @pytest.mark.parametrize("url", [RUNS, f"{RUNS}?wait=1"])
    def test_the_wrapping(self, cast: Cast, url: str, body: dict[str, Any], path: str) -> None:
        with nothing_written():
            answer = ask_now("POST", url, cast.alice.headers, json=body)
            assert refused(answer, 422, "invalid") == {"path": path}

    @pytest.mark.parametrize("wait", ["", "-1", "61", "soon", "1.5", "99999999999999999999"])
    def test_a_wait_that_is_none(self, cast: Cast, wait: str) -> None:
        with nothing_written():
            answer = ask_now("POST", f"{RUNS}?wait={wait}", cast.alice.headers, json={"input": {}})
            assert refused(answer, 422, "invalid") == {"path": "wait"}

    def test_another_media_type(self, cast: Cast) -> None:
        headers = {**cast.alice.headers, "content-type": "text/plain"}
        with nothing_written():
            answer = ask_now("POST", RUNS, headers, body=b'{"input": {}}')
            refused(answer, 415, "unsupported_media_type")

    def test_an_idempotency_key_that_cannot_be_kept(self, cast: Cast) -> None:
        for key in ("", "x" * 256, "a\tb"):
            with nothing_written():
                headers = {**cast.alice.headers, "idempotency-key": key}
                answer = ask_now("POST", RUNS, headers, json={"input": {}})
                refused(answer, 422, "invalid")


class TestBadReferences:
    @pytest.mark.parametrize("path", STARTS)
    def test_an_unknown_agent(self, cast: Cast, path: str) -> None:
        if "echo" in path:
            path = path.replace("echo", "nobody")
        with nothing_written():
            answer = post(path, b'{"agentId": "nobody"}', cast.alice.headers)
            assert refused(answer, 404, "unknown_agent") == {"agent": "nobody"}

    def test_a_disabled_agent(self, cast: Cast) -> None:
        Agent.objects.update(enabled=False)
        with nothing_written():
            answer = post("/agui", b"{}", cast.alice.headers)
            refused(answer, 404, "unknown_agent")

    @pytest.mark.parametrize("cursor", ["-1", "x", "1.5", "", "1,2", "99999999999", "٣"])
    def test_a_cursor_that_is_none(self, cast: Cast, cursor: str) -> None:
        header = cursor.encode().decode("latin-1")
        with nothing_written():
            answer = post("/agui", b"{}", {**cast.alice.headers, "last-event-id": header})
            refused(answer, 400, "bad_cursor")

    def test_a_cursor_of_a_run_that_does_not_exist(self, cast: Cast) -> None:
        with nothing_written():
            answer = post("/agui", b"{}", {**cast.alice.headers, "last-event-id": "3"})
            refused(answer, 400, "bad_request")

    def test_a_cursor_beyond_the_head_of_the_named_run(self, cast: Cast) -> None:
        run = start(cast.alice, threadId="t", runId="r")
        lifecycle.cancel(run)
        with nothing_written():
            headers = {**cast.alice.headers, "last-event-id": "3"}
            answer = post("/agui", b'{"threadId": "t", "runId": "r"}', headers)
            assert refused(answer, 400, "bad_cursor") == {"head": 2}

    @pytest.mark.parametrize("path", STARTS)
    def test_a_run_that_exists_and_a_busy_thread(self, cast: Cast, path: str) -> None:
        run = start(cast.alice, threadId="t", runId="r")
        events_url = f"{RUNS}/{run.pk}/events"
        with nothing_written():
            body = b'{"threadId": "t", "runId": "other"}'
            details = refused(post(path, body, cast.alice.headers), 409, "thread_busy")
            assert details["events_url"] == events_url

    def test_a_run_that_exists(self, cast: Cast) -> None:
        run = start(cast.alice, threadId="t", runId="r")
        body = {"input": {"threadId": "t", "runId": "r"}}
        with nothing_written():
            details = refused(
                ask_now("POST", RUNS, cast.alice.headers, json=body), 409, "run_exists"
            )
            assert details["events_url"] == f"{RUNS}/{run.pk}/events"

    def test_the_same_key_with_another_body(self, cast: Cast) -> None:
        headers = {**cast.alice.headers, "idempotency-key": "k"}
        first = ask_now("POST", RUNS, headers, json={"input": {"state": 1}})
        again = ask_now("POST", RUNS, headers, json={"input": {"state": 1}})
        assert (first.status, again.status) == (202, 202)
        assert first.json["id"] == again.json["id"]
        with nothing_written():
            other = ask_now("POST", RUNS, headers, json={"input": {"state": 2}})
            refused(other, 409, "idempotency_conflict")


class TestCredentials:
    @pytest.mark.parametrize("path", STARTS)
    def test_missing_wrong_and_revoked(
        self, cast: Cast, path: str, subtests: pytest.Subtests
    ) -> None:
        row, revoked = keys.create_key(cast.team, "old", Role.OWNER)
        keys.revoke(row)
        for headers in (
            {},
            {"authorization": "Bearer nonsense"},
            {"authorization": f"Basic {cast.alice.key}"},
            {"authorization": f"Bearer {revoked}"},
            {"authorization": f"Bearer {cast.alice.key}x"},
            {"cookie": "sessionid=stale"},
            {**cast.alice.cookie, "authorization": "Bearer nonsense"},
        ):
            with subtests.test(str(headers)), nothing_written():
                answer = post(path, b"{}", {**headers, **OWN})
                refused(answer, 401, "unauthenticated")
                assert answer.headers["www-authenticate"] == "Bearer"

    def test_a_second_authorization_header_helps_nobody(self, cast: Cast) -> None:
        twice = f"Bearer nonsense, Bearer {cast.alice.key}"
        refused(post("/agui", b"{}", {"authorization": twice}), 401, "unauthenticated")

    @pytest.mark.parametrize("path", STARTS)
    def test_a_viewer_may_not_start(self, cast: Cast, path: str) -> None:
        with nothing_written():
            answer = post(path, b"{}", cast.vera.headers)
            assert refused(answer, 403, "forbidden") == {"action": "run"}

    @pytest.mark.parametrize("path", STARTS)
    def test_a_cookie_counts_only_from_our_own_pages(
        self, cast: Cast, path: str, settings: Settings, subtests: pytest.Subtests
    ) -> None:
        settings.AGUI_ALLOWED_ORIGINS = ["*"]
        for origin in (
            {},
            {"origin": "https://evil.example"},
            {"origin": "null"},
            {"origin": "https://localhost"},
            {"origin": "http://localhost:81"},
        ):
            with subtests.test(str(origin)), nothing_written():
                refused(post(path, b"{}", {**cast.alice.cookie, **origin}), 403, "forbidden")
        with subtests.test("a form"), nothing_written():
            headers = {**cast.alice.cookie, **OWN, "content-type": "text/plain"}
            refused(post(path, b"{}", headers), 415, "unsupported_media_type")

    def test_a_cookie_from_our_own_page(self, cast: Cast) -> None:
        odd = f'{cast.alice.cookie["cookie"]}; other={{"a": 1}}; x'
        answer = post(RUNS, b"{}", {"cookie": odd, **OWN})
        assert answer.status == 202
        assert answer.json["started_by"] == "user:alice"

    @pytest.mark.parametrize("path", STARTS)
    def test_another_name_of_this_host(self, cast: Cast, path: str) -> None:
        with nothing_written():
            answer = post(path, b"{}", {**cast.alice.headers, "host": "evil.example"})
            refused(answer, 400, "bad_request")


class TestShapes:
    @pytest.mark.parametrize(
        ("method", "url"),
        [("PUT", RUNS), ("DELETE", f"{RUNS}/{{id}}"), ("GET", f"{RUNS}/{{id}}/cancel")],
    )
    def test_a_method_that_an_address_does_not_take(
        self, cast: Cast, method: str, url: str
    ) -> None:
        run = start(cast.alice)
        answer = ask_now(method, url.format(id=run.pk), cast.alice.headers)
        refused(answer, 405, "method_not_allowed")
        assert answer.headers["allow"]

    @pytest.mark.parametrize(
        "url", ["/nowhere", "/api/v1/", f"{RUNS}/", f"{RUNS}/not-a-uuid", "/api/v1/runs/5/events"]
    )
    def test_an_unknown_address(self, cast: Cast, url: str) -> None:
        for method in ("GET", "POST"):
            refused(ask_now(method, url, cast.alice.headers), 404, "not_found")

    def test_a_person_who_is_lost_gets_a_page(self, db: None) -> None:
        answer = ask_now("GET", "/nowhere", {"accept": "text/html"})
        assert answer.status == 404
        assert answer.headers["content-type"].startswith("text/html")

    def test_an_accept_header_that_json_does_not_meet(self, cast: Cast) -> None:
        headers = {**cast.alice.headers, "accept": "image/png"}
        refused(ask_now("GET", RUNS, headers), 406, "not_acceptable")

    def test_a_query_that_postgres_could_not_take(self, cast: Cast) -> None:
        for query in ("thread_id=%00", "status=nope", "created_after=yesterday"):
            refused(ask_now("GET", f"{RUNS}?{query}", cast.alice.headers), 422, "invalid")

    def test_an_internal_error_says_nothing(
        self, cast: Cast, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*args: Any, **kwargs: Any) -> None:
            raise RuntimeError("hunter2")

        monkeypatch.setattr(lifecycle, "start", broken)
        for path in STARTS:
            answer = post(path, b"{}", cast.alice.headers)
            refused(answer, 500, "error")
            assert b"hunter2" not in answer.body

    def test_the_openapi_schema_is_whole(self, db: None) -> None:
        out = io.StringIO()
        call_command("spectacular", "--fail-on-warn", "--validate", stdout=out)
        for path in (RUNS, f"{RUNS}/{{run_id}}", f"{RUNS}/{{run_id}}/events"):
            assert f"{path}:" in out.getvalue()


class TestStart:
    def test_the_answer_says_where_to_go_on(self, cast: Cast) -> None:
        body = {"agent": "echo", "input": {"threadId": "t", "runId": "r"}}
        answer = ask_now("POST", RUNS, cast.bob.headers, json=body)
        assert answer.status == 202
        run = Run.objects.get()
        shown = answer.json
        assert shown["id"] == str(run.pk)
        assert (shown["run_id"], shown["thread_id"], shown["agent"]) == ("r", "t", "echo")
        assert (shown["status"], shown["events"], shown["error"]) == ("queued", 0, None)
        assert shown["started_by"] == f"key:{cast.bob.key[:8]}"
        assert shown["events_url"] == f"{RUNS}/{run.pk}/events"
        assert shown["websocket_url"] == f"/ws/runs/{run.pk}/"
        assert "input" not in shown

    async def test_waiting_for_the_end(self, cast: Cast, writer: JournalWriter) -> None:
        body = {"input": {"messages": [{"role": "user", "content": "hello"}]}}
        asking = asyncio.create_task(ask("POST", f"{RUNS}?wait=30", cast.alice.headers, json=body))
        while (run := await db(Run.objects.first)) is None:
            assert not asking.done()
        await perform(run, writer)
        answer = await asking
        assert (answer.status, answer.json["status"]) == (200, "succeeded")
        assert answer.json["id"] == str(run.pk)

    async def test_what_the_agent_returned(
        self, cast: Cast, register: Register, writer: JournalWriter
    ) -> None:
        agent = await db(register, "sums", lambda ctx: {"sum": 3})
        run = await db(start, cast.alice, agent)
        await perform(run, writer)
        answer = await ask("GET", f"{RUNS}/{run.pk}", cast.alice.headers)
        assert answer.json["result"] == {"sum": 3}

    async def test_waiting_in_vain(self, cast: Cast, bell: None) -> None:
        answer = await ask("POST", f"{RUNS}?wait=0", cast.alice.headers, json={"input": {}})
        assert (answer.status, answer.json["status"]) == (202, "queued")


def listed(actor: Actor, query: str = "") -> list[str]:
    answer = ask_now("GET", f"{RUNS}{query}", actor.headers)
    assert answer.status == 200, answer.body
    return [run["run_id"] for run in answer.json["results"]]


class TestList:
    @pytest.fixture
    def runs(self, cast: Cast, register: Register) -> dict[str, Run]:
        other = register("other", lambda ctx: None)
        runs = {
            "1": start(cast.alice, threadId="a", runId="1"),
            "2": start(cast.bob, threadId="b", runId="2"),
            "3": start(cast.alice, other, threadId="c", runId="3"),
        }
        lifecycle.cancel(runs["1"])
        return runs

    def test_newest_first_and_filtered(self, cast: Cast, runs: dict[str, Run]) -> None:
        assert listed(cast.vera) == ["3", "2", "1"]
        assert listed(cast.vera, "?status=queued") == ["3", "2"]
        assert listed(cast.vera, "?status=queued&status=cancelled") == ["3", "2", "1"]
        assert listed(cast.vera, "?agent=other") == ["3"]
        assert listed(cast.vera, "?thread_id=b") == ["2"]
        assert listed(cast.vera, "?run_id=1") == ["1"]
        assert listed(cast.vera, "?started_by=user:bob") == ["2"]
        assert listed(cast.vera, "?agent=nobody") == []
        middle = fresh(runs["2"]).created_at.isoformat().replace("+", "%2B")
        assert listed(cast.vera, f"?created_after={middle}") == ["3", "2"]
        assert listed(cast.vera, f"?created_before={middle}") == ["1"]

    def test_pages(self, cast: Cast, runs: dict[str, Run]) -> None:
        url, seen = f"{RUNS}?limit=2", []
        while url:
            page = ask_now("GET", url, cast.alice.headers).json
            seen.append([run["run_id"] for run in page["results"]])
            url = (page["next"] or "").removeprefix("http://localhost")
        assert seen == [["3", "2"], ["1"]]

    @pytest.mark.parametrize(
        "cursor", ["garbage", "cD1ub3QtYS11dWlk", "cD0lMDA=", "%00", "bz0tNQ==", "é"]
    )
    def test_a_page_that_was_never_handed_out(self, cast: Cast, cursor: str) -> None:
        answer = ask_now("GET", f"{RUNS}?cursor={cursor}", cast.alice.headers)
        refused(answer, 400, "bad_cursor")


class TestCancel:
    def test_a_queued_run(self, cast: Cast) -> None:
        run = start(cast.alice)
        for _ in range(2):
            answer = ask_now("POST", f"{RUNS}/{run.pk}/cancel", cast.bob.headers)
            assert (answer.status, answer.json["status"]) == (202, "cancelled")
        assert fresh(run).journal.head == 2

    def test_a_running_run_is_only_asked(self, cast: Cast) -> None:
        run = start(cast.alice)
        lifecycle.claim(run.pk)
        answer = ask_now("POST", f"{RUNS}/{run.pk}/cancel", cast.bob.headers)
        assert (answer.status, answer.json["status"]) == (202, "running")
        assert answer.json["cancel_requested_at"]

    def test_a_viewer_may_not(self, cast: Cast) -> None:
        run = start(cast.alice)
        answer = ask_now("POST", f"{RUNS}/{run.pk}/cancel", cast.vera.headers)
        assert refused(answer, 403, "forbidden") == {"action": "cancel"}
        assert fresh(run).status == "queued"

    def test_a_cookie_from_elsewhere(self, cast: Cast) -> None:
        run = start(cast.alice)
        headers = {**cast.alice.cookie, **JSON, "origin": "https://evil.example"}
        refused(ask_now("POST", f"{RUNS}/{run.pk}/cancel", headers), 403, "forbidden")
        assert fresh(run).status == "queued"


class TestEventPages:
    async def test_from_the_first_event_to_the_last(
        self, cast: Cast, writer: JournalWriter
    ) -> None:
        live = await LiveRun.begin(await db(start, cast.alice), writer)
        await live.say("a", "b", "c")
        seen: list[tuple[int, str]] = []
        after = 0
        while True:
            url = f"{live.url}?after={after}&limit=2"
            page = (await ask("GET", url, cast.vera.headers)).json
            if not page["events"]:
                break
            seen += [(entry["seq"], entry["event"]["type"]) for entry in page["events"]]
            after = page["after"]
        custom = [(seq, "CUSTOM") for seq in (2, 3, 4)]
        assert seen == [(1, "RUN_STARTED"), *custom]
        assert (page["after"], page["head"], page["ended"]) == (4, 4, False)
        await live.end()
        page = (await ask("GET", f"{live.url}?after=4", cast.vera.headers)).json
        assert [entry["event"]["type"] for entry in page["events"]] == ["RUN_FINISHED"]
        assert (page["head"], page["ended"]) == (5, True)
        page = (await ask("GET", f"{live.url}?after=5", cast.vera.headers)).json
        assert (page["events"], page["after"], page["ended"]) == ([], 5, True)

    @pytest.mark.parametrize("cursor", ["-1", "3", "x", "", "1.0", "9999999999", "99999999999"])
    def test_a_cursor_that_is_none(self, cast: Cast, cursor: str) -> None:
        run = start(cast.alice)
        lifecycle.cancel(run)
        url = f"{RUNS}/{run.pk}/events"
        refused(ask_now("GET", f"{url}?after={cursor}", cast.alice.headers), 400, "bad_cursor")
        headers = {**cast.alice.headers, "last-event-id": cursor}
        refused(ask_now("GET", f"{url}?after=0", headers), 400, "bad_cursor")

    @pytest.mark.parametrize("limit", ["0", "-1", "501", "x", ""])
    def test_a_limit_that_is_none(self, cast: Cast, limit: str) -> None:
        run = start(cast.alice)
        url = f"{RUNS}/{run.pk}/events?limit={limit}"
        refused(ask_now("GET", url, cast.alice.headers), 422, "invalid")


def test_keys_remember_that_they_were_used(cast: Cast) -> None:
    ask_now("GET", RUNS, cast.alice.headers)
    assert ApiKey.objects.get(prefix=cast.alice.key[:8]).last_used_at is not None
