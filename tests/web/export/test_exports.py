"""GET /api/v1/runs/{id}/export: the log as a file, byte by byte, and as a trace."""

import json

import pytest

from agui_host.backends.held import Held
from agui_host.backends.postgres.bridge import db
from agui_host.web.consumers.export import exports
from events import journal
from events.writer import JournalWriter
from runs.lifecycle.deletion import retention
from runs.models import Run
from tests.asgi import ask
from tests.cast import Cast, LiveRun, start

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def live(cast: Cast, writer: JournalWriter) -> LiveRun:
    """A running run with more events than one read of the log gives."""
    run = await LiveRun.begin(await db(start, cast.alice, threadId="t", runId="r"), writer)
    await run.say(*(f"Größe {n}\nzwei" for n in range(journal.STRETCH_EVENTS + 3)))
    return run


def url(live: LiveRun, query: str = "") -> str:
    return f"/api/v1/runs/{live.run.pk}/export{query}"


async def test_each_line_is_an_event_as_it_is_stored(cast: Cast, live: LiveRun) -> None:
    await live.end()
    answer = await ask("GET", url(live), cast.vera.headers)
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.headers["content-disposition"] == (
        f'attachment; filename="run-{live.run.pk}.ndjson"'
    )
    stored = await db(lambda: list(journal.payloads(live.run.pk)))
    assert len(stored) == journal.STRETCH_EVENTS + 5
    assert answer.body == "".join(f"{payload}\n" for payload in stored).encode()


async def test_a_live_run_is_exported_up_to_now(cast: Cast, live: LiveRun) -> None:
    answer = await ask("GET", url(live, "?format=ndjson"), cast.vera.headers)
    assert len(answer.body.splitlines()) == journal.STRETCH_EVENTS + 4


async def test_it_may_end_with_an_event_before_the_last(cast: Cast, live: LiveRun) -> None:
    for format_ in ("ndjson", "messages"):
        answer = await ask("GET", url(live, f"?format={format_}&at=2"), cast.vera.headers)
        assert answer.status == 200
        assert format_ == "messages" or len(answer.body.splitlines()) == 2
    for query in (f"?at={journal.STRETCH_EVENTS + 5}", "?at=x"):
        answer = await ask("GET", url(live, query), cast.vera.headers)
        assert (answer.status, answer.json["error"]["code"]) == (400, "bad_cursor")
    assert (await ask("GET", url(live, "?format=trace&at=2"), cast.vera.headers)).status == 422


async def test_a_trace_has_the_rows_of_the_outline(cast: Cast, live: LiveRun) -> None:
    await live.fail()
    answer = await ask("GET", url(live, "?format=trace"), cast.vera.headers)
    assert answer.headers["content-disposition"].endswith('.trace.json"')
    name, *events = json.loads(answer.body)["traceEvents"]
    assert name["args"] == {"name": "Run r"}
    assert [event["cat"] for event in events if event["ph"] == "X"] == [
        "queue", "attempt", "error"
    ]  # fmt: skip


async def test_a_run_that_has_just_begun_is_a_trace_too(cast: Cast, live: LiveRun) -> None:
    answer = await ask("GET", url(live, "?format=trace"), cast.vera.headers)
    bars = [event for event in json.loads(answer.body)["traceEvents"] if event["ph"] == "X"]
    assert [event["cat"] for event in bars] == ["queue", "attempt"]


@pytest.mark.parametrize(
    ("method", "query", "status", "code"),
    [("GET", "?format=pdf", 422, "invalid"), ("POST", "", 405, "method_not_allowed")],
)
async def test_what_is_refused(
    cast: Cast, live: LiveRun, method: str, query: str, status: int, code: str
) -> None:
    answer = await ask(method, url(live, query), cast.vera.headers)
    assert (answer.status, answer.code) == (status, code)


async def test_a_purged_run_has_no_file(cast: Cast, live: LiveRun) -> None:
    await live.end()
    await db(lambda: retention.purge_run(Run.objects.of_any_team().get(pk=live.run.pk)))
    for query in ("", "?format=trace"):
        answer = await ask("GET", url(live, query), cast.vera.headers)
        assert (answer.status, answer.code) == (410, "purged")


async def test_exports_under_way_are_bounded_in_bytes(
    cast: Cast, live: LiveRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    await live.end()
    ledger = Held(process=2_000_000, team=1_000_000)
    monkeypatch.setattr(exports, "ledger", ledger)
    assert ledger.take(cast.team.pk, 999_999)
    for format_ in exports.FORMATS:
        answer = await ask("GET", url(live, f"?format={format_}"), cast.alice.headers)
        assert (answer.status, answer.code) == (429, "limit_reached")
        assert answer.headers["retry-after"] == "5"
    ledger.give_back(cast.team.pk, 999_999)
    assert (await ask("GET", url(live), cast.alice.headers)).status == 200
    assert ledger.bytes == 0, "given back with the answer"
