"""The demo team of a new host: a user to sign in as, a key, and all of the host's agents."""

import secrets
from dataclasses import dataclass

import structlog
from django.contrib.auth.models import User
from django.db import transaction

from agui_host.runtimes import registry
from agui_host.teams import keys
from agui_host.teams.models import ApiKey, Membership, Role, Team

log = structlog.get_logger(__name__)
NAME = "demo"


@dataclass(frozen=True, slots=True)
class Demo:
    """What `up` prints. ``password`` and ``api_key`` are None if only their owner has them."""

    login: str
    password: str | None
    api_key: str | None
    created: bool


@transaction.atomic
def ensure_demo(api_key: str | None = None, password: str | None = None) -> Demo:
    """The demo team with its owner, agents and key; a second call leaves them as they are.

    ``password`` is used for a new user only, and returned only if it is the user's. ``api_key`` (at
    least 32 characters) becomes a key of the team; without one, a key is made once. Raises Invalid
    or KeyTaken for an ``api_key`` that cannot be used.
    """
    team, created = Team.objects.get_or_create(slug=NAME, defaults={"name": "Demo"})
    user, new_user = User.objects.get_or_create(
        username=NAME, defaults={"is_staff": True, "is_superuser": True}
    )
    if new_user:
        password = password or secrets.token_urlsafe(12)
        user.set_password(password)
        user.save(update_fields=["password"])
    elif password is not None and not user.check_password(password):
        password = None
    Membership.objects.get_or_create(team=team, user=user, defaults={"role": Role.OWNER})
    registry.provision(team)
    return Demo(user.get_username(), password, _key(team, user, api_key), created or new_user)


def _key(team: Team, user: User, api_key: str | None) -> str | None:
    """The given key, or a new one unless the team has a valid one."""
    if api_key is not None:
        try:
            keys.adopt_key(team, api_key, NAME, Role.OWNER)
        except keys.KeyRetired:
            # It was revoked on purpose; the host must start all the same.
            log.warning("demo.key_retired", prefix=keys.beginning(api_key))
        else:
            return api_key
    if any(keys.usable(row) for row in ApiKey.objects.for_team(team).filter(name=NAME)):
        return None
    return keys.create_key(team, NAME, Role.OWNER, created_by=user)[1]
