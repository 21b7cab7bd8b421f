"""The people of a team through the API: roles, removal, and never without an owner."""

import asyncio
import json
from typing import Any

import pytest
from django.contrib.auth.models import User

from agui_host.backends.postgres.bridge import db
from agui_host.teams.models import ApiKey, AuditEntry, Membership, Role, Team
from tests.asgi import Answer, ask, ask_now
from tests.cast import Actor, Cast, _person, bell, cast

__all__ = ["bell", "cast"]

pytestmark = pytest.mark.django_db(transaction=True)
MEMBERS = "/api/v1/members"
OWN = {"origin": "http://localhost"}


def url(actor: Actor, team: Team | None = None) -> str:
    row = Membership.objects.get(user=actor.user, team=team or actor.team)
    return f"{MEMBERS}/{row.pk}"


def change(by: dict[str, str], whom: Actor, role: str) -> Answer:
    return ask_now("PATCH", url(whom), {**by, **OWN}, json={"role": role})


def remove(by: dict[str, str], whom: Actor) -> Answer:
    return ask_now("DELETE", url(whom), {**by, **OWN})


def role_of(actor: Actor) -> str | None:
    roles = Membership.objects.filter(user=actor.user, team=actor.team)
    return roles.values_list("role", flat=True).first()


@pytest.fixture
def adam(cast: Cast) -> Actor:
    """An admin of Alice's team."""
    return _person("adam", cast.team, Role.ADMIN)


def test_everybody_sees_who_is_in_the_team(cast: Cast) -> None:
    User.objects.filter(username="bob").update(email="bob@example.com")
    for actor, expected in ((cast.alice, "bob@example.com"), (cast.vera, None)):
        rows = ask_now("GET", MEMBERS, actor.headers).json["results"]
        assert {row["user"]: row["role"] for row in rows} == {
            "alice": "owner", "bob": "member", "vera": "viewer",
        }  # fmt: skip
        assert [row["email"] for row in rows if row["user"] == "bob"] == [expected]
    assert ask_now("GET", url(cast.bob), cast.vera.headers).json["user"] == "bob"


@pytest.mark.parametrize("cursor", ["rubbish", "cD1ub3QtYS11dWlk", "cD0tMQ==", "bz0tNQ=="])
def test_a_page_that_was_never_handed_out(cast: Cast, cursor: str) -> None:
    answer = ask_now("GET", f"{MEMBERS}?cursor={cursor}", cast.alice.headers)
    assert (answer.status, answer.code) == (400, "bad_cursor")


def test_pages(cast: Cast) -> None:
    page = ask_now("GET", f"{MEMBERS}?limit=2", cast.alice.headers).json
    rest = ask_now("GET", page["next"].replace("http://localhost", ""), cast.alice.headers).json
    assert [row["user"] for row in (*page["results"], *rest["results"])] == ["vera", "bob", "alice"]


def test_a_role_is_changed(cast: Cast) -> None:
    answer = change(cast.alice.cookie, cast.vera, "member")
    assert (answer.status, answer.json["role"], role_of(cast.vera)) == (200, "member", "member")
    assert change(cast.alice.cookie, cast.vera, "member").status == 200
    line = AuditEntry.objects.get(action="member.changed")
    assert (line.who, line.target) == ("user:alice", "vera")


@pytest.mark.parametrize("body", [{}, {"role": "emperor"}, {"role": None}, []])
def test_what_is_no_role(cast: Cast, body: Any) -> None:
    answer = ask_now("PATCH", url(cast.bob), cast.alice.headers, json=body)
    assert (answer.status, answer.code) == (422, "invalid")


def test_members_and_viewers_change_nobody(cast: Cast) -> None:
    for by in (cast.bob, cast.vera):
        for answer in (change(by.headers, cast.bob, "owner"), remove(by.headers, cast.alice)):
            assert (answer.status, answer.code) == (403, "forbidden")
    assert (role_of(cast.bob), role_of(cast.alice)) == ("member", "owner")


def test_an_admin_reaches_no_owner(cast: Cast, adam: Actor) -> None:
    for answer in (
        change(adam.cookie, cast.bob, "owner"),
        change(adam.cookie, adam, "owner"),
        change(adam.cookie, cast.alice, "member"),
        remove(adam.cookie, cast.alice),
    ):
        assert (answer.status, answer.code) == (403, "forbidden")
    assert change(adam.cookie, cast.bob, "admin").status == 200
    assert remove(adam.cookie, cast.bob).status == 200


def test_everybody_may_leave(cast: Cast) -> None:
    assert remove(cast.vera.cookie, cast.vera).status == 200
    assert role_of(cast.vera) is None
    assert ask_now("GET", MEMBERS, cast.vera.cookie).status == 403
    # the key belongs to the team, and is not the person
    assert remove(cast.vera.headers, cast.bob).status == 403


def test_the_last_owner_stays(cast: Cast) -> None:
    for answer in (
        change(cast.alice.cookie, cast.alice, "admin"),
        remove(cast.alice.cookie, cast.alice),
    ):
        assert (answer.status, answer.code) == (409, "last_owner")
    other = _person("olga", cast.team, Role.OWNER)
    User.objects.filter(username="olga").update(is_active=False)
    assert remove(cast.alice.cookie, cast.alice).status == 409, "an owner who cannot sign in"
    User.objects.filter(username="olga").update(is_active=True)
    assert remove(cast.alice.cookie, cast.alice).status == 200
    assert change(other.cookie, other, "viewer").status == 409


@pytest.mark.parametrize("how", ["DELETE", "PATCH"])
async def test_of_two_owners_who_remove_each_other_one_stays(cast: Cast, how: str) -> None:
    for attempt in range(5):
        pair = [await db(_person, f"{name}{attempt}", cast.team, Role.OWNER) for name in "ab"]
        await db(Membership.objects.filter(user=cast.alice.user).delete)
        urls = [await db(url, actor) for actor in pair]
        body = {"role": "viewer"} if how == "PATCH" else None
        answers = await asyncio.gather(
            *(
                ask(how, other, {**actor.cookie, **OWN}, json=body)
                for actor, other in zip(pair, reversed(urls), strict=True)
            )
        )
        done, refused = sorted(answer.status for answer in answers)
        assert (done, refused) in ((200, 403), (200, 401)), attempt
        owners = Membership.objects.filter(team=cast.team, role=Role.OWNER)
        assert await db(owners.count) == 1
        await db(owners.delete)


def test_another_teams_people_are_not_there(cast: Cast) -> None:
    for method, body in (("GET", None), ("PATCH", {"role": "viewer"}), ("DELETE", None)):
        answer = ask_now(method, url(cast.bob), cast.charlie.headers, json=body)
        assert (answer.status, answer.code) == (404, "not_found")
    assert role_of(cast.bob) == "member"
    assert ask_now("GET", f"{MEMBERS}/{10**30}", cast.alice.headers).status == 404


class TestTeams:
    def test_a_persons_and_a_keys(self, cast: Cast) -> None:
        Membership.objects.create(user=cast.alice.user, team=cast.other_team, role=Role.VIEWER)
        rows = ask_now("GET", "/api/v1/teams", cast.alice.cookie).json["results"]
        assert [(row["slug"], row["role"], row["current"]) for row in rows] == [
            ("acme", "owner", True),
            ("globex", "viewer", False),
        ]
        rows = ask_now("GET", "/api/v1/teams", cast.bob.headers).json["results"]
        assert [(row["slug"], row["role"]) for row in rows] == [("acme", "member")]

    def test_another_name(self, cast: Cast) -> None:
        address = f"/api/v1/teams/{cast.team.pk}"

        def patch(by: Actor, **body: Any) -> int:
            return ask_now("PATCH", address, by.headers, json=body).status

        assert [patch(by, name="x") for by in (cast.bob, cast.charlie)] == [403, 404]
        assert [patch(cast.alice, name=bad) for bad in ("", " ", "x" * 121, None)] == [422] * 4
        assert patch(cast.alice) == 422
        assert patch(cast.alice, name="Acme Ltd") == 200
        row = ask_now("GET", "/api/v1/teams", cast.bob.headers).json["results"][0]
        assert (row["name"], row["slug"]) == ("Acme Ltd", "acme")
        line = AuditEntry.objects.get(action="team.renamed")
        assert json.loads(line.details) == {"name": "Acme Ltd", "was": "Acme"}

    def test_managers_see_when_people_were_here(self, cast: Cast) -> None:
        def absences(by: Actor) -> set[bool]:
            rows = ask_now("GET", "/api/v1/members", by.headers).json["results"]
            return {row["last_seen_at"] is None for row in rows}

        assert (absences(cast.alice), absences(cast.bob)) == ({False}, {True})

    def test_another_time_zone(self, cast: Cast) -> None:
        address = f"/api/v1/teams/{cast.team.pk}"
        ApiKey.objects.filter(prefix=cast.alice.key_prefix).update(role=Role.ADMIN)

        def patch(**body: Any) -> int:
            return ask_now("PATCH", address, cast.alice.headers, json=body).status

        assert patch(time_zone="Mars/Olympus") == 422
        assert patch(time_zone="Europe/Berlin", name="Acme GmbH") == 200
        assert patch(time_zone="Europe/Berlin", key_days=3) == 403, "rules are the owners'"
        row = ask_now("GET", "/api/v1/teams", cast.bob.headers).json["results"][0]
        assert (row["time_zone"], row["key_days"]) == ("Europe/Berlin", None)
        line = AuditEntry.objects.get(action="team.time_zone")
        assert json.loads(line.details) == {"time_zone": "Europe/Berlin", "was": "UTC"}
        schedule = ask_now(
            "POST", "/api/v1/schedules", cast.bob.headers, json={"cron": "0 9 * * *"}
        ).json
        assert schedule["time_zone"] == "Europe/Berlin"

    def test_archiving_shuts_it(self, cast: Cast) -> None:
        address = f"/api/v1/teams/{cast.team.pk}/archive"
        assert ask_now("POST", address, cast.charlie.headers).status == 404
        assert ask_now("POST", address, cast.bob.headers).status == 403
        assert ask_now("POST", address, cast.alice.headers).status == 204
        assert ask_now("GET", "/api/v1/teams", cast.alice.headers).status == 401
        assert ask_now("GET", "/api/v1/teams", cast.bob.cookie).status == 403
        assert ask_now("GET", "/api/v1/teams", cast.charlie.headers).status == 200
        assert AuditEntry.objects.get(action="team.archived").team == cast.team
