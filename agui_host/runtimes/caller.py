"""The caller of a function about the team's agents or knowledge."""

from typing import Protocol

from agui_host.teams.actors import EndUser
from agui_host.teams.models import Team


class Caller(Protocol):
    """What this room needs of a Principal: agents know no authentication."""

    @property
    def kind(self) -> str:
        """``user``, ``key`` or ``link``."""

    @property
    def user_id(self) -> int | None:
        """The person's id; None for a key or a link."""

    @property
    def label(self) -> str:
        """What people call the caller."""

    @property
    def actor_id(self) -> str:
        """The id that runs and the audit log record, such as ``user:alice``."""

    @property
    def end_user(self) -> EndUser | None:
        """The person for whom a key acts."""

    @property
    def team(self) -> Team:
        """The team that the caller acts for."""

    @property
    def agents(self) -> frozenset[str] | None:
        """The slugs that the credential is for; None for all."""
        ...

    def require(self, action: str) -> None:
        """Raise Forbidden unless the caller's role or scopes allow ``action``."""

    def may_use(self, agent: str) -> bool:
        """Whether the credential is for the agent with that slug."""
        ...
