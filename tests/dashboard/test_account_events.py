"""What people do with their accounts is in their teams' logs; sessions are seen and ended."""

import json
import re
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.contrib.admin import site
from django.contrib.auth.models import User
from django.test import Client

from agui_host.teams import authentication
from agui_host.teams.admin import Watched
from agui_host.teams.models import AuditEntry, Membership, Role
from tests.cast import Cast, start
from tests.dashboard.conftest import SURE, Browse
from tests.dashboard.signing import (
    DORA,
    PASSWORD,
    browser,
    is_signed_in,
    mailed_code,
    person,
    sign_in,
    totp,
)  # fmt: skip

pytestmark = pytest.mark.usefixtures("no_attempts_yet")
MACHINE = {"accept": "application/json"}


@pytest.fixture
def dora(cast: Cast) -> User:
    user = person("dora")
    Membership.objects.create(user=user, team=cast.team, role=Role.MEMBER)
    return user


def lines(cast: Cast, user: User) -> list[tuple[str, Any]]:
    rows = AuditEntry.objects.for_team(cast.team).filter(actor=f"user:{user.pk}").order_by("id")
    assert {row.who for row in rows} == {f"user:{user.username}"}
    return [(row.action, json.loads(row.details)) for row in rows]


@pytest.mark.django_db(transaction=True)
def test_every_change_of_an_account_is_in_the_log(cast: Cast, dora: User) -> None:
    client = browser()
    sign_in(client, "dora")
    client.post("/account/reauthenticate/", {"password": PASSWORD})
    client.post("/account/email/", {"email": DORA, "action_add": ""})
    client.post("/account/verify/", {"code": mailed_code()})
    new = f"{PASSWORD}-2"
    form = {"oldpassword": PASSWORD, "password1": new, "password2": new}
    client.post("/account/password/", form)
    place = client.get("/account/mfa/totp/activate/")
    if place.status_code == 302:
        client.post(place["Location"], {"password": new})
        place = client.get("/account/mfa/totp/activate/")
    client.post("/account/mfa/totp/activate/", {"code": totp(place.context["form"].secret)})
    client.post("/account/mfa/totp/deactivate/")
    client.post("/logout/")
    entries = lines(cast, dora)
    for line in (
        ("session.started", {}), ("email.verified", {"email": DORA}), ("password.changed", {}),
        ("factor.added", {"kind": "totp"}), ("factor.removed", {"kind": "totp"}),
        ("session.ended", {}),
    ):  # fmt: skip
        assert line in entries
    assert new not in str(entries)


def test_a_failed_sign_in_is_there_and_says_no_more_than_that(cast: Cast, dora: User) -> None:
    EmailAddress.objects.create(user=dora, email=DORA, verified=True, primary=True)
    for login in ("dora", DORA.upper(), "nobody-here"):
        assert sign_in(browser(), login, "wrong-password").status_code == 200
    rows = AuditEntry.objects.filter(action="session.refused")
    assert [(row.who, row.target, row.actor) for row in rows] == [("nobody", "dora", "")] * 2
    assert {row.team for row in rows} == {cast.team}
    assert "wrong-password" not in str([row.details for row in rows])


class TestSessions:
    def test_one_is_ended_from_another_browser(self, cast: Cast, dora: User) -> None:
        here, there = browser(), browser()
        for client in (here, there):
            sign_in(client, "dora")
        lost = authentication.resolve({}, {"sessionid": there.session.session_key or ""})
        page = here.get("/account/sessions/").content.decode()
        assert page.count("<strong>this one</strong>") == 1
        (ends,) = re.findall(r'action="(/account/sessions/\d+/end)"', page)
        assert browser().post(ends)["Location"].startswith("/login/")
        assert here.post(ends)["Location"] == "/account/sessions/"
        assert (is_signed_in(here), is_signed_in(there)) == (True, False)
        assert authentication.refreshed(lost) is None
        assert ("session.revoked", {"session": ends.split("/")[3]}) in lines(cast, dora)
        assert here.post(ends).status_code == 404

    def test_all_others_are_ended(self, cast: Cast, dora: User) -> None:
        here, there, elsewhere = browser(), browser(), browser()
        for client in (here, there, elsewhere):
            sign_in(client, "dora")
        assert here.post("/account/sessions/", SURE)["Location"] == "/account/sessions/"
        assert [is_signed_in(each) for each in (here, there, elsewhere)] == [True, False, False]

    def test_by_the_api_and_nobody_elses(self, cast: Cast, dora: User, browse: Browse) -> None:
        here, there = browser(), browser()
        for client in (here, there):
            sign_in(client, "dora")
        rows = here.get("/api/v1/sessions", headers=MACHINE).json()["sessions"]
        assert [row["current"] for row in rows] == [False, True]
        path = f"/api/v1/sessions/{rows[0]['id']}"
        own = {**MACHINE, "origin": "http://testserver"}
        bob = browse(cast.bob)
        assert bob.delete(path, headers=own).status_code == 404
        assert bob.get("/api/v1/sessions", headers=MACHINE).json() == {"sessions": []}
        assert here.delete(path, headers=own).status_code == 204
        assert (is_signed_in(here), is_signed_in(there)) == (True, False)
        key = {**MACHINE, "authorization": f"Bearer {cast.alice.key}"}
        assert Client().get("/api/v1/sessions", headers=key).status_code == 403


def test_what_operators_look_at_is_in_the_teams_log(cast: Cast) -> None:
    operator, run = Client(), start(cast.alice)
    root = User.objects.create_superuser("root")
    operator.force_login(root)
    for page in (
        f"runs/run/{run.pk}/change/", "runs/run/", f"teams/team/{cast.team.pk}/change/",
        f"auth/user/{cast.bob.user.pk}/change/", "teams/apikey/",
    ):  # fmt: skip
        assert operator.get(f"/admin/{page}").status_code == 200
    assert [(action, target) for action, target in _targets(cast, root)] == [
        ("admin.read", f"run:{run.pk}"), ("admin.listed", "run"),
        ("admin.read", f"team:{cast.team.pk}"), ("admin.read", f"user:{cast.bob.user.pk}"),
        ("admin.listed", "apikey"),
    ]  # fmt: skip
    listed = AuditEntry.objects.for_team(cast.other_team).get(action="admin.listed")
    assert (listed.target, json.loads(listed.details)) == ("apikey", {"rows": 1})


def test_every_page_of_the_admin_tells_the_teams() -> None:
    """Groups and jobs have no team; a job holds the id of its run."""
    unwatched = [
        model._meta.label for model, page in site._registry.items() if not isinstance(page, Watched)
    ]
    assert unwatched == ["auth.Group", "procrastinate.ProcrastinateJob"]


def test_what_operators_do_to_an_account_is_in_the_teams_log(cast: Cast) -> None:
    operator, root, run = Client(), User.objects.create_superuser("root"), start(cast.alice)
    operator.force_login(root)
    address = EmailAddress.objects.create(user=cast.bob.user, email="bob@example.com")
    factor = Authenticator.objects.create(user=cast.bob.user, type="totp", data={"secret": "s"})
    assert operator.get(f"/admin/mfa/authenticator/{factor.pk}/change/").status_code == 200
    for page in (f"account/emailaddress/{address.pk}", f"mfa/authenticator/{factor.pk}"):
        done = operator.post(f"/admin/{page}/delete/", {"post": "yes"})
        assert done.status_code == 302
    assert operator.get(f"/admin/events/journal/{run.pk}/change/").status_code == 200
    assert operator.get("/admin/events/journal/").status_code == 200
    assert operator.get("/admin/events/finding/").status_code == 200
    assert _targets(cast, root) == [
        ("admin.read", f"authenticator:{factor.pk}"),
        ("admin.deleted", f"emailaddress:{address.pk}"),
        ("admin.deleted", f"authenticator:{factor.pk}"),
        ("admin.read", f"journal:{run.pk}"), ("admin.listed", "journal"),
    ]  # fmt: skip


def _targets(cast: Cast, root: User) -> list[tuple[str, str]]:
    rows = AuditEntry.objects.for_team(cast.team).filter(actor=f"user:{root.pk}")
    return list(rows.order_by("id").values_list("action", "target"))


def test_a_passkey_is_offered_and_its_pages_are_there(cast: Cast, dora: User) -> None:
    page = browser().get("/login/").content.decode()
    assert 'id="passkey_login"' in page
    assert "webauthn.js" in page
    client = browser()
    assert (
        "publicKey"
        in client.get("/account/mfa/keys/login/", headers=MACHINE).json()["request_options"]
    )
    sign_in(client, "dora")
    assert "/account/mfa/keys/add/" in client.get("/account/mfa/").content.decode()
    assert client.get("/account/mfa/keys/").status_code == 200
