"""Every bad request that starts a run: the right refusal, before anything is written."""

import json
from typing import Any

import pytest
from pytest_django import Settings

from agui_host.runtimes.models import Agent
from agui_host.teams import keys
from agui_host.teams.models import Role
from runs.lifecycle import lifecycle
from tests.asgi import ask_now
from tests.cast import Cast, start
from tests.runs.starting import JSON, OWN, RUNS, STARTS, nothing_written, post, refused

pytestmark = pytest.mark.django_db(transaction=True)


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

    def test_an_agent_that_only_the_code_has(self, cast: Cast) -> None:
        Agent.objects.filter(team=cast.team, slug="echo").update(slug="renamed")
        answer = post("/agui", b'{"agentId": "echo"}', cast.alice.headers)
        assert refused(answer, 404, "unknown_agent") == {"agent": "echo"}
        assert answer.json["error"]["message"].endswith(
            f"agui-host create-agent --team {cast.team.slug} --slug echo"
        )

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
