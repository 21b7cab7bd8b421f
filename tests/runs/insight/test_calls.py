"""What clients read of the tool calls of many runs."""

from typing import Any

import pytest

from agui_host.protocol.fold.calls import digest_of, has_failed
from agui_host.teams import keys
from runs.access import sharing
from runs.access.insight import tools
from runs.lifecycle.deletion import erasure, retention
from runs.lifecycle.insight import storing
from runs.models import Run, TeamUsage, Thread, ToolCall, UnreadRun, Visibility
from tests.asgi import ask_now
from tests.cast import Actor, Cast, Register, start
from tests.runs.asking import end
from tests.runs.insight.conftest import asks, call, doubles, ran

pytestmark = pytest.mark.django_db(transaction=True)


def listed(headers: dict[str, str], query: str = "") -> list[dict[str, Any]]:
    answer = ask_now("GET", f"/api/v1/tool-calls{query}", headers)
    assert answer.status == 200, answer.body
    rows: list[dict[str, Any]] = answer.json["results"]
    return rows


def hide(run: Run, actor: Actor) -> None:
    """Make the thread of a run this person's private one."""
    rows = Thread.objects.filter(pk=run.thread_id, team=run.team)
    rows.update(visibility=Visibility.PRIVATE, creator=actor.principal.actor_id)


def test_filters_and_the_earlier_call(cast: Cast, register: Register) -> None:
    run = ran(cast.alice, call("a"), call("b"), call("c", '{"n": 1}', "Error: no", name="look"))
    other = ran(cast.bob, call("d"), agent=register("other", lambda ctx: ctx.text))
    storing.run_once(20)
    rows = listed(cast.vera.headers)
    assert {(row["run"], row["name"], row["status"]) for row in rows} == {
        (str(run.pk), "charge", "ok"), (str(run.pk), "look", "error"),
        (str(other.pk), "charge", "ok"),
    }  # fmt: skip
    [repeated] = listed(cast.vera.headers, "?double=ok")
    [earlier] = repeated["earlier"]
    assert (repeated["double"], earlier["run"], earlier["status"]) == ("ok", str(run.pk), "ok")
    assert earlier["seq"] < repeated["seq"]
    assert repeated["arguments"] == digest_of('{"amount": 5, "order": 7}')
    assert repeated["result"] == '{"id": "ch_1"}'
    for query, number in {
        "?name=look": 1, "?agent=other": 1, f"?run={run.pk}": 3, "?status=error": 1,
        "?name=charge&agent=echo": 2, "?double=error": 0, "?limit=2": 2,
    }.items():  # fmt: skip
        assert len(listed(cast.vera.headers, query)) == number, query
    assert ask_now("GET", "/api/v1/tool-calls?tool=x", cast.vera.headers).status == 422
    assert ask_now("GET", "/api/v1/tool-calls?cursor=x", cast.vera.headers).status == 400


def test_a_private_threads_calls_are_its_owners(cast: Cast) -> None:
    run = ran(cast.bob, call("a"))
    hide(run, cast.bob)
    storing.run_once(20)
    later = ran(cast.bob, call("b"), threadId="later")
    storing.run_once(20)
    hide(later, cast.bob)  # after its calls were stored
    assert len(listed(cast.bob.cookie)) == 2
    assert listed(cast.alice.cookie) == listed(cast.alice.headers) == []
    hide(later, cast.alice)
    assert [row["run"] for row in listed(cast.alice.cookie)] == [str(later.pk)]
    Thread.objects.filter(pk=run.thread_id, team=run.team).update(visibility=Visibility.TEAM)
    assert len(listed(cast.alice.cookie)) == 2
    assert listed(cast.charlie.headers) == []


def test_a_reader_of_one_run_alone_learns_nothing_of_the_run_before(cast: Cast) -> None:
    first = ran(cast.bob, call("a"), **asks("one"))
    second = ran(cast.bob, call("b"), threadId=first.thread.thread_id, **asks("one"))
    hide(second, cast.bob)
    storing.run_once(20)
    sharing.share(cast.bob.principal, second, sharing.To(member="alice"), sharing.Terms())
    for actor, kind, number in ((cast.bob, "ok", 1), (cast.alice, None, 0)):
        [row] = listed(actor.cookie, f"?run={second.pk}")
        assert (row["double"], len(row["earlier"])) == (kind, number)
        assert len(listed(actor.cookie, "?double=ok")) == number
        [tool] = tools.by_tool(actor.principal, first.created_at)
        assert tool.doubles == number


def test_a_key_for_one_agent_sees_its_calls(cast: Cast, register: Register) -> None:
    ran(cast.alice, call("a"))
    run = ran(cast.alice, call("b"), agent=register("other", lambda ctx: ctx.text), threadId="o")
    storing.run_once(20)
    _, key = keys.create_key(cast.team, "other", cast.alice.role, agents=["other"])
    rows = listed({"authorization": f"Bearer {key}"})
    assert [row["run"] for row in rows] == [str(run.pk)]


def test_calls_go_with_their_run(cast: Cast) -> None:
    staying = ran(cast.alice, call("a"), threadId="t")
    purged = ran(cast.alice, call("b"), threadId="t")
    erased = ran(cast.alice, call("c"), threadId="gone")
    unread = ran(cast.alice, call("d"), threadId="unread")
    retention.purge_run(unread)
    storing.run_once(20)
    assert ToolCall.objects.of_any_team().count() == 3
    retention.purge_run(purged)
    erasure.erase_thread(cast.alice.principal, erased.thread)
    assert [row.run_id for row in ToolCall.objects.of_any_team()] == [staying.pk]
    storing.run_once(20)
    assert ToolCall.objects.of_any_team().count() == 1
    assert not UnreadRun.objects.exists()


def test_a_double_of_which_only_one_call_is_left_is_none(cast: Cast) -> None:
    first = ran(cast.alice, call("a"))
    second = ran(cast.alice, call("b"), threadId=first.thread.thread_id)
    Run.objects.of_any_team().filter(pk=second.pk).update(repeats=first.pk)
    storing.run_once(20)
    assert len(doubles()) == 1
    retention.purge_run(first)
    assert doubles() == []
    assert ToolCall.objects.of_any_team().count() == 1


def test_a_run_that_cannot_be_stored_is_set_aside(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = ran(cast.alice, call("a\0b", "\ud800", "\0", name="\0 \ud800"))
    bad = ran(cast.alice, call("b"), threadId="bad")
    good = ran(cast.alice, call("c"), threadId="good")
    store_calls = storing._store_calls

    def broken(reads: Any, owners: Any) -> None:
        if any(read.run.id == bad.pk for read in reads):
            raise ValueError("no such thing")
        store_calls(reads, owners)

    monkeypatch.setattr(storing, "_store_calls", broken)
    assert storing.run_once(20) == 3
    stored = set(ToolCall.objects.of_any_team().values_list("run", flat=True))
    assert stored == {odd.pk, good.pk}
    assert not UnreadRun.objects.exists()


def test_runs_of_earlier_releases_are_read_in_batches(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storing, "MARKED", 2)
    monkeypatch.setattr(storing, "BATCH", 2)
    for number in range(5):
        ran(cast.alice, call("a"), threadId=f"t{number}")
    end(start(cast.alice, threadId="quiet"))
    UnreadRun.objects.all().delete()
    Run.objects.of_any_team().update(tool_calls=None)
    assert storing.run_once(0) == 0
    assert storing.run_once(20) == 6
    assert ToolCall.objects.of_any_team().count() == 5
    assert storing.run_once(20) == 0
    TeamUsage.objects.update(read_through=None)
    assert storing.run_once(20) == 6, "reading again changes nothing"
    assert ToolCall.objects.of_any_team().count() == 5


@pytest.mark.parametrize(
    ("result", "failed"),
    [
        ("Error: no", True), ("  timed out after 5 s", True), ('{"error": {"code": 5}}', True),
        ('{"status": "failed"}', True), ('{"isError": true}', True), ('{"success": false}', True),
        ("No errors found", False), ('{"error": false}', False), ('{"error": ""}', False),
        ('{"status": "succeeded"}', False), ("Errors are rare", False), ("{broken", False),
        ('{"a":' * 100_000, False), ("", False),
    ],
)  # fmt: skip
def test_the_outcome_of_a_result(result: str, failed: bool) -> None:
    assert has_failed(result) is failed


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('{"a": 1, "b": [1, 2]}', '{"b":[1,2],"a":1.0}', True),
        ("", "{}", True),
        ('{"a": 1}', '{"a": "1"}', False),
        ('{"b": [1, 2]}', '{"b": [2, 1]}', False),
        ("not json", "not json", True),
        ('{"a": "\\u00e4"}', '{"a": "ä"}', True),
        ('{"a":' * 100_000, '{"a":' * 100_001, False),
        ('{"a": NaN}', '{"a": 1}', False),
    ],
)
def test_the_digest_of_arguments(one: str, other: str, same: bool) -> None:
    assert (digest_of(one) == digest_of(other)) is same
