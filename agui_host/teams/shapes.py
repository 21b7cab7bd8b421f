"""Principals of one shape have the same queries, with values of their own."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from agui_host.teams.actors import END_USER, NOBODY, EndUser
from agui_host.teams.authentication import Bound, Principal
from agui_host.teams.models import Team

SHAPES = 64
"""How many shapes keep their compiled queries, of 200 KiB each. There are 15, and as many for each
number of agents to which keys are limited.
"""


@dataclass(frozen=True)
class Shape:
    """What of a principal decides the form of a query; ``like`` is any principal of the shape."""

    like: Principal = field(compare=False)
    key: Hashable

    def nobody(self) -> Principal:
        """A principal of this shape whose values are not those of anybody."""
        like = self.like
        return Principal(
            kind=like.kind,
            name=str(uuid4()),
            team=Team(pk=uuid4()),
            role=like.role,
            user_id=None if like.user_id is None else NOBODY,
            only=like.only,
            agents=None if like.agents is None else frozenset(uuid4().hex for _ in like.agents),
            bound=like.bound and Bound(*(each and uuid4() for each in like.bound)),
            key_id=None if like.key_id is None else uuid4(),
            end_user=like.end_user and EndUser("", f"{END_USER}{uuid4().hex}", ""),
        )


def of(principal: Principal, *more: Hashable) -> Shape:
    """The shape of a principal; ``more`` is what else the form of the query depends on."""
    members = (principal.user_id, principal.key_id, principal.end_user, *(principal.bound or ()))
    agents = None if principal.agents is None else len(principal.agents)
    key = (principal.kind, agents, *(each is not None for each in members), *more)
    return Shape(principal, key)


def values(principal: Principal) -> tuple[Any, ...]:
    """What tells a principal from others of its shape, as the queries send it."""
    bound = [each for each in principal.bound or () if each is not None]
    rest = (*bound, *sorted(principal.agents or ()))
    if principal.kind == "link":
        return (principal.team.pk, UUID(principal.name), *rest)
    person = [] if principal.user_id is None or principal.end_user else [principal.user_id]
    return (principal.team.pk, principal.actor_id, *person, *rest)


def receiver(principal: Principal) -> tuple[UUID | int, ...]:
    """Those of its values by which grants name their receiver, or a link its grant."""
    if principal.kind == "link":
        return (UUID(principal.name),)
    return (principal.team.pk, *([] if principal.user_id is None else [principal.user_id]))
