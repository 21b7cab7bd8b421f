"""Keys through the API: made, rotated, revoked; never more than one may oneself."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agui_host.teams import keys
from agui_host.teams.models import ApiKey, AuditEntry, Role, Scope, Team
from tests.asgi import Answer, ask_now
from tests.cast import Actor, Cast, bell, cast

__all__ = ["bell", "cast"]

pytestmark = pytest.mark.django_db(transaction=True)
KEYS = "/api/v1/keys"


def bearer(text: str) -> dict[str, str]:
    return {"authorization": f"Bearer {text}"}


def key_of(team: Team, role: Role = Role.OWNER, **more: Any) -> dict[str, str]:
    return bearer(keys.create_key(team, "ours", role, **more)[1])


def make(asker: Actor | dict[str, str], **body: Any) -> Answer:
    headers = asker if isinstance(asker, dict) else asker.headers
    return ask_now("POST", KEYS, headers, json={"name": "ci", **body})


def refused(answer: Answer, action: str = "manage_keys") -> None:
    assert (answer.status, answer.code) == (403, "forbidden")
    assert answer.json["error"]["details"] == {"action": action}


class TestMaking:
    def test_the_text_is_shown_once(self, cast: Cast) -> None:
        made = make(cast.alice)
        assert made.status == 201
        text = made.json["key"]
        assert ask_now("GET", "/api/v1/runs", bearer(text)).status == 200
        for url in (KEYS, f"{KEYS}/{made.json['id']}"):
            list_body = ask_now("GET", url, cast.alice.headers).body.decode()
            assert text not in list_body
            assert made.json["prefix"] in list_body
        row = ApiKey.objects.get(pk=made.json["id"])
        assert row.hashed_key not in made.body.decode()

    def test_what_it_may_do_unless_said_otherwise(self, cast: Cast) -> None:
        made = make(cast.alice).json
        assert (made["role"], made["scopes"], made["agents"]) == ("member", ["read", "run"], None)
        assert (made["expires_at"], made["usable"], made["revoked"]) == (None, True, False)

    def test_a_person_is_remembered(self, cast: Cast) -> None:
        own = {**cast.alice.cookie, "origin": "http://localhost"}
        assert make(own).json["created_by"] == "alice"
        assert make(cast.alice).json["created_by"] is None

    def test_it_is_in_the_log(self, cast: Cast) -> None:
        made = make(cast.alice, scopes=["read"]).json
        line = AuditEntry.objects.filter(action="key.created").latest("pk")
        assert (line.who, line.target) == (f"key:{cast.alice.key_prefix}", made["prefix"])
        assert made["key"] not in line.details

    @pytest.mark.parametrize("scopes", [["read"], ["run"], ["ingest"], ["admin"]])
    def test_scopes_decide_what_it_may_do(self, cast: Cast, scopes: list[str]) -> None:
        headers = bearer(make(cast.alice, role="owner", scopes=scopes).json["key"])
        tried = {
            "view": ask_now("GET", "/api/v1/runs", headers),
            "run": ask_now("POST", "/api/v1/runs", headers, json={"input": {}}),
            "manage_keys": ask_now("GET", KEYS, headers),
            "see_audit": ask_now("GET", "/api/v1/audit", headers),
        }
        let = {action for action, answer in tried.items() if answer.status < 300}
        allowed = {"read": {"view"}, "run": {"view", "run"}, "admin": {"manage_keys", "see_audit"}}
        assert let == allowed.get(scopes[0], set())
        for action in tried.keys() - let:
            refused(tried[action], action)

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"name": ""}, "name"),
            ({"name": "x" * 51}, "name"),
            ({"role": "emperor"}, "role"),
            ({"scopes": []}, "scopes"),
            ({"scopes": ["fly"]}, "scopes"),
            ({"scopes": "read"}, "scopes"),
            ({"agents": []}, "agents"),
            ({"agents": ["no slug"]}, "agents"),
            ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
            ({"expires_at": "soon"}, "expires_at"),
        ],
    )
    def test_what_makes_no_key(self, cast: Cast, body: dict[str, Any], field: str) -> None:
        before = ApiKey.objects.count()
        answer = make(cast.alice, **body)
        assert (answer.status, answer.code) == (422, "invalid")
        assert field in answer.json["error"]["details"]
        assert ApiKey.objects.count() == before


class TestNoMoreThanOneself:
    def test_members_and_viewers_see_and_make_none(self, cast: Cast) -> None:
        for actor in (cast.bob, cast.vera):
            refused(make(actor))
            refused(ask_now("GET", KEYS, actor.headers))

    def test_no_role_above_ones_own(self, cast: Cast) -> None:
        admin = key_of(cast.team, Role.ADMIN)
        refused(make(admin, role="owner"))
        assert make(admin, role="admin").status == 201

    def test_no_scope_that_one_lacks(self, cast: Cast) -> None:
        limited = key_of(cast.team, scopes=["admin"])
        refused(make(limited, scopes=["read", "admin"]))
        refused(make(limited, scopes=["run"]))
        assert make(limited, scopes=["admin"]).status == 201

    def test_no_agent_that_one_lacks(self, cast: Cast) -> None:
        limited = key_of(cast.team, agents=["echo"])
        refused(make(limited))
        refused(make(limited, agents=["echo", "other"]))
        assert make(limited, agents=["echo"]).json["agents"] == ["echo"]

    def test_a_stronger_key_is_not_rotated_into_ones_hands(self, cast: Cast) -> None:
        admin = key_of(cast.team, Role.ADMIN)
        strong = keys.create_key(cast.team, "strong", Role.OWNER)[0]
        refused(ask_now("POST", f"{KEYS}/{strong.pk}/rotate", admin, json={}))
        assert ask_now("POST", f"{KEYS}/{strong.pk}/revoke", admin).status == 200


class TestRotating:
    def test_both_work_for_a_while(self, cast: Cast) -> None:
        made = make(cast.alice, scopes=["read"], agents=["echo"]).json
        url = f"{KEYS}/{made['id']}/rotate"
        new = ask_now("POST", url, cast.alice.headers, json={"overlap_hours": 2})
        assert new.status == 201
        assert new.json["replaces"] == made["prefix"]
        for field in ("name", "role", "scopes", "agents"):
            assert new.json[field] == made[field]
        for text in (made["key"], new.json["key"]):
            assert ask_now("GET", "/api/v1/runs", bearer(text)).status == 200
        old = ask_now("GET", f"{KEYS}/{made['id']}", cast.alice.headers).json
        assert (old["replaced_by"], old["usable"]) == (new.json["prefix"], True)
        assert old["expires_at"] is not None
        again = ask_now("POST", url, cast.alice.headers, json={})
        assert (again.status, again.code) == (409, "key_rotated")
        assert AuditEntry.objects.get(action="key.rotated").target == made["prefix"]

    @pytest.mark.parametrize("hours", [-1, 721, "soon"])
    def test_overlaps_that_are_none(self, cast: Cast, hours: Any) -> None:
        row = keys.create_key(cast.team, "ci", Role.MEMBER)[0]
        body = {"overlap_hours": hours}
        answer = ask_now("POST", f"{KEYS}/{row.pk}/rotate", cast.alice.headers, json=body)
        assert (answer.status, answer.code) == (422, "invalid")

    def test_an_expired_one(self, cast: Cast) -> None:
        past = timezone.now() - timedelta(hours=1)
        row = keys.create_key(cast.team, "ci", Role.MEMBER, expires=past)[0]
        answer = ask_now("POST", f"{KEYS}/{row.pk}/rotate", cast.alice.headers, json={})
        assert (answer.status, answer.code) == (409, "key_retired")


class TestRevoking:
    def test_for_good_and_twice(self, cast: Cast) -> None:
        made = make(cast.alice).json
        for _ in range(2):
            answer = ask_now("POST", f"{KEYS}/{made['id']}/revoke", cast.alice.headers)
            assert (answer.status, answer.json["revoked"]) == (200, True)
        assert ask_now("GET", "/api/v1/runs", bearer(made["key"])).status == 401
        assert AuditEntry.objects.filter(action="key.revoked").count() == 1

    def test_another_teams_key_is_not_there(self, cast: Cast) -> None:
        row = keys.create_key(cast.team, "ci", Role.MEMBER)[0]
        for method, what in (("GET", ""), ("POST", "/rotate"), ("POST", "/revoke")):
            answer = ask_now(method, f"{KEYS}/{row.pk}{what}", cast.charlie.headers)
            assert (answer.status, answer.code) == (404, "not_found")
        assert keys.usable(ApiKey.objects.get(pk=row.pk))
        listed = ask_now("GET", KEYS, cast.charlie.headers).body.decode()
        assert row.prefix not in listed


def test_the_list_is_read_page_by_page(cast: Cast) -> None:
    for _ in range(3):
        keys.create_key(cast.team, "ci", Role.MEMBER, scopes=[Scope.READ])
    total = ApiKey.objects.for_team(cast.team).count()
    ids, url = [], f"{KEYS}?limit=2"
    while url:
        page = ask_now("GET", url, cast.alice.headers).json
        ids += [row["id"] for row in page["results"]]
        url = (page["next"] or "").replace("http://localhost", "")
    assert len(ids) == len(set(ids)) == total
    assert ids == sorted(ids, reverse=True)
    answer = ask_now("GET", f"{KEYS}?cursor=rubbish", cast.alice.headers)
    assert (answer.status, answer.code) == (400, "bad_cursor")
