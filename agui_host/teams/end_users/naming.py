"""How people name an end user: ``sub``, or ``sub@prefix`` with the prefix of one of their keys."""

from collections.abc import Mapping
from uuid import UUID

from agui_host.teams.models import ApiKey, Team


def realms_of(team: Team) -> dict[str, UUID]:
    """The realms of the team's keys that have end users, by the keys' prefixes."""
    keys = ApiKey.objects.for_team(team).filter(end_user_realm__isnull=False)
    return dict(keys.values_list("prefix", "end_user_realm"))


def sub_of(of: str, realms: Mapping[str, UUID]) -> tuple[str, UUID | None]:
    """The ``sub`` in ``sub`` or ``sub@prefix``, and the realm of the key with that prefix."""
    sub, _, prefix = of.rpartition("@")
    return (sub, realms[prefix]) if sub and prefix in realms else (of, None)
