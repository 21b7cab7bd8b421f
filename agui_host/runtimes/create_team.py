"""A new team, with an owner and a row for every agent of this host."""

import secrets
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.utils.text import slugify

from agui_host.backends.postgres import scope
from agui_host.errors import Conflict
from agui_host.runtimes import registry
from agui_host.teams import audit
from agui_host.teams.actors import Acting
from agui_host.teams.models import Membership, Role, Team

if TYPE_CHECKING:
    from django.contrib.auth.models import User

LONGEST = 50


class SlugTaken(Conflict):
    """Another team has this slug; choose a different one."""

    code = "slug_taken"


@scope.everywhere()
def create_team(
    slug: str, name: str, owner: "User | None" = None, by: Acting | str = "operator"
) -> Team:
    """The new team; ``by`` is its creator's label in the audit log. Raises SlugTaken."""
    try:
        with transaction.atomic():
            team = Team.objects.create(slug=slug, name=name)
            if owner is not None:
                Membership.objects.create(team=team, user=owner, role=Role.OWNER)
            registry.provision(team)
            audit.record(by, team, "team.founded", slug)
    except IntegrityError as error:
        if Team.objects.filter(slug=slug).exists():
            raise SlugTaken from error
        raise
    return team


def create_own_team(user: "User") -> Team:
    """A personal team, named after a person who was not invited to any."""
    name = user.get_username()
    slug = slugify(name)[:LONGEST] or "team"
    for attempt in (slug, f"{slug}-{secrets.token_hex(4)}"):
        if not Team.objects.filter(slug=attempt).exists():
            break
    return create_team(attempt, f"{name}'s team", user, by=audit.of_user(user))
