"""The schedules of a team over the API: who may do what with them, and what is refused."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pytest_django import Settings

from agui_host.teams import keys
from agui_host.teams.access import members
from agui_host.teams.models import ApiKey, AuditEntry, Membership, Role, Scope
from runs.models import Run, Schedule, Thread, Visibility
from tests.asgi import Answer, ask_now
from tests.cast import Cast, start

pytestmark = pytest.mark.django_db(transaction=True)
SCHEDULES = "/api/v1/schedules"
NEW: dict[str, Any] = {
    "agent": "echo",
    "cron": "0 9 * * 1-5",
    "time_zone": "Europe/Berlin",
    "input": {"messages": [{"id": "m", "role": "user", "content": "Report {{scheduled_date}}"}]},
}
MAY_RUN = frozenset({Scope.READ, Scope.RUN})


def post(cast: Cast, headers: dict[str, str] | None = None, **more: Any) -> Answer:
    body = {name: value for name, value in {**NEW, **more}.items() if value is not ...}
    return ask_now("POST", SCHEDULES, headers or cast.alice.headers, json=body)


def made(cast: Cast, headers: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    answer = post(cast, headers, **more)
    assert answer.status == 201, answer.body
    return dict(answer.json)


def soon(**delta: float) -> str:
    return (datetime.now(UTC) + timedelta(**delta)).isoformat()


def test_a_schedule_from_its_making_to_its_end(cast: Cast) -> None:
    def ask(method: str, path: str = "", body: Any = None) -> Answer:
        return ask_now(method, f"{SCHEDULES}/{row['id']}{path}", cast.alice.headers, json=body)

    row = made(cast)
    assert (row["thread"], row["thread_id"], row["missed"]) == ("new", None, "once")
    assert (row["paused"], row["stopped_reason"], row["last"]) == (False, "", None)
    assert row["runs_as"] == f"key:{cast.alice.key_prefix}"
    assert row["input"]["messages"] == [{"role": "user", "content": "Report {{scheduled_date}}"}]
    assert len(row["next_runs"]) == 5
    assert row["next_runs"][0] == row["next_at"]
    hours = {datetime.fromisoformat(each).astimezone(UTC).hour for each in row["next_runs"]}
    assert hours <= {7, 8}, "nine o'clock in Berlin"
    assert ask("GET").json == row
    assert ask_now("GET", SCHEDULES, cast.alice.headers).json["results"] == [row | {"omitted": []}]

    paused = ask("PATCH", body={"paused": True}).json
    assert (paused["paused"], paused["next_at"], paused["next_runs"]) == (True, None, [])
    assert paused["stopped_reason"] == "paused"
    assert ask("PATCH", body={"cron": "0 10 * * *"}).json["paused"], "still"
    assert ask("PATCH", body={"paused": False}).json["next_at"] is not None
    once = ask("PATCH", body={"run_at": "2027-01-01T09:00:00", "thread": "fixed"}).json
    assert (once["cron"], once["run_at"]) == (None, "2027-01-01T08:00:00Z"), "a time of its zone"
    assert once["next_runs"] == [once["run_at"]]
    assert once["thread_id"], "made where none was named"
    assert ask("PATCH", body={"cron": "0 9 * * *", "thread": "new"}).json["run_at"] is None

    run = ask("POST", "/run")
    assert run.status == 202
    assert run.json["started_by"] == f"key:{cast.alice.key_prefix}"
    assert datetime.now(UTC).strftime("Report %Y-") in Run.objects.get(pk=run.json["id"]).input
    assert ask("DELETE").status == 204
    assert ask("GET").status == 404
    assert Run.objects.filter(pk=run.json["id"]).exists()
    acts = AuditEntry.objects.for_team(cast.team).filter(action__startswith="schedule.")
    assert list(acts.order_by("id").values_list("action", flat=True)) == [
        "schedule.created", *["schedule.changed"] * 5, "schedule.deleted",
    ]  # fmt: skip


REFUSED: list[tuple[dict[str, Any], str, str | None]] = [
    ({"cron": "0 0 30 2 *"}, "invalid", "cron"),
    ({"cron": "no"}, "invalid", "cron"),
    ({"cron": None}, "invalid", "cron"),
    ({"run_at": soon(hours=1)}, "invalid", "run_at"),
    ({"cron": None, "run_at": soon(hours=-1)}, "invalid", "run_at"),
    ({"cron": None, "run_at": "0001-01-01T00:00:00+14:00"}, "invalid", "run_at"),
    ({"cron": None, "run_at": "9999-12-31T23:59:59-14:00"}, "invalid", "run_at"),
    ({"time_zone": "Europe"}, "invalid", "time_zone"),
    ({"agent": "nobody"}, "unknown_agent", None),
    ({"input": []}, "invalid", "input"),
    ({"input": {"threadId": "t"}}, "invalid", "input.threadId"),
    ({"input": {"run_id": "r"}}, "invalid", "input.runId"),
    ({"input": {"resume": []}}, "invalid", "input.resume"),
    ({"input": {"messages": "hello"}}, "invalid", "messages"),
    ({"input": {"state": "x" * 300_000}}, "invalid", "input"),
    ({"thread_id": "t"}, "invalid", "thread_id"),
    ({"missed": "never"}, "invalid", None),
    ({"thread": "old"}, "invalid", None),
]


def test_what_cannot_be_scheduled_is_refused(cast: Cast) -> None:
    for change, code, path in REFUSED:
        refused = post(cast, **change)
        assert 400 <= refused.status < 500
        assert refused.code == code, refused.body
        if path is not None:
            assert refused.json["error"]["details"]["path"] == path
    assert not Schedule.objects.exists()


def test_a_refused_change_changes_nothing(cast: Cast) -> None:
    row = made(cast)
    for change in ({"cron": "0 0 30 2 *"}, {"name": "x", "run_at": soon(days=-1)}, {"crno": "x"}):
        refused = ask_now("PATCH", f"{SCHEDULES}/{row['id']}", cast.alice.headers, json=change)
        assert refused.status == 422
    assert ask_now("GET", f"{SCHEDULES}/{row['id']}", cast.alice.headers).json == row


def test_a_team_has_so_many(cast: Cast, settings: Settings) -> None:
    settings.AGUI_SCHEDULES_MAX = 1
    made(cast)
    assert post(cast).code == "schedules_full"
    assert post(cast, cast.charlie.headers).status == 201, "another team"


def test_who_may_see_and_change_them(cast: Cast) -> None:
    row = made(cast)
    url = f"{SCHEDULES}/{row['id']}"
    bob = cast.bob.headers
    assert ask_now("GET", SCHEDULES, cast.vera.headers).status == 403, "she cannot run anything"
    assert ask_now("GET", SCHEDULES, cast.charlie.headers).json["results"] == []
    assert ask_now("PATCH", url, cast.charlie.headers, json={"paused": True}).status == 404
    assert ask_now("POST", f"{url}/run", cast.charlie.headers).status == 404
    # Pausing does not take it over; a change does, so nobody speaks in another's name.
    assert ask_now("PATCH", url, bob, json={"paused": True}).json["runs_as"] == row["runs_as"]
    changed = ask_now("PATCH", url, bob, json={"input": {}})
    assert changed.json["runs_as"] == f"key:{cast.bob.key_prefix}"
    assert ask_now("DELETE", url, bob).status == 204


def test_a_key_for_some_agents_sees_only_their_schedules(cast: Cast) -> None:
    row = made(cast)
    _, key = keys.create_key(cast.team, "k", Role.MEMBER, scopes=[*MAY_RUN], agents=["other"])
    narrow = {"authorization": f"Bearer {key}"}
    assert ask_now("GET", SCHEDULES, narrow).json["results"] == []
    assert ask_now("GET", f"{SCHEDULES}/{row['id']}", narrow).status == 404
    assert post(cast, narrow).code == "unknown_agent"
    _, key = keys.create_key(cast.team, "r", Role.OWNER, scopes=[Scope.READ])
    assert ask_now("GET", SCHEDULES, {"authorization": f"Bearer {key}"}).status == 403


def test_a_private_thread_stays_private(cast: Cast) -> None:
    """Its person may schedule runs in it, which nobody else sees; others may not."""
    thread = start(cast.alice, threadId="mine").thread
    Thread.objects.filter(pk=thread.pk).update(visibility=Visibility.PRIVATE)
    own = {**cast.alice.cookie, "origin": "http://localhost"}
    row = made(cast, own, thread="fixed", thread_id="mine")
    assert post(cast, cast.bob.headers, thread="fixed", thread_id="mine").status == 404
    assert ask_now("GET", SCHEDULES, cast.bob.headers).json["results"] == []
    url = f"{SCHEDULES}/{row['id']}"
    for method, body in (("GET", None), ("PATCH", {"input": {}}), ("DELETE", None)):
        assert ask_now(method, url, cast.bob.headers, json=body).status == 404
    assert ask_now("POST", f"{url}/run", cast.bob.headers).status == 404
    assert ask_now("GET", url, own).status == 200


def test_a_leavers_schedules_stop(cast: Cast) -> None:
    """Until somebody else resumes one, and answers for it."""
    bobs = made(cast, {**cast.bob.cookie, "origin": "http://localhost"})
    keyed = made(cast, cast.bob.headers)
    alices = made(cast)
    row = ApiKey.objects.get(prefix=cast.bob.key_prefix)
    keys.revoke(row, cast.alice.principal)
    members.remove(cast.alice.principal, Membership.objects.get(user=cast.bob.user).pk)
    reasons = dict(Schedule.objects.values_list("pk", "stopped"))
    assert {str(pk): reason for pk, reason in reasons.items()} == {
        bobs["id"]: "owner_left",
        keyed["id"]: "key_revoked",
        alices["id"]: "",
    }
    stopped = AuditEntry.objects.for_team(cast.team).filter(action="schedule.stopped")
    assert stopped.count() == 2
    resumed = ask_now(
        "PATCH", f"{SCHEDULES}/{bobs['id']}", cast.alice.headers, json={"paused": False}
    ).json
    assert (resumed["stopped_reason"], resumed["runs_as"]) == ("", alices["runs_as"])
    assert resumed["next_at"]
