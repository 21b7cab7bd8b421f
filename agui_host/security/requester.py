"""The sender of the current request: its address and, once it is authenticated, its team."""

from contextvars import ContextVar
from ipaddress import IPv6Address, ip_address, ip_network
from uuid import UUID

from agui_host.backends.postgres import scope

ADDRESS: ContextVar[str] = ContextVar("address", default="")
"""The sender's address of the current request; empty outside of one."""


def network_of(address: str) -> str:
    """The network that one client has: an IPv4 address, but 64 bits of IPv6 addresses."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        return str(parsed.ipv4_mapped or ip_network((parsed, 64), strict=False))
    return address


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
