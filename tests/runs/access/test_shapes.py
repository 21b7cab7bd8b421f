"""Principals of one shape share their queries, and no values."""

from dataclasses import replace
from uuid import uuid4

import pytest

from agui_host.errors import NotFound
from agui_host.teams import shapes
from agui_host.teams.actors import EndUser
from agui_host.teams.authentication import Bound, Principal
from runs.access import access, inbox
from runs.models import Thread, Visibility
from tests.cast import Cast, start

pytestmark = pytest.mark.django_db


def of_each_shape(cast: Cast) -> list[Principal]:
    person = cast.alice.principal
    key = replace(person, kind="key", user_id=None, key_id=uuid4())
    link = replace(person, kind="link", name=str(uuid4()), user_id=None)
    ann = EndUser("ann", "end:1", "key:1")
    plain = [person, key, link, replace(key, agents=frozenset({"a"})), replace(key, end_user=ann)]
    bounds = (Bound(run=uuid4()), Bound(thread=uuid4()), Bound())
    return [*plain, *(each.as_ticket(bound) for each in plain for bound in bounds)]


def test_nobody_has_the_shape_and_none_of_the_values(cast: Cast) -> None:
    principals = of_each_shape(cast)
    assert len({shapes.of(each) for each in principals}) == len(principals)
    for principal in principals:
        shape = shapes.of(principal)
        nobody = shape.nobody()
        assert shapes.of(nobody) == shape
        pairs = list(zip(shapes.values(principal), shapes.values(nobody), strict=True))
        assert pairs
        assert all(one != other for one, other in pairs)


def test_every_shape_has_a_query(cast: Cast) -> None:
    """A value that did not reach the database as it is would be refused."""
    for principal in of_each_shape(cast):
        with pytest.raises(NotFound):
            access.find(principal, uuid4())
        assert inbox.count(principal) == 0


def test_people_of_one_shape_see_their_own(cast: Cast) -> None:
    hers = start(cast.alice, threadId="hers")
    Thread.objects.filter(pk=hers.thread_id).update(visibility=Visibility.PRIVATE)
    assert shapes.of(cast.alice.principal) == shapes.of(cast.bob.principal)
    for _ in range(2):
        assert access.find(cast.alice.principal, hers.pk).pk == hers.pk
        with pytest.raises(NotFound):
            access.find(cast.bob.principal, hers.pk)


def test_keys_for_one_agent_each_see_its_runs(cast: Cast) -> None:
    run = start(cast.alice)
    ours, other = (
        replace(cast.alice.principal, agents=frozenset({slug})) for slug in (run.agent.slug, "x")
    )
    assert shapes.of(ours) == shapes.of(other)
    assert access.find(ours, run.pk).pk == run.pk
    with pytest.raises(NotFound):
        access.find(other, run.pk)
