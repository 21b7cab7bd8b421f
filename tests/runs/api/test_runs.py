"""The runs resource over HTTP: what it answers, in which shapes."""

import asyncio
import io
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.models import Agent
from agui_host.teams.models import ApiKey
from events import journal
from events.writer import JournalWriter
from runs.lifecycle import lifecycle
from runs.models import Run
from tests.asgi import ask, ask_now
from tests.cast import Actor, Cast, LiveRun, Register, fresh, perform, start
from tests.runs.starting import JSON, RUNS, STARTS, post, refused

OWN = {"origin": "http://localhost"}
pytestmark = pytest.mark.django_db(transaction=True)


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
        for query in ("status=nope", "created_after=yesterday"):
            refused(ask_now("GET", f"{RUNS}?{query}", cast.alice.headers), 422, "invalid")

    def test_an_internal_error_says_nothing(
        self, cast: Cast, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*args: Any, **kwargs: Any) -> None:
            raise RuntimeError("hunter2")

        monkeypatch.setattr(lifecycle, "start_at_once", broken)
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
        started = answer.json
        assert started["id"] == str(run.pk)
        assert (started["run_id"], started["thread_id"], started["agent"]) == ("r", "t", "echo")
        assert (started["status"], started["events"], started["error"]) == ("queued", 0, None)
        assert started["started_by"] == f"key:{cast.bob.key_prefix}"
        assert started["events_url"] == f"{RUNS}/{run.pk}/events"
        assert started["websocket_url"] == f"/ws/runs/{run.pk}/"
        assert "input" not in started

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

    def test_long_values_are_left_out_and_named(self, cast: Cast, runs: dict[str, Run]) -> None:
        """A list of megabytes would be loaded and rendered for every reader; one run has all."""
        short, long = '{"a": "é"}', f'"{"é" * 2_048}"'
        Run.objects.filter(pk=runs["2"].pk).update(result=short, usage='[{"inputTokens": 1}]')
        Run.objects.filter(pk=runs["3"].pk).update(result=long, usage=f"[{'{},' * 2_000}{{}}]")
        with CaptureQueriesContext(connection) as queries:
            rows = {
                row["run_id"]: row for row in ask_now("GET", RUNS, cast.bob.headers).json["results"]
            }
        assert (rows["1"]["result"], rows["1"]["omitted"]) == (None, [])
        assert (rows["2"]["result"], rows["2"]["omitted"]) == ({"a": "é"}, [])
        assert rows["2"]["usage"] == [{"inputTokens": 1}]
        assert (rows["3"]["result"], rows["3"]["usage"]) == (None, None)
        assert rows["3"]["omitted"] == ["result", "usage"]
        one = ask_now("GET", f"{RUNS}/{runs['3'].pk}", cast.bob.headers).json
        assert (one["result"], len(one["usage"])) == ("é" * 2_048, 2_001)
        assert not [query for query in queries if '"runs_run"."input"' in query["sql"]]

    def test_pages(self, cast: Cast, runs: dict[str, Run]) -> None:
        url, ids = f"{RUNS}?limit=2", []
        while url:
            page = ask_now("GET", url, cast.alice.headers).json
            ids.append([run["run_id"] for run in page["results"]])
            url = (page["next"] or "").removeprefix("http://localhost")
        assert ids == [["3", "2"], ["1"]]

    def test_a_page_that_was_never_handed_out(self, cast: Cast) -> None:
        for cursor in ["garbage", "cD1ub3QtYS11dWlk", "cD0lMDA=", "bz0tNQ==", "é"]:
            answer = ask_now("GET", f"{RUNS}?cursor={cursor}", cast.alice.headers)
            refused(answer, 400, "bad_cursor")


class TestCancel:
    def test_a_queued_run(self, cast: Cast) -> None:
        run = start(cast.bob)
        for _ in range(2):
            answer = ask_now("POST", f"{RUNS}/{run.pk}/cancel", {**cast.bob.cookie, **OWN, **JSON})
            assert (answer.status, answer.json["status"]) == (202, "cancelled")
        assert fresh(run).journal.head == 2

    def test_a_running_run_is_only_asked(self, cast: Cast) -> None:
        run = start(cast.bob)
        lifecycle.claim(run.pk)
        answer = ask_now("POST", f"{RUNS}/{run.pk}/cancel", {**cast.bob.cookie, **OWN, **JSON})
        assert (answer.status, answer.json["status"]) == (202, "running")
        assert answer.json["cancel_requested_at"]

    def test_somebody_elses_run_takes_more(self, cast: Cast) -> None:
        run = start(cast.alice)
        answer = ask_now("POST", f"{RUNS}/{run.pk}/cancel", cast.bob.headers)
        assert refused(answer, 403, "forbidden") == {"action": "cancel_others"}
        assert fresh(run).status == "queued"
        run = start(cast.bob)
        answer = ask_now("POST", f"{RUNS}/{run.pk}/cancel", cast.alice.headers)
        assert (answer.status, answer.json["status"]) == (202, "cancelled")

    def test_making_way_is_cancelling(self, cast: Cast) -> None:
        run = start(cast.alice, threadId="t")
        body = {"input": {"threadId": "t"}, "on_busy": "cancel_running"}
        answer = ask_now("POST", RUNS, cast.bob.headers, json=body)
        assert refused(answer, 403, "forbidden") == {"action": "cancel_others"}
        assert fresh(run).status == "queued"
        assert Run.objects.count() == 1
        assert ask_now("POST", RUNS, cast.alice.headers, json=body).status == 202
        assert fresh(run).status == "cancelled"

    def test_an_agent_that_always_makes_way(self, cast: Cast) -> None:
        Agent.objects.update(on_busy="cancel_running")
        run = start(cast.alice, threadId="t")
        body = {"input": {"threadId": "t"}}
        assert ask_now("POST", RUNS, cast.bob.headers, json=body).status == 202
        assert fresh(run).status == "cancelled"

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
        events: list[tuple[int, str]] = []
        after = 0
        while True:
            url = f"{live.url}?after={after}&limit=2"
            page = (await ask("GET", url, cast.vera.headers)).json
            if not page["events"]:
                break
            events += [(entry["seq"], entry["event"]["type"]) for entry in page["events"]]
            after = page["after"]
        custom = [(seq, "CUSTOM") for seq in (2, 3, 4)]
        assert events == [(1, "RUN_STARTED"), *custom]
        assert (page["after"], page["head"], page["ended"]) == (4, 4, False)
        await live.end()
        page = (await ask("GET", f"{live.url}?after=4", cast.vera.headers)).json
        assert [entry["event"]["type"] for entry in page["events"]] == ["RUN_FINISHED"]
        assert (page["head"], page["ended"]) == (5, True)
        page = (await ask("GET", f"{live.url}?after=5", cast.vera.headers)).json
        assert (page["events"], page["after"], page["ended"]) == ([], 5, True)

    async def test_only_some_types(
        self, cast: Cast, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(journal, "SEARCHED", 2)
        live = await LiveRun.begin(await db(start, cast.alice), writer)
        await live.say("a", "b", "c")
        await live.end()

        async def search(type_: str) -> list[tuple[int, str]]:
            events, after, head = [], 0, 1
            while after < head:
                url = f"{live.url}?after={after}&type={type_}&limit=1"
                page = (await ask("GET", url, cast.vera.headers)).json
                assert page["after"] > after
                events += [(each["seq"], each["event"]["type"]) for each in page["events"]]
                after, head = page["after"], page["head"]
            return events

        assert await search("run_") == [(1, "RUN_STARTED"), (5, "RUN_FINISHED")]
        assert await search("CUSTOM") == [(2, "CUSTOM"), (3, "CUSTOM"), (4, "CUSTOM")]
        assert await search("no-such-type") == []

    def test_a_cursor_that_is_none(self, cast: Cast) -> None:
        run = start(cast.alice)
        lifecycle.cancel(run)
        url = f"{RUNS}/{run.pk}/events"
        for cursor in ["-1", "3", "x", "", "1.0", "9999999999", "99999999999"]:
            answer = ask_now("GET", f"{url}?after={cursor}", cast.alice.headers)
            refused(answer, 400, "bad_cursor")
            headers = {**cast.alice.headers, "last-event-id": cursor}
            refused(ask_now("GET", f"{url}?after=0", headers), 400, "bad_cursor")

    def test_a_limit_that_is_none(self, cast: Cast) -> None:
        run = start(cast.alice)
        for limit in ["0", "-1", "501", "x", ""]:
            url = f"{RUNS}/{run.pk}/events?limit={limit}"
            refused(ask_now("GET", url, cast.alice.headers), 422, "invalid")


def test_keys_remember_that_they_were_used(cast: Cast) -> None:
    ask_now("GET", RUNS, cast.alice.headers)
    assert ApiKey.objects.get(prefix=cast.alice.key_prefix).last_used_at is not None
