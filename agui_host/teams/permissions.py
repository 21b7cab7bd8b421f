"""The permissions table, one for people, keys, pages and sockets (docs/permissions.md)."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from agui_host.teams.models import Role, Scope, Team

EVERYONE = frozenset(Role)
WORKING = frozenset({Role.OWNER, Role.ADMIN, Role.MEMBER})
RUNNING_THE_TEAM = frozenset({Role.OWNER, Role.ADMIN})
OWNING = frozenset({Role.OWNER})
AGENT_FINDERS: list[Callable[[Team, Collection[str]], Collection[str]]] = []
"""Each returns those of the slugs that are a team's agents; the package of agents registers it."""


@dataclass(frozen=True, slots=True)
class Action:
    """Its description, the roles that may do it, and the scopes that let a key of such a role."""

    covers: str
    roles: frozenset[Role]
    scopes: frozenset[Scope]


def _action(covers: str, roles: frozenset[Role], *scopes: Scope) -> Action:
    return Action(covers, roles, frozenset(scopes))


# A key that starts runs also reads them: ``POST /agui`` answers with the run's events.
ACTIONS: Mapping[str, Action] = {
    "view": _action(
        "see the agents, threads, runs and events, live and stored",
        EVERYONE, Scope.READ, Scope.RUN,
    ),
    "view_team": _action(
        "see the team's members, limits, usage, prices, issues, alerts, data sets, views and "
        "documents",
        EVERYONE, Scope.READ, Scope.RUN,
    ),
    "run": _action(
        "start a run, including a run that answers with `resume`, upload "
        "[files](howto-files.md) for it, and send [messages](howto-steer.md) to a run",
        WORKING, Scope.RUN,
    ),
    "answer": _action(
        "answer a question that a run ended with, in the inbox", WORKING, Scope.RUN
    ),
    "cancel": _action("cancel one's own run", WORKING, Scope.RUN),
    "cancel_others": _action(
        "cancel another person's run", RUNNING_THE_TEAM, Scope.RUN
    ),
    "comment": _action(
        "comment on a run and rate it, resolve and assign [issues](howto-issues.md)",
        WORKING, Scope.RUN,
    ),
    "share": _action("share a thread or run, and revoke grants", WORKING, Scope.ADMIN),
    "delete": _action("erase a thread with all its runs", RUNNING_THE_TEAM, Scope.ADMIN),
    "ingest": _action(
        "hand in the events of a run that is executed elsewhere", WORKING, Scope.INGEST
    ),
    "schedule": _action(
        "make, change and remove [schedules](howto-schedules.md), which start runs in one's name",
        WORKING, Scope.RUN,
    ),
    "manage_agents": _action(
        "add, change and disable agents, see why their runs failed, and manage the team's "
        "knowledge for them",
        RUNNING_THE_TEAM, Scope.ADMIN,
    ),
    "manage_budgets": _action(
        "make, change and remove [budgets](howto-budgets.md), and raise one that asks",
        RUNNING_THE_TEAM, Scope.ADMIN,
    ),
    "manage_alerts": _action(
        "make, change, snooze and remove [alerts](howto-alerts.md)", RUNNING_THE_TEAM, Scope.ADMIN
    ),
    "rename_team": _action(
        "change the team's name and time zone", RUNNING_THE_TEAM, Scope.ADMIN
    ),
    "manage_members": _action(
        "invite and remove people, change their roles", RUNNING_THE_TEAM, Scope.ADMIN
    ),
    "provision": _action(
        "put people and groups into the team, and take them out, by [SCIM](howto-scim.md)",
        OWNING, Scope.SCIM,
    ),
    "manage_keys": _action("make, rotate and revoke API keys", RUNNING_THE_TEAM, Scope.ADMIN),
    "manage_webhooks": _action(
        "make, change and remove [webhooks](howto-webhooks.md), and see their deliveries",
        RUNNING_THE_TEAM, Scope.ADMIN,
    ),
    "manage_views": _action(
        "rename and remove [views](howto-inspect.md#keep-a-search) that others saved for the team",
        RUNNING_THE_TEAM, Scope.ADMIN,
    ),
    "manage_grants": _action(
        "see and revoke every grant of the team, also on private threads", OWNING, Scope.ADMIN
    ),
    "manage_team": _action(
        "set the team's rules and [prices](howto-usage.md#prices), archive it, hand over or erase "
        "private threads of people who left",
        OWNING,
        Scope.ADMIN,
    ),
    "see_audit": _action(
        "read and export the [audit log](audit.md)", RUNNING_THE_TEAM, Scope.ADMIN
    ),
}  # fmt: skip


BRIEFLY: Mapping[str, str] = {
    "view": "see agents and runs",
    "view_team": "see people, usage, limits and issues",
    "run": "start runs and upload files",
    "answer": "answer questions",
    "cancel": "cancel their own runs",
    "comment": "comment, rate and work on issues",
    "share": "share threads and runs",
    "ingest": "hand in runs from elsewhere",
    "schedule": "make schedules",
    "cancel_others": "cancel anybody's runs",
    "delete": "erase threads",
    "manage_agents": "connect and change agents",
    "manage_budgets": "set budgets",
    "manage_alerts": "set alerts",
    "rename_team": "change the team's name and time zone",
    "manage_members": "invite and remove people",
    "manage_keys": "make and revoke API keys",
    "manage_webhooks": "manage webhooks",
    "manage_views": "tidy up views of others",
    "see_audit": "read the audit log",
    "provision": "provide people by SCIM",
    "manage_grants": "see and end everything that is shared",
    "manage_team": "archive the team or set its rules and prices",
}
"""Every action in words for a page, in the order of a sentence."""


def in_words() -> list[tuple[Role, str]]:
    """Each role with the actions that the role below it lacks, as one line."""
    lines, below = list[tuple[Role, str]](), ""
    ranks = list(Role)[::-1]
    for role, lower_role in zip(ranks, [None, *ranks], strict=False):
        new = [
            words
            for name, words in BRIEFLY.items()
            if allowed(role, name) and not (lower_role and allowed(lower_role, name))
        ]
        *first, last = new
        lines.append((role, f"{below}{', '.join(first)} and {last}"))
        below = f"all that {'an' if role == Role.ADMIN else 'a'} {role} can, and "
    return lines[::-1]


def allowed(role: str, action: str) -> bool:
    """Whether ``role`` may do ``action``; an action that is not in the table is a KeyError."""
    return role in ACTIONS[action].roles


def within(scopes: Iterable[str]) -> frozenset[str]:
    """The actions that these scopes allow a key, within its role."""
    return _within(frozenset(scopes))


@lru_cache(256)  # Open streams of one key share the set.
def _within(granted: frozenset[str]) -> frozenset[str]:
    return frozenset(name for name, action in ACTIONS.items() if action.scopes & granted)


def reaches(role: str, other: str) -> bool:
    """Whether a member with ``role`` may give or take ``other``: never one above their own."""
    ranks = list(Role)
    return ranks.index(Role(role)) <= ranks.index(Role(other))


def lower(role: str, other: str) -> Role:
    """The role with fewer rights."""
    return Role(other) if reaches(role, other) else Role(role)


def as_markdown() -> str:
    """The table as in docs/permissions.md (``manage.py show_permissions``)."""
    heads = ["action", "covers", *Role.values, "scope of a key"]
    lines = [heads, ["---"] * len(heads)]
    for name, action in ACTIONS.items():
        roles = ["yes" if role in action.roles else "no" for role in Role]
        scopes = " or ".join(f"`{scope}`" for scope in Scope if scope in action.scopes)
        lines.append([f"`{name}`", action.covers, *roles, scopes])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
