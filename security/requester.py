"""The sender of the request in hand: its address and, once it is authenticated, its team."""

from contextvars import ContextVar
from uuid import UUID

from backends.postgres import scope

ADDRESS: ContextVar[str] = ContextVar("address", default="")
"""Where the request in hand came from; empty outside of one."""


class Caller:
    """Remember which team this credential belongs to."""

    def __init__(self) -> None:
        self.team: UUID | None = None


_caller: ContextVar[Caller | None] = ContextVar("caller", default=None)


def expect() -> Caller:
    """What ``identified`` will fill in for the request in hand."""
    caller = Caller()
    _caller.set(caller)
    return caller


def identified(team: UUID) -> None:
    """Note the team of the request in hand: it reaches that team's rows from now on, and its
    credential's next requests count for that team."""
    scope.reach(team)
    if (caller := _caller.get()) is not None:
        caller.team = team
