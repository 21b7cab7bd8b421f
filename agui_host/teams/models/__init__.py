"""The tables of teams and people; import them from here."""

from agui_host.teams.models.directory import (
    GroupRule,
    ScimGroup,
    ScimGroupMember,
    ScimUser,
    TeamDomain,
)
from agui_host.teams.models.team import (
    SCANNABLE,
    ApiKey,
    AuditEntry,
    Invitation,
    Membership,
    OperatorKey,
    Origin,
    Role,
    Scope,
    StreamTicket,
    Team,
    TeamLimits,
    every_scope,
)

__all__ = [
    "SCANNABLE",
    "ApiKey",
    "AuditEntry",
    "GroupRule",
    "Invitation",
    "Membership",
    "OperatorKey",
    "Origin",
    "Role",
    "ScimGroup",
    "ScimGroupMember",
    "ScimUser",
    "Scope",
    "StreamTicket",
    "Team",
    "TeamDomain",
    "TeamLimits",
    "every_scope",
]
