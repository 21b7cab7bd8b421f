"""Who may do what: one table for people, keys, pages and sockets (docs/permissions.md)."""

from collections.abc import Mapping

from teams.models import Role

EVERYONE = frozenset(Role)
WORKING = frozenset({Role.OWNER, Role.ADMIN, Role.MEMBER})
RUNNING_THE_TEAM = frozenset({Role.OWNER, Role.ADMIN})

ROLES: Mapping[str, frozenset[Role]] = {
    "view": EVERYONE,
    "run": WORKING,
    "cancel": WORKING,
    "answer": WORKING,
    "manage_agents": RUNNING_THE_TEAM,
    "manage_members": RUNNING_THE_TEAM,
    "manage_keys": RUNNING_THE_TEAM,
    "see_audit": RUNNING_THE_TEAM,
    "delete": RUNNING_THE_TEAM,
}


def allowed(role: str, action: str) -> bool:
    """Whether ``role`` may do ``action``; an action that is not in the table is a KeyError."""
    return role in ROLES[action]
