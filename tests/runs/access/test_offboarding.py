"""Whoever leaves a team, or a key that is revoked, gets in by none of the ways they had before.

A way more is a function and a line in ``WAYS``: it prepares Bob's access and returns what tries it.
"""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client

from agui_host.protocol.errors import HostError
from agui_host.teams import keys
from agui_host.teams.access import api_keys, invitations, members, tickets
from agui_host.teams.authentication import Bound, Principal, resolve
from agui_host.teams.models import ApiKey, AuditEntry, Invitation, Membership, Role, Scope
from runs.access import access, sharing
from runs.lifecycle import lifecycle
from runs.models import Grant, Run, Thread, Visibility
from tests.asgi import ask_now
from tests.cast import Actor, Cast, _person, bell, cast, start

__all__ = ["bell", "cast"]

pytestmark = pytest.mark.django_db(transaction=True)
OWN = {"origin": "http://localhost"}
Try = Callable[[], bool]


def bob_is(cast: Cast, role: Role) -> Principal:
    """Bob as his browser comes, in another role."""
    Membership.objects.filter(user=cast.bob.user, team=cast.team).update(role=role)
    return Principal("user", "bob", cast.team, role, cast.bob.user.pk, session_key=cast.bob.session)


def private(cast: Cast, name: str, owner: Actor) -> Run:
    run = start(owner, threadId=name)
    Thread.objects.filter(pk=run.thread_id).update(visibility=Visibility.PRIVATE)
    return run


def sees(headers: dict[str, str], run: Run) -> Try:
    return lambda: ask_now("GET", f"/api/v1/runs/{run.pk}", headers).status == 200


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def session(cast: Cast) -> Try:
    return sees(cast.bob.cookie, start(cast.alice))


def his_key(cast: Cast) -> Try:
    _, key = api_keys.create(bob_is(cast, Role.ADMIN), "mine", Role.MEMBER, scopes=["read"])
    return sees(bearer(key), start(cast.alice))


def key_of_his_key(cast: Cast) -> Try:
    admin = ["read", "run", "admin"]
    _, key = api_keys.create(bob_is(cast, Role.ADMIN), "mine", Role.ADMIN, scopes=admin)
    _, minted = api_keys.create(resolve(bearer(key), {}), "ours", Role.MEMBER, scopes=["read"])
    return sees(bearer(minted), start(cast.alice))


def key_he_rotated(cast: Cast) -> Try:
    from datetime import timedelta

    old, _ = keys.create_key(cast.team, "old", Role.MEMBER)
    _, key = api_keys.rotate(bob_is(cast, Role.ADMIN), old.pk, timedelta(0))
    return sees(bearer(key), start(cast.alice))


def ticket(cast: Cast) -> Try:
    run = start(cast.alice)
    principal = bob_is(cast, Role.MEMBER)

    def opens() -> bool:
        try:
            return bool(tickets.redeem(text, run.pk, again=True))
        except HostError:
            return False

    text = tickets.mint(principal, Bound(run=run.pk))
    return opens


def grant_on_a_private_thread(cast: Cast) -> Try:
    """Read as a member of another team, in which he stays; also a run that comes later."""
    first = private(cast, "hers", cast.alice)
    lifecycle.cancel(first)
    sharing.share(cast.alice.principal, first.thread, sharing.To("bob"), sharing.Terms())
    Membership.objects.create(team=cast.other_team, user=cast.bob.user, role=Role.VIEWER)
    Membership.objects.filter(user=cast.bob.user, team=cast.team).update(role=Role.VIEWER)

    def reads() -> bool:
        later = start(cast.alice, threadId="hers")
        lifecycle.cancel(later)
        return any(sees(cast.bob.cookie, run)() for run in (first, later))

    return reads


def grant_of_another_team(cast: Cast) -> Try:
    """Globex named him as a member of Acme."""
    run = start(cast.charlie)
    to = sharing.To("bob", cast.team.pk)
    sharing.share(cast.charlie.principal, run, to, sharing.Terms())
    return sees(cast.bob.cookie, run)


def shown_by(cast: Cast, sharer: Principal, run: Run) -> Try:
    _, token = sharing.share(sharer, run, sharing.To(), sharing.Terms())
    return lambda: Client().get(f"/shared/{token}/").status_code == 200


def link_he_made(cast: Cast) -> Try:
    return shown_by(cast, bob_is(cast, Role.MEMBER), start(cast.alice))


def link_his_key_made(cast: Cast) -> Try:
    admin = ["read", "run", "admin"]
    _, key = api_keys.create(bob_is(cast, Role.ADMIN), "mine", Role.ADMIN, scopes=admin)
    return shown_by(cast, resolve(bearer(key), {}), start(cast.alice))


def grant_to_his_other_team(cast: Cast) -> Try:
    run = start(cast.alice)
    to = sharing.To(team=cast.other_team.pk)
    sharing.share(bob_is(cast, Role.MEMBER), run, to, sharing.Terms())
    return sees(cast.charlie.headers, run)


def invitation_he_sent(cast: Cast) -> Try:
    invitations.invite(bob_is(cast, Role.ADMIN), "eve@example.com", Role.ADMIN)
    link = str(mail.outbox[-1].body).split("/invitations/")[1].split("/")[0]
    return lambda: Client().get(f"/invitations/{link}/").status_code == 200


def his_private_thread(cast: Cast) -> Try:
    return sees(cast.bob.cookie, private(cast, "his", cast.bob))


WAYS = [
    session, his_key, key_of_his_key, key_he_rotated, ticket, grant_on_a_private_thread,
    grant_of_another_team, link_he_made, link_his_key_made, grant_to_his_other_team,
    invitation_he_sent, his_private_thread,
]  # fmt: skip


def by_an_owner(cast: Cast) -> None:
    row = Membership.objects.get(team=cast.team, user=cast.bob.user)
    answer = ask_now("DELETE", f"/api/v1/members/{row.pk}", {**cast.alice.cookie, **OWN})
    assert answer.status == 200, answer.json


def by_an_operator(cast: Cast) -> None:
    operator = Client()
    operator.force_login(User.objects.create_superuser("root"))
    row = Membership.objects.get(team=cast.team, user=cast.bob.user)
    done = operator.post(f"/admin/teams/membership/{row.pk}/delete/", {"post": "yes"})
    assert done.status_code == 302


@pytest.mark.parametrize("act", [by_an_owner, by_an_operator], ids=lambda act: act.__name__)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_whoever_is_removed_gets_in_no_more(
    cast: Cast, bell: None, way: Callable[[Cast], Try], act: Callable[[Cast], None]
) -> None:
    opens = way(cast)
    assert opens()
    act(cast)
    assert not opens()
    assert not Grant.objects.filter(to_user=cast.bob.user, revoked_at=None).exists()


def test_a_reused_login_opens_nothing(cast: Cast, bell: None) -> None:
    """Another person gets Bob's login in Bob's team: nothing that was his is theirs."""
    hidden, ours = private(cast, "his", cast.bob), start(cast.bob, threadId="ours")
    sharing.share(cast.bob.principal, ours, sharing.To(), sharing.Terms())
    for path, body in (("comments", {"text": "Mine."}), ("feedback", {"thumb": "up"})):
        method = "PUT" if path == "feedback" else "POST"
        address = f"/api/v1/runs/{ours.pk}/{path}"
        assert ask_now(method, address, cast.bob.headers, json=body).status < 300
    by_an_owner(cast)
    User.objects.filter(pk=cast.bob.user.pk).update(username="bob-who-left")
    new = _person("bob", cast.team, Role.MEMBER)
    assert not sees(new.cookie, hidden)()
    assert sees(new.cookie, ours)()
    principal = Principal("user", "bob", cast.team, Role.MEMBER, new.user.pk)
    assert not access.may(principal, "cancel", ours)
    assert not access.is_creator(principal, ours.thread)
    assert not access.visible_threads(principal).filter(thread_id="his").exists()
    thumb = {**new.cookie, **OWN}
    for form in ("down",):
        answer = ask_now("PUT", f"/api/v1/runs/{ours.pk}/feedback", thumb, json={"thumb": form})
        assert answer.status == 200
    assert ours.feedback.count() == 2
    who = {line.who: line.actor for line in AuditEntry.objects.for_team(cast.team)}
    assert who["user:alice"] == f"user:{cast.alice.user.pk}"


class TestKeys:
    def test_the_removal_lists_and_revokes_them(self, cast: Cast, bell: None) -> None:
        bob = bob_is(cast, Role.ADMIN)
        row, key = api_keys.create(bob, "nightly", Role.MEMBER, scopes=["read"])
        gone, _ = api_keys.create(bob, "gone", Role.MEMBER, scopes=["read"])
        keys.revoke(gone)
        place = f"/api/v1/members/{Membership.objects.get(user=cast.bob.user).pk}"
        wrong = ask_now("DELETE", f"{place}?keys=some", {**cast.alice.cookie, **OWN})
        assert (wrong.status, wrong.code) == (422, "invalid")
        body = ask_now("DELETE", place, {**cast.alice.cookie, **OWN}).json
        assert [(each["prefix"], each["name"]) for each in body["keys"]] == [
            (row.prefix, "nightly")
        ]
        assert (body["kept"], body["grants"], body["links"]) == (False, 0, 0)
        assert keys.find(key) is None
        assert AuditEntry.objects.filter(action="key.revoked", target=row.prefix).exists()

    def test_they_may_go_over_to_whoever_removes(self, cast: Cast, bell: None) -> None:
        row, key = api_keys.create(bob_is(cast, Role.ADMIN), "ci", Role.ADMIN, scopes=["read"])
        bob_is(cast, Role.MEMBER)
        member = Membership.objects.get(user=cast.bob.user).pk
        with pytest.raises(HostError, match="take over your keys"):
            members.remove(bob_is(cast, Role.ADMIN), member, keep_keys=True)
        bob_is(cast, Role.MEMBER)
        place = f"/api/v1/members/{member}?keys=keep"
        body = ask_now("DELETE", place, {**cast.alice.cookie, **OWN}).json
        assert (body["kept"], [each["prefix"] for each in body["keys"]]) == (True, [row.prefix])
        principal_found = keys.find(key)
        assert principal_found is not None
        # no more than its maker could when they left
        assert (principal_found.created_by, principal_found.role) == (cast.alice.user, Role.MEMBER)
        Membership.objects.filter(user=cast.alice.user).delete()
        assert keys.find(key) is None

    def test_a_key_does_no_more_than_its_maker_may(self, cast: Cast) -> None:
        _, key = api_keys.create(bob_is(cast, Role.ADMIN), "ci", Role.ADMIN, scopes=list(Scope))
        assert resolve(bearer(key), {}).can("manage_keys")
        bob_is(cast, Role.VIEWER)
        assert not resolve(bearer(key), {}).can("run")

    def test_a_revoked_key_leaves_nothing(self, cast: Cast, bell: None) -> None:
        row, key = keys.create_key(cast.team, "ops", Role.ADMIN)
        ops, run = resolve(bearer(key), {}), start(cast.alice)
        _, minted = api_keys.create(ops, "child", Role.ADMIN, scopes=list(Scope))
        _, grandchild = api_keys.create(
            resolve(bearer(minted), {}), "grandchild", Role.VIEWER, scopes=["read"]
        )
        link = shown_by(cast, ops, run)
        invitations.invite(ops, "eve@example.com", Role.MEMBER)
        assert all((link(), sees(bearer(minted), run)(), sees(bearer(grandchild), run)()))
        path = f"/api/v1/keys/{row.pk}/revoke"
        assert ask_now("POST", path, {**cast.alice.cookie, **OWN}, json={}).status == 200
        assert not any((link(), sees(bearer(minted), run)(), sees(bearer(grandchild), run)()))
        assert not Invitation.objects.filter(revoked_at=None).exists()
        assert not ApiKey.objects.filter(name__in=["ops", "child"], revoked=False).exists()


def test_owners_see_and_end_every_grant(cast: Cast, bell: None) -> None:
    run = private(cast, "his", cast.bob)
    grant, _ = sharing.share(cast.bob.principal, run, sharing.To("vera"), sharing.Terms())
    admin = _person("adam", cast.team, Role.ADMIN)

    def listed(actor: Actor) -> list[Any]:
        rows = ask_now("GET", "/api/v1/grants", actor.headers).json["results"]
        return [row["id"] for row in rows]

    assert (listed(cast.alice), listed(admin), listed(cast.charlie)) == ([str(grant.pk)], [], [])
    assert sees(cast.vera.cookie, run)()
    assert not sees(cast.alice.cookie, run)()
    for actor, status in ((admin, 404), (cast.charlie, 404), (cast.alice, 204)):
        answer = ask_now("DELETE", f"/api/v1/grants/{grant.pk}", actor.headers)
        assert answer.status == status
    assert not sees(cast.vera.cookie, run)()


def test_a_share_that_meets_a_removal_leaves_no_link(cast: Cast, bell: None) -> None:
    bob, run = bob_is(cast, Role.MEMBER), start(cast.alice)
    by_an_owner(cast)
    with pytest.raises(HostError):
        sharing.share(bob, run, sharing.To(), sharing.Terms())
    with pytest.raises(HostError):
        api_keys.create(bob_is(cast, Role.ADMIN), "late", Role.MEMBER, scopes=["read"])
    assert not Grant.objects.exists()
