"""The sender of the current request: its address and, once it is authenticated, its team."""

from contextvars import ContextVar
from uuid import UUID

from backends.postgres import scope

ADDRESS: ContextVar[str] = ContextVar("address", default="")
"""The sender's address of the current request; empty outside of one."""


class Caller:
    """Remembers which team a credential belongs to."""

    def __init__(self) -> None:
        self.team: UUID | None = None


_caller: ContextVar[Caller | None] = ContextVar("caller", default=None)


def expect() -> Caller:
    """Prepare the place that ``identified`` fills in for the current request."""
    caller = Caller()
    _caller.set(caller)
    return caller


def identified(team: UUID) -> None:
    """Note the team of the current request, which can reach that team's rows from now on.

    Later requests with its credential count for that team.
    """
    scope.reach(team)
    scope.count_for(f"team:{team}")
    if (caller := _caller.get()) is not None:
        caller.team = team
