"""The pages of the team's keys, of what it shares, of its rules, and of taking somebody out."""

import re
import time
from html import unescape
from typing import Any

import jwt
import pytest

from agui_host.teams import authentication, keys
from agui_host.teams.access import api_keys
from agui_host.teams.authentication import Principal
from agui_host.teams.models import ApiKey, Membership, Role
from runs.access import sharing
from runs.models import Grant, Thread, Visibility
from tests.cast import Cast, Register, new_agent, register, start
from tests.dashboard.conftest import SURE, Browse

__all__ = ["register"]

KEYS = "/team/keys/"
KEY = re.compile(r"agui_[A-Za-z0-9]{8}\.[A-Za-z0-9]{32}")
FORM = {"name": "nightly", "role": "member", "scopes": ["read", "run"], "until": ""}


def test_a_key_is_made_and_shown_once(cast: Cast, browse: Browse) -> None:
    browser = browse(cast.alice)
    answer = browser.post(KEYS, FORM)
    assert answer["Cache-Control"] == "private, no-store" or "no-store" in answer["Cache-Control"]
    new_key = KEY.search(answer.content.decode())
    assert new_key
    row = keys.find(new_key[0])
    assert row is not None
    assert (row.name, row.role, row.scopes, row.agents) == (
        "nightly", "member", ["read", "run"], None,
    )  # fmt: skip
    assert row.created_by == cast.alice.user
    page = browser.get(KEYS).content.decode()
    assert row.prefix in page
    assert not KEY.search(page)


def test_a_keys_agents_are_ticked(cast: Cast, browse: Browse, register: Register) -> None:
    register("other", lambda ctx: ctx.text)
    new_agent(cast.other_team, "theirs", lambda ctx: ctx.text)
    browser = browse(cast.alice)
    boxes = re.findall(r'type="checkbox" name="agents" value="([^"]+)"', _text(browser.get(KEYS)))
    assert boxes == ["echo", "other"]
    text = _text(browser.post(KEYS, FORM | {"agents": ["other"]}))
    new_key = KEY.search(text)
    assert new_key
    row = keys.find(new_key[0])
    assert row is not None
    assert row.agents == ["other"]
    assert "/agui/agent/other/run" in text
    assert "/agui/agent/echo/run" not in text
    for wrong in ("theirs", "nobody"):
        assert browser.post(KEYS, FORM | {"agents": [wrong]}).status_code == 422


@pytest.mark.parametrize(
    ("scopes", "role", "hints"),
    [
        (["read", "run"], "member", {"/agui/agent/echo/run"}),
        (["read", "run"], "viewer", {"/api/v1/runs?limit=5"}),
        (["read"], "member", {"/api/v1/runs?limit=5"}),
        (["ingest"], "member", set()),
    ],
)
def test_snippets_are_of_what_the_key_can_do(
    cast: Cast, browse: Browse, scopes: list[str], role: str, hints: set[str]
) -> None:
    text = unescape(_text(browse(cast.alice).post(KEYS, FORM | {"scopes": scopes, "role": role})))
    paths = re.findall(r'http://127.0.0.1:8000(/[^"\'\s]+)', text)
    assert set(paths) == hints
    assert len(KEY.findall(text)) == 1 + 2 * bool(hints)


def _text(answer: Any) -> str:
    return str(answer.content.decode())


def test_rotated_and_revoked(cast: Cast, browse: Browse) -> None:
    browser = browse(cast.alice)
    row, key = keys.create_key(cast.team, "nightly", Role.MEMBER)
    new_key = KEY.search(browser.post(f"{KEYS}{row.pk}/rotate", {"overlap": "0"}).content.decode())
    assert new_key
    assert keys.find(key) is None
    new = keys.find(new_key[0])
    assert new is not None
    assert browser.post(f"{KEYS}{new.pk}/revoke", SURE)["Location"] == KEYS
    assert keys.find(new_key[0]) is None
    assert browser.post(f"{KEYS}{new.pk}/rotate").status_code == 409
    assert browser.post(f"{KEYS}{row.pk}/rotate", {"overlap": "-1"}).status_code == 422


def test_a_secret_for_end_users_is_made_and_shown_once(cast: Cast, browse: Browse) -> None:
    row, key = keys.create_key(cast.team, "product", Role.MEMBER)
    place, former = f"{KEYS}{row.pk}/end-users", ""
    for _ in range(2):
        assert "refused at once" in browse(cast.alice).post(place).content.decode()
        page = browse(cast.alice).post(place, SURE).content.decode()
        secret = re.search(r"<code>([\w-]{43})</code>", page)
        assert secret
        assert secret[1] != former
        assert secret[1] not in browse(cast.alice).get(KEYS).content.decode()
        former = secret[1]
        token = jwt.encode({"sub": "dora", "exp": int(time.time()) + 60}, former, "HS256")
        headers = {"authorization": f"Bearer {key}", "x-agui-user": token}
        assert authentication.resolve(headers, {}).end_user is not None
    for actor in (cast.bob, cast.charlie):
        assert browse(actor).post(place, SURE).status_code in (403, 404)
    assert authentication.resolve(headers, {}).end_user is not None
    keys.revoke(ApiKey.objects.for_team(cast.team).get(pk=row.pk), "host")
    assert browse(cast.alice).post(place, SURE).status_code == 409


@pytest.mark.parametrize(
    "wrong",
    [{"name": ""}, {"role": "king"}, {"scopes": ["all"]}, {"scopes": []}, {"agents": "a/b"},
     {"until": "2020-01-01"}, {"until": "soon"}],
    ids=str,
)  # fmt: skip
def test_a_wrong_form_is_said(cast: Cast, browse: Browse, wrong: dict[str, str]) -> None:
    before = ApiKey.objects.count()
    answer = browse(cast.alice).post(KEYS, FORM | wrong)
    assert answer.status_code == 422
    assert 'role="alert"' in answer.content.decode()
    assert ApiKey.objects.count() == before


def test_others_make_and_end_no_key(cast: Cast, browse: Browse) -> None:
    row, _ = keys.create_key(cast.team, "secret-name", Role.MEMBER)
    for actor in (cast.bob, cast.vera, cast.charlie):
        browser = browse(actor)
        assert "secret-name" not in browser.get(KEYS).content.decode()
        assert browser.post(f"{KEYS}{row.pk}/revoke", SURE).status_code in (403, 404)
        assert browser.post(f"{KEYS}{row.pk}/rotate").status_code in (403, 404)
    assert browse(cast.bob).post(KEYS, FORM).status_code == 422
    row.refresh_from_db()
    assert not row.revoked


def test_owners_set_the_rules(cast: Cast, browse: Browse) -> None:
    assert (
        browse(cast.alice).post("/team/rules", {"key_days": "30"})["Location"] == "/team/settings/"
    )
    cast.team.refresh_from_db()
    assert cast.team.key_days == 30
    for text in ("0", "x", "99999"):
        assert browse(cast.alice).post("/team/rules", {"key_days": text}).status_code == 422
    assert browse(cast.bob).post("/team/rules", {"key_days": ""}).status_code == 403
    assert "Team rules" not in browse(cast.bob).get("/team/settings/").content.decode()
    cast.team.refresh_from_db()
    assert cast.team.key_days == 30


def test_the_removal_asks_about_keys(cast: Cast, browse: Browse) -> None:
    member = Membership.objects.get(user=cast.bob.user)
    Membership.objects.filter(pk=member.pk).update(role=Role.ADMIN)
    bob = Principal("user", "bob", cast.team, Role.ADMIN, cast.bob.user.pk)
    row, key = api_keys.create(bob, "nightly", Role.MEMBER, scopes=["read"])
    place = f"/team/members/{member.pk}/remove"
    alice = browse(cast.alice)
    page = alice.get(place).content.decode()
    assert "nightly" in page
    assert row.prefix in page
    assert browse(cast.vera).get(place).status_code == 403
    assert browse(cast.charlie).get(place).status_code == 404
    assert alice.post(place, {"keys": "some"}).status_code == 422
    assert keys.find(key)
    team_page = alice.post(place, {"keys": "revoke"}, follow=True).content.decode()
    assert f"nightly ({row.prefix})" in team_page
    assert keys.find(key) is None
    assert not Membership.objects.filter(pk=member.pk).exists()


def test_owners_see_and_end_what_is_shared(cast: Cast, browse: Browse) -> None:
    words = [{"role": "user", "content": "Only Bob reads this."}]
    run = start(cast.bob, threadId="his-own", messages=words)
    Thread.objects.update(visibility=Visibility.PRIVATE)
    grant, _ = sharing.share(cast.bob.principal, run, sharing.To("vera"), sharing.Terms())
    for actor, sees in ((cast.alice, True), (cast.bob, True), (cast.vera, False)):
        assert ("vera</bdi></td>" in browse(actor).get("/team/shared/").content.decode()) is sees
    for actor, face in ((cast.alice, "A private run"), (cast.bob, words[0]["content"])):
        text = browse(actor).get("/team/shared/").content.decode()
        assert [each in text for each in ("A private run", words[0]["content"])] == [
            each == face for each in ("A private run", words[0]["content"])
        ]
        assert str(run.run_id) not in text
    revoke = f"/team/shared/{grant.pk}/revoke"
    page = browse(cast.alice).post(revoke)
    assert (page.status_code, Grant.objects.get().is_live()) == (200, True)
    assert 'name="confirmed" value="yes"' in page.content.decode()
    assert browse(cast.charlie).post(revoke, SURE).status_code == 404
    assert browse(cast.alice).post(revoke, SURE)["Location"] == "/team/shared/"
    assert not Grant.objects.get().is_live()
