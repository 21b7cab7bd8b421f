"""The state of a run at an event over HTTP, who set a place in it, and what a long log costs."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from django.utils import timezone

from agui_host.protocol.encoding import Record
from events import states
from runs.models import Run
from tests.asgi import ask_now
from tests.cast import Actor, Cast
from tests.events.records import record
from tests.runs.api.test_outline import full_house, with_log

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    yield
    states._folded.clear()


def state_of(actor: Actor, run: Run, query: str = "") -> dict[str, Any]:
    answer = ask_now("GET", f"/api/v1/runs/{run.pk}/state{query}", actor.headers)
    assert answer.status == 200, answer.body
    body: dict[str, Any] = answer.json
    return body


def patch(op: str, path: str, value: Any = None) -> Record:
    return record("STATE_DELTA", delta=[{"op": op, "path": path, "value": value}])


def counting(count: int) -> Iterable[Record]:
    yield record("RUN_STARTED", threadId="t", runId="r")
    yield record("STATE_SNAPSHOT", snapshot={"n": 0, "other": "x"})
    for n in range(1, count + 1):
        yield record("CUSTOM", name="noise", value=n)
        yield patch("replace", "/n", n)
    yield record("RUN_FINISHED", threadId="t", runId="r")


def test_the_state_after_any_event_and_what_set_a_place_in_it(cast: Cast) -> None:
    records = [
        record("RUN_STARTED", threadId="t", runId="r"),
        patch("add", "/a", {"b": 1}),
        patch("replace", "/gone/by", 2),  # does not apply
        record("STATE_SNAPSHOT", snapshot={"a": {"b": 3}}),
        patch("replace", "/a/b", 4),
        record("RUN_FINISHED", threadId="t", runId="r"),
    ]
    run = with_log(cast.alice, records)
    expected = [{}, {}, {"a": {"b": 1}}, {"a": {"b": 1}}, {"a": {"b": 3}}, *[{"a": {"b": 4}}] * 2]
    for at in (6, 5, 4, 3, 2, 1, 0, 2, 6):
        assert state_of(cast.vera, run, f"?at={at}") == {"state": expected[at], "at": at}
    assert state_of(cast.vera, run) == {"state": {"a": {"b": 4}}, "at": 6}
    body = state_of(cast.vera, run, "/history?path=/a/b")
    assert [(each["seq"], each["op"]) for each in body["changes"]] == [
        (2, "add"), (4, "snapshot"), (5, "replace"),
    ]  # fmt: skip
    assert body["through"] == 6
    assert state_of(cast.vera, run, "/history?path=/a/b&after=4&at=4")["changes"] == []


def test_it_begins_with_the_state_of_the_input(cast: Cast) -> None:
    run = with_log(cast.alice, counting(0))
    Run.objects.filter(pk=run.pk).update(input=run.input.replace('"state":{}', '"state":{"in":1}'))
    assert state_of(cast.vera, run, "?at=1")["state"] == {"in": 1}


def test_bad_parameters_are_refused_and_a_purged_run_has_no_state(cast: Cast) -> None:
    run = with_log(cast.alice, counting(1))
    for query, status in (
        ("?at=x", 400), ("?at=-1", 400), ("?at=99", 400), ("?at=99999999999", 400),
        ("/history?path=a", 422), (f"/history?path=/{'a' * 2_000}", 422),
        ("/history?after=99", 400), ("/history", 200), ("/history?path=/~2/%01", 200),
    ):  # fmt: skip
        answer = ask_now("GET", f"/api/v1/runs/{run.pk}/state{query}", cast.vera.headers)
        assert answer.status == status, query
    Run.objects.filter(pk=run.pk).update(purged_at=timezone.now())
    for path in ("state", "state/history"):
        answer = ask_now("GET", f"/api/v1/runs/{run.pk}/{path}", cast.vera.headers)
        assert (answer.status, answer.json["error"]["code"]) == (410, "purged")


def test_a_request_folds_for_a_bounded_time_and_the_next_one_continues(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = with_log(cast.alice, counting(3_000))
    monkeypatch.setattr(states, "STEP_EVENTS", 1_000)
    with full_house():  # one event for each request
        reached = [states.read(run.pk, 6_003, "{}").at for _ in range(3)]
        assert reached == [2, 4, 6]
        through, all_changes = 0, []
        for _ in range(3):
            part = states.history(run.pk, "/n", through, 6_003, "{}")
            through = part.through
            all_changes += part.changes
        assert [change.seq for change in all_changes] == [2, 4, 6]
    assert state_of(cast.vera, run) == {"state": {"n": 3_000, "other": "x"}, "at": 6_003}
    body = state_of(cast.vera, run, "/history?path=/n")
    assert len(body["changes"]) == states.MOST_CHANGES
    rest = state_of(cast.vera, run, f"/history?path=/n&after={body['through']}")
    assert rest["changes"][0]["seq"] == body["through"] + 2
    assert state_of(cast.vera, run, "/history?path=/other")["changes"][1:] == []
