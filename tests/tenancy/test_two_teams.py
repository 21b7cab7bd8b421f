"""Two teams that use the same names never meet; lists and filters show one's own runs only."""

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.models import Agent
from events.writer import JournalWriter
from runs.lifecycle import lifecycle
from runs.models import Run, Thread
from tests.asgi import Exchange, ask, ask_now, events_of, watch
from tests.cast import Actor, Cast, fresh, perform, start

pytestmark = pytest.mark.django_db(transaction=True)

RUNS = "/api/v1/runs"
NAMES = {"threadId": "t", "runId": "r"}
QUERIES = [
    "",
    "?thread_id=t",
    "?run_id=r",
    "?agent=ours",
    "?agent=echo",
    "?status=queued",
    "?started_by=user:alice",
    "?created_after=2020-01-01T00:00:00Z",
    "?limit=200",
]


def ids(actor: Actor, query: str) -> list[str]:
    answer = ask_now("GET", f"{RUNS}{query}", actor.headers)
    assert answer.status == 200
    return [run["id"] for run in answer.json["results"]]


@pytest.mark.parametrize("query", QUERIES)
def test_lists_and_filters_stay_inside_the_team(cast: Cast, query: str) -> None:
    ours = Agent.objects.create(team=cast.team, slug="ours", name="Ours", target="echo")
    run = start(cast.alice, ours, **NAMES)
    others = [] if query == "?agent=echo" else [str(run.pk)]
    assert ids(cast.bob, query) == others
    assert ids(cast.charlie, query) == []
    page = ask_now("GET", f"/runs/{query}", cast.charlie.cookie)
    assert page.status == 200
    assert str(run.pk).encode() not in page.body


def test_a_page_cursor_of_another_team_opens_nothing(cast: Cast) -> None:
    for number in range(3):
        start(cast.alice, threadId=str(number))
    page = ask_now("GET", f"{RUNS}?limit=1", cast.alice.headers).json
    cursor = page["next"].partition("?")[2]
    assert ids(cast.bob, f"?{cursor}") != []
    assert ids(cast.charlie, f"?{cursor}") == []


def test_an_agent_of_another_team_cannot_be_run(cast: Cast) -> None:
    Agent.objects.create(team=cast.team, slug="ours", name="Ours", target="echo")
    for url, body in ((RUNS, {"agent": "ours", "input": {}}), ("/agui/agent/ours/run", {})):
        answer = ask_now("POST", url, cast.charlie.headers, json=body)
        assert (answer.status, answer.code) == (404, "unknown_agent")
    assert not Run.objects.exists()


def test_the_same_names_and_keys_are_two_runs(cast: Cast) -> None:
    ids_by_team: dict[str, list[str]] = {}
    for actor in (cast.alice, cast.charlie):
        headers = {**actor.headers, "idempotency-key": "k"}
        for _ in range(2):
            answer = ask_now("POST", RUNS, headers, json={"input": NAMES})
            assert answer.status == 202
            ids_by_team.setdefault(answer.json["id"], []).append(actor.user.get_username())
    assert list(ids_by_team.values()) == [["alice"] * 2, ["charlie"] * 2]
    assert Thread.objects.count() == 2
    other = {"input": {**NAMES, "state": 1}}
    for actor in (cast.alice, cast.charlie):
        headers = {**actor.headers, "idempotency-key": "k"}
        answer = ask_now("POST", RUNS, headers, json=other)
        assert (answer.status, answer.code) == (409, "idempotency_conflict")


def test_a_thread_is_busy_for_its_own_team_only(cast: Cast) -> None:
    start(cast.alice, threadId="t")
    answer = ask_now("POST", RUNS, cast.charlie.headers, json={"input": {"threadId": "t"}})
    assert answer.status == 202


def test_cancel_running_cancels_nothing_of_the_others(cast: Cast) -> None:
    run = start(cast.alice, threadId="t")
    body = {"input": {"threadId": "t"}, "on_busy": "cancel_running"}
    assert ask_now("POST", RUNS, cast.charlie.headers, json=body).status == 202
    assert fresh(run).status == "queued"


async def test_names_with_a_cursor_do_not_find_the_others_run(cast: Cast, bell: None) -> None:
    run = await db(start, cast.alice, threadId="t", runId="r")
    await db(lifecycle.cancel, run)
    headers = {**cast.charlie.headers, "last-event-id": "1"}
    answer = await ask("POST", "/agui", headers, json=NAMES)
    assert (answer.status, answer.code) == (400, "bad_request")
    assert await db(Run.objects.count) == 1


async def test_each_team_reads_its_own_events(cast: Cast, writer: JournalWriter) -> None:
    texts = {}
    for actor in (cast.alice, cast.charlie):
        name = actor.user.get_username()
        body = {**NAMES, "messages": [{"role": "user", "content": f"only for {name}"}]}
        async with Exchange("POST", "/agui", actor.headers, json=body) as exchange:
            run = await db(Run.objects.for_team(actor.team).get)
            await perform(run, writer)
            texts[run.pk] = str(events_of(await exchange.rest()))
        assert f"only for {name}" in texts[run.pk]
    ours, theirs = texts
    assert "charlie" not in texts[ours]
    assert "alice" not in texts[theirs]
    for actor, other in ((cast.alice, theirs), (cast.charlie, ours)):
        assert await watch(f"/ws/runs/{other}/", actor.headers) == ([], 4404)
        for accept in ("text/event-stream", "application/json"):
            headers = {**actor.headers, "accept": accept}
            answer = await ask("GET", f"{RUNS}/{other}/events", headers)
            assert (answer.status, answer.code) == (404, "not_found")
