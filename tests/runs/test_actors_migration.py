"""Labels of before become ids where the account was there before the row, and only there."""

from datetime import timedelta
from importlib import import_module

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from runs.access import comments, sharing
from runs.models import Comment, Feedback, Grant, Run, Thread, Thumb
from teams import audit, keys
from teams.models import ApiKey, Invitation, Membership, Role
from tests.cast import Cast, _person, cast, start

__all__ = ["cast"]

pytestmark = pytest.mark.django_db


def forget() -> None:
    """As rows were before ids were kept."""
    Thread.objects.update(creator="")
    Run.objects.update(starter="")
    Grant.objects.update(creator="")
    for model in (Comment, Feedback):
        model.objects.update(writer="")
    Invitation.objects.update(inviter="")


def carry_over() -> None:
    with connection.cursor() as cursor:
        for name in ("teams.migrations.0008_leaving", "runs.migrations.0012_actors"):
            cursor.execute(import_module(name).CARRY_OVER)


def test_labels_become_ids(cast: Cast) -> None:
    mine, ours = start(cast.bob), start(cast.alice)
    comments.rate(cast.bob.principal, ours.pk, Thumb.UP, "")
    comments.write(cast.bob.principal, ours.pk, "Hm.", None)
    by_key = start(cast.vera)
    Run.objects.filter(pk=by_key.pk).update(started_by=f"key:{cast.vera.key_prefix}")
    forget()
    # Alice's account is gone, and somebody else has got the login since
    User.objects.filter(pk=cast.alice.user.pk).update(date_joined=timezone.now())
    carry_over()
    bob, key = f"user:{cast.bob.user.pk}", ApiKey.objects.get(prefix=cast.vera.key_prefix)
    assert Thread.objects.get(pk=mine.thread_id).creator == bob
    starters = dict(Run.objects.values_list("pk", "starter"))
    assert starters == {mine.pk: bob, ours.pk: "", by_key.pk: f"key:{key.pk}"}
    assert {Comment.objects.get().writer, Feedback.objects.get().writer} == {bob}


def test_grants_of_people_who_had_left_end(cast: Cast) -> None:
    eve = _person("eve", cast.team, Role.MEMBER)
    run = start(cast.alice)
    made = {}
    for name in ("bob", "vera", "eve"):
        made[name], _ = sharing.share(cast.alice.principal, run, sharing.To(name), sharing.Terms())
    abroad, _ = sharing.share(
        cast.charlie.principal,
        start(cast.charlie),
        sharing.To("bob", cast.team.pk),
        sharing.Terms(),
    )
    # Vera left before this rule; Eve did, and came again.
    for actor in (cast.vera, eve):
        Membership.objects.filter(user=actor.user).delete()
        audit.record("user:alice", cast.team, "member.removed", actor.user.username)
    Membership.objects.create(
        team=cast.team, user=eve.user, created_at=timezone.now() + timedelta(seconds=1)
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "set constraints all immediate;"
            "alter table runs_grant drop constraint grant_to_a_person_through_a_team"
        )
    Grant.objects.update(through=None)
    carry_over()
    rows = {grant.pk: grant for grant in Grant.objects.all()}
    assert rows[made["bob"].pk].through == cast.team
    assert rows[abroad.pk].through == cast.team
    for name in ("vera", "eve"):
        assert not rows[made[name].pk].is_live()


def test_keys_of_people_who_had_left_are_the_operators(cast: Cast) -> None:
    text = {}
    for actor in (cast.bob, cast.vera):
        text[actor.user.username] = keys.create_key(
            cast.team, "ci", Role.VIEWER, created_by=actor.user
        )[1]
    Membership.objects.filter(user=cast.bob.user).delete()
    assert keys.find(text["bob"]) is None
    carry_over()
    assert all(map(keys.find, text.values()))
