"""Private threads of people who have left: an owner hands them over or erases them, unread."""

from typing import Any

import pytest

from agui_host.teams import keys
from agui_host.teams.access import members
from agui_host.teams.models import ApiKey, AuditEntry, Membership
from runs.lifecycle import lifecycle
from runs.models import Run, Thread, Visibility
from tests.asgi import Answer, ask_now
from tests.cast import Actor, Cast, start

pytestmark = pytest.mark.django_db(transaction=True)
LEFT = "/api/v1/left-threads"


def private(who: Actor, name: str, *, by_key: bool = False) -> Thread:
    """A private thread of one ended run, started by a person or by their key."""
    if by_key:
        ApiKey.objects.filter(name=who.user.username).update(created_by=who.user)
        body = {"input": {"threadId": name, "messages": []}}
        assert ask_now("POST", "/api/v1/runs", who.headers, json=body).status == 202
        run = Run.objects.of_one_thread().get(thread__thread_id=name)
    else:
        run = start(who, threadId=name)
    lifecycle.cancel(run)
    Thread.objects.filter(pk=run.thread_id).update(visibility=Visibility.PRIVATE)
    return Thread.objects.get(pk=run.thread_id)


def listed(who: Actor) -> list[str]:
    return [row["id"] for row in ask_now("GET", LEFT, who.headers).json["results"]]


def hand_over(who: Actor, thread: Thread, heir: Actor) -> Answer:
    member = Membership.objects.of_one_person().get(user=heir.user)
    address = f"{LEFT}/{thread.pk}/hand-over"
    return ask_now("POST", address, who.headers, json={"member": member.pk})


def leave(who: Actor) -> None:
    Membership.objects.of_one_person().filter(user=who.user).delete()


def deactivate(who: Actor) -> None:
    who.user.is_active = False
    who.user.save()


def be_removed(who: Actor, by: Actor) -> None:
    row = Membership.objects.of_one_person().get(user=who.user)
    members.remove(by.principal, row.pk)


def lines(cast: Cast, action: str) -> list[Any]:
    return list(AuditEntry.objects.for_team(cast.team).filter(action=action))


def test_they_are_there_only_after_the_creator_has_left(cast: Cast, bell: None) -> None:
    thread, other = private(cast.bob, "t"), private(cast.alice, "mine")
    shared = start(cast.bob, threadId="for all")
    lifecycle.cancel(shared)
    assert listed(cast.alice) == []
    for method, address in (
        ("POST", f"{LEFT}/{thread.pk}/hand-over"),
        ("DELETE", f"{LEFT}/{thread.pk}"),
    ):
        answer = ask_now(method, address, cast.alice.headers, json={"member": 1})
        assert (answer.status, answer.code) == (404, "not_found")
    be_removed(cast.bob, cast.alice)
    assert listed(cast.alice) == [str(thread.pk)]
    row = ask_now("GET", LEFT, cast.alice.headers).json["results"][0]
    assert set(row) == {"id", "created_by", "created_at"}
    assert ask_now("GET", f"/api/v1/threads/{thread.pk}", cast.alice.headers).status == 404
    assert other.pk != thread.pk


@pytest.mark.parametrize("goes", [leave, deactivate], ids=("leaves", "is deactivated"))
@pytest.mark.parametrize("by_key", [False, True], ids=("person", "key"))
def test_a_thread_is_handed_over(cast: Cast, bell: None, goes: Any, by_key: bool) -> None:
    thread = private(cast.bob, "t", by_key=by_key)
    goes(cast.bob)
    assert listed(cast.alice) == [str(thread.pk)]
    answer = hand_over(cast.alice, thread, cast.vera)
    assert answer.status == 200, answer.body
    address = f"/api/v1/threads/{thread.pk}"
    assert Thread.objects.get(pk=thread.pk).creator == f"user:{cast.vera.user.pk}"
    assert ask_now("GET", address, cast.vera.cookie).status == 200
    assert ask_now("GET", address, cast.alice.cookie).status == 404
    assert listed(cast.alice) == []
    assert hand_over(cast.alice, thread, cast.alice).status == 404, "once only"
    (line,) = lines(cast, "thread.handed_over")
    assert line.target == str(thread.pk)
    assert '"to":"vera"' in line.details.replace(" ", "")


def test_a_thread_is_erased(cast: Cast, bell: None) -> None:
    thread = private(cast.bob, "t")
    leave(cast.bob)
    address = f"{LEFT}/{thread.pk}"
    assert ask_now("DELETE", address, cast.vera.headers).status == 403
    assert ask_now("DELETE", address, cast.charlie.headers).status == 404
    assert ask_now("DELETE", address, cast.alice.headers).status == 204
    assert not Thread.objects.filter(pk=thread.pk).exists()
    assert ask_now("DELETE", address, cast.alice.headers).status == 404
    (line,) = lines(cast, "thread.erased")
    assert line.target == str(thread.pk)


def test_only_owners_and_only_to_members(cast: Cast, bell: None) -> None:
    thread = private(cast.bob, "t")
    leave(cast.bob)
    assert ask_now("GET", LEFT, cast.vera.headers).status == 403
    assert hand_over(cast.vera, thread, cast.vera).status == 403
    assert listed(cast.charlie) == []
    assert hand_over(cast.charlie, thread, cast.charlie).status == 404
    assert hand_over(cast.alice, thread, cast.charlie).status == 404
    deactivate(cast.vera)
    assert hand_over(cast.alice, thread, cast.vera).status == 422
    assert Thread.objects.get(pk=thread.pk).creator == f"user:{cast.bob.user.pk}"


def test_a_member_whose_key_was_revoked_keeps_what_it_began(cast: Cast, bell: None) -> None:
    private(cast.bob, "t", by_key=True)
    keys.revoke(ApiKey.objects.get(name="bob"))
    assert listed(cast.alice) == []
