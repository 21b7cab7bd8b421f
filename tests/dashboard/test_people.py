"""The team page: who sees what of it, inviting, and looking at another of one's teams."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agui_host.teams.access import invitations
from agui_host.teams.models import Invitation, Membership, Role
from runs.lifecycle.usage import rollup
from runs.models import Run
from tests.cast import Cast, start
from tests.dashboard.conftest import SURE, Browse
from tests.runs.jobs import FAILED, FINISHED
from tests.runs.usage.test_usage import run_of

EVE = "eve@example.com"


def test_everybody_sees_the_members_and_managers_the_rest(cast: Cast, browse: Browse) -> None:
    invitations.send(cast.team, EVE, Role.VIEWER, by="user:alice")
    for actor, manages in ((cast.alice, True), (cast.bob, False), (cast.vera, False)):
        page = browse(actor).get("/team/").content.decode()
        assert "alice" in page
        assert "charlie" not in page
        for word in (EVE, "Invite a person", "Revoke"):
            assert (word in page) is manages
    assert EVE not in browse(cast.charlie).get("/team/").content.decode()


def test_alice_invites_and_revokes(cast: Cast, browse: Browse) -> None:
    browser = browse(cast.alice)
    form = {"email": EVE, "role": "viewer"}
    assert browser.post("/team/invitations", form)["Location"] == "/team/"
    assert mail.outbox[-1].to == [EVE]
    assert "http://127.0.0.1:8000/invitations/" in str(mail.outbox[-1].body)
    page = browser.get("/team/").content.decode()
    assert f"on its way to {EVE}" in page
    row = Invitation.objects.get()
    assert browser.post(f"/team/invitations/{row.pk}/revoke", SURE)["Location"] == "/team/"
    row.refresh_from_db()
    assert row.revoked_at
    assert EVE not in browser.get("/team/").content.decode().replace("on its way to", "")


@pytest.mark.parametrize("form", [{"email": "x", "role": "member"}, {"email": EVE, "role": "king"}])
def test_a_wrong_form_is_said(cast: Cast, browse: Browse, form: dict[str, str]) -> None:
    answer = browse(cast.alice).post("/team/invitations", form)
    assert answer.status_code == 422
    assert 'role="alert"' in answer.content.decode()
    assert not Invitation.objects.exists()


def test_others_invite_and_revoke_nobody(cast: Cast, browse: Browse) -> None:
    row, _ = invitations.send(cast.team, EVE, Role.VIEWER, by="user:alice")
    bob = browse(cast.bob)
    assert bob.post("/team/invitations", {"email": "f@x.org", "role": "viewer"}).status_code == 422
    assert bob.post(f"/team/invitations/{row.pk}/revoke", SURE).status_code == 403
    assert browse(cast.charlie).post(f"/team/invitations/{row.pk}/revoke", SURE).status_code == 404
    row.refresh_from_db()
    assert row.revoked_at is None
    assert Invitation.objects.count() == 1


def test_roles_are_set_and_members_removed(cast: Cast, browse: Browse) -> None:
    alice, bob = browse(cast.alice), Membership.objects.get(user=cast.bob.user)
    place = f"/team/members/{bob.pk}"
    assert alice.post(f"{place}/role", {"role": "admin"})["Location"] == "/team/"
    assert alice.post(f"{place}/role", {"role": "king"}).status_code == 422
    bob.refresh_from_db()
    assert bob.role == Role.ADMIN
    owner = Membership.objects.get(user=cast.alice.user)
    for what in ("role", "remove"):
        mine = f"/team/members/{owner.pk}/{what}"
        assert browse(cast.bob).post(mine, {"role": "viewer"}).status_code == 403
        assert browse(cast.vera).post(f"{place}/{what}", {"role": "owner"}).status_code == 403
        assert browse(cast.charlie).post(f"{place}/{what}", {"role": "owner"}).status_code == 404
        assert alice.post(mine, {"role": "viewer"}).status_code == 409
    assert alice.post(f"{place}/remove")["Location"] == "/team/"
    assert not Membership.objects.filter(pk=bob.pk).exists()
    assert browse(cast.bob).get("/runs/").status_code == 403


def test_one_looks_at_another_of_ones_teams(cast: Cast, browse: Browse) -> None:
    ours, theirs = start(cast.alice), start(cast.charlie)
    browser = browse(cast.bob)
    assert "Switch" not in browser.get("/runs/").content.decode()
    assert browser.post("/team/switch", {"team": cast.other_team.pk}).status_code == 404
    Membership.objects.create(user=cast.bob.user, team=cast.other_team, role=Role.VIEWER)
    page = browser.get("/runs/").content.decode()
    assert "Switch" in page
    assert (str(ours.pk) in page, str(theirs.pk) in page) == (True, False)
    assert browser.post("/team/switch", {"team": cast.other_team.pk})["Location"] == "/runs/"
    page = browser.get("/runs/").content.decode()
    assert (str(ours.pk) in page, str(theirs.pk) in page) == (False, True)
    assert browser.get(f"/runs/{ours.pk}/").status_code == 404
    listed = browser.get("/api/v1/runs", headers={"accept": "application/json"}).json()
    assert [run["id"] for run in listed["results"]] == [str(theirs.pk)]
    assert browser.post("/team/switch", {"team": "x"}).status_code == 422
    Membership.objects.filter(user=cast.bob.user, team=cast.other_team).delete()
    assert str(ours.pk) in browser.get("/runs/").content.decode()


def test_roles_in_words_last_seen_and_cost(
    cast: Cast, browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_of(cast.bob, cast.echo, FINISHED)
    run_of(cast.bob, cast.echo, FAILED)
    run_of(cast.charlie, None, FINISHED)
    old = run_of(cast.vera, cast.echo, FINISHED)
    Run.objects.filter(pk=old.pk, team=old.team).update(
        created_at=timezone.now() - timedelta(days=32)
    )
    rollup.run_once(60)
    rows = Membership.objects.filter(team=cast.team)
    rows.filter(user=cast.bob.user).update(last_seen_at=timezone.now() - timedelta(hours=3))
    rows.filter(user=cast.vera.user).update(last_seen_at=None)
    page = browse(cast.alice).get("/team/").content.decode()
    lines = {line.split("</bdi>")[0]: line for line in page.split("<td><bdi>")[1:]}
    month = f"{timezone.now():%B}"
    assert f"Cost in {month}" in page
    assert "$2.00" in lines["bob"]
    assert "?started_by=user%3Abob&since=" in lines["bob"]
    assert "3 h ago" in lines["bob"]
    assert "$" not in lines["vera"] + lines["alice"]
    assert "never" in lines["vera"]
    assert "never" not in lines["alice"]
    assert "<strong>Admin</strong>: all that a member can, and cancel anybody" in page
    for_others = browse(cast.bob).get("/team/").content.decode()
    assert "Last seen" not in for_others
    assert "$2.00" in for_others, "as on the page of usage"


def test_the_queries_do_not_grow_with_people(cast: Cast, browse: Browse) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as log:
            assert browse(cast.alice).get("/team/").status_code == 200
        return len(log)

    queries()
    few = queries()
    people = User.objects.bulk_create([User(username=f"p{number}") for number in range(60)])
    Membership.objects.bulk_create([Membership(team=cast.team, user=each) for each in people])
    assert queries() == few


def test_a_visit_is_noted_for_the_team_that_one_visits(cast: Cast, browse: Browse) -> None:
    other = Membership.objects.create(team=cast.other_team, user=cast.bob.user)
    mine = Membership.objects.filter(team=cast.team, user=cast.bob.user)
    mine.update(last_seen_at=timezone.now() - timedelta(hours=3))
    browse(cast.bob).get("/runs/")
    first = mine.get().last_seen_at
    assert first is not None
    assert timezone.now() - first < timedelta(minutes=1)
    browse(cast.bob).get("/runs/")
    assert mine.get().last_seen_at == first, "a visit soon after is not written"
    other.refresh_from_db()
    assert other.last_seen_at is None
