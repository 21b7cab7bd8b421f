"""A team's agents over the API: remote ones are its own, the others the operator's."""

import json
from typing import Any

import pytest

from agui_host.runtimes.models import Agent
from agui_host.teams.models import AuditEntry
from runs.lifecycle import lifecycle
from tests.asgi import ask_now
from tests.cast import Cast, start

pytestmark = pytest.mark.django_db(transaction=True)
URL = "https://agents.example.com/agui"
LIST = "/api/v1/agents"
FAR = f"{LIST}/far"


def make(cast: Cast, **more: Any) -> Any:
    body = {"slug": "far", "url": URL, **more}
    return ask_now("POST", LIST, cast.alice.headers, json=body)


def test_a_team_makes_a_remote_agent_and_nobody_reads_its_headers(cast: Cast) -> None:
    made = make(cast, headers={"Authorization": "Bearer s3cret"}, settings={"idle_seconds": 5})
    assert made.status == 201
    answer_body = made.json
    assert (answer_body["kind"], answer_body["url"], answer_body["headers"]) == (
        "http",
        URL,
        ["Authorization"],
    )
    for actor in (cast.alice, cast.vera):
        for address in (LIST, FAR):
            assert b"s3cret" not in ask_now("GET", address, actor.headers).body
    row = Agent.objects.get(slug="far")
    assert row.unsealed() == {"headers": {"Authorization": "Bearer s3cret"}}
    assert "s3cret" not in row.secrets
    line = AuditEntry.objects.get(action="agent.created")
    assert "s3cret" not in line.details
    assert line.target == "far"


def test_headers_are_merged_by_name_and_removed_by_null(cast: Cast) -> None:
    make(cast, headers={"X-One": "1", "X-Two": "2"})
    changed = {"headers": {"x-one": "one", "X-Two": None, "X-Three": "3"}}
    answer_body = ask_now("PATCH", FAR, cast.alice.headers, json=changed).json
    assert answer_body["headers"] == ["X-Three", "x-one"]
    assert Agent.objects.get(slug="far").unsealed()["headers"]["x-one"] == "one"


def test_another_origin_does_not_get_the_headers_of_the_old_one(cast: Cast) -> None:
    make(cast, headers={"X-Key": "s3cret"})
    for url, remaining in ((f"{URL}/v2", ["X-Key"]), ("https://thief.example.com/agui", [])):
        answer_body = ask_now("PATCH", FAR, cast.alice.headers, json={"url": url}).json
        assert (answer_body["url"], answer_body["headers"]) == (url, remaining)


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"url": "http://127.0.0.1/x"}, "address_refused"),
        ({"url": "http://localhost:8000/"}, "address_refused"),
        ({"url": "https://me:secret@example.com/"}, "address_refused"),
        ({"url": "ftp://example.com/"}, "address_refused"),
        ({"headers": {"Host": "x"}}, "invalid"),
        ({"headers": {"content-length": "1"}}, "invalid"),
        ({"headers": {"X": "secret\r\nY: z"}}, "invalid"),
        ({"headers": {"bad name": "secret"}}, "invalid"),
        ({"headers": {"X": ["secret"]}}, "invalid"),
        ({"settings": {"idle_seconds": -1}}, "invalid"),
        ({"settings": {"idle_seconds": True}}, "invalid"),
        ({"settings": {"nonsense": 1}}, "invalid"),
        ({"settings": {"protocol": "2.0"}}, "invalid"),
        ({"timeout_seconds": 0}, "invalid"),
        ({"slug": "has space"}, "invalid"),
        ({"slug": "echo"}, "agent_exists"),
    ],
)
def test_what_cannot_be_is_refused_without_repeating_it(
    cast: Cast, more: dict[str, Any], code: str
) -> None:
    answer = make(cast, **more)
    assert answer.code == code
    assert b"secret" not in answer.body
    assert not Agent.objects.filter(kind="http").exists()


def test_a_team_chooses_among_its_own_kinds(cast: Cast) -> None:
    assert make(cast, kind="python").code == "invalid"
    assert make(cast, target="echo").code == "unknown_member"
    assert make(cast, kind="http").json["kind"] == "http"
    assert Agent.objects.get(slug="far").target == URL


def test_members_see_agents_and_change_none(cast: Cast) -> None:
    make(cast)
    assert len(ask_now("GET", LIST, cast.bob.headers).json["results"]) == 2
    for method, address, body in (
        ("POST", LIST, {"slug": "mine", "url": URL}),
        ("PATCH", FAR, {"enabled": False}),
        ("DELETE", FAR, None),
    ):
        assert ask_now(method, address, cast.bob.headers, json=body).code == "forbidden"


def test_of_an_operators_agent_a_team_changes_the_rules_only(cast: Cast) -> None:
    echo = f"{LIST}/echo"
    rules = {"on_busy": "enqueue", "timeout_seconds": 5, "description": "Says it again."}
    assert ask_now("PATCH", echo, cast.alice.headers, json=rules).json["on_busy"] == "enqueue"
    for body in ({"url": URL}, {"headers": {"X": "y"}}, {"settings": {}}):
        assert ask_now("PATCH", echo, cast.alice.headers, json=body).code == "forbidden"
    assert ask_now("DELETE", echo, cast.alice.headers).code == "forbidden"
    assert ask_now("GET", echo, cast.alice.headers).json["settings"] is None


def test_what_frameworks_report_can_be_left_out(cast: Cast) -> None:
    assert make(cast).json["raw"] is True
    assert ask_now("PATCH", FAR, cast.alice.headers, json={"raw": False}).json["raw"] is False
    changed = ask_now("PATCH", f"{LIST}/echo", cast.alice.headers, json={"raw": False})
    assert changed.json["raw"] is False


def test_there_is_one_default(cast: Cast) -> None:
    make(cast, is_default=True)
    defaults = Agent.objects.for_team(cast.team).filter(is_default=True)
    assert [row.slug for row in defaults] == ["far"]


@pytest.mark.parametrize("has_run", [False, True])
def test_removing_one_takes_its_secrets_and_keeps_its_runs(cast: Cast, has_run: bool) -> None:
    make(cast, headers={"X": "y"})
    row = Agent.objects.get(slug="far")
    run = start(cast.alice, row) if has_run else None
    if run:
        lifecycle.cancel(run, cast.alice.principal.label)
    assert ask_now("DELETE", FAR, cast.alice.headers).status == 204
    left = Agent.objects.filter(slug="far").first()
    if has_run:
        assert left
        assert (left.enabled, left.secrets) == (False, "")
    else:
        assert left is None


def test_secrets_whose_key_is_gone_can_be_set_again(cast: Cast, settings: Any) -> None:
    make(cast, headers={"X-Key": "old"})
    settings.SECRET_KEY = "another"
    assert ask_now("GET", FAR, cast.alice.headers).json["headers"] == []
    ask_now("PATCH", FAR, cast.alice.headers, json={"headers": {"X-Key": "new"}})
    assert json.dumps(Agent.objects.get(slug="far").unsealed()) == '{"headers": {"X-Key": "new"}}'
