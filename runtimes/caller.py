"""The caller of a function about the team's agents or knowledge."""

from typing import Protocol

from teams.models import Team


class Caller(Protocol):
    """What this room needs of a Principal: agents know no authentication."""

    @property
    def kind(self) -> str: ...
    @property
    def user_id(self) -> int | None: ...
    @property
    def label(self) -> str: ...
    @property
    def actor_id(self) -> str: ...
    @property
    def team(self) -> Team: ...
    @property
    def agents(self) -> frozenset[str] | None:
        """The slugs that the credential is for; None for all."""
        ...

    def require(self, action: str) -> None: ...

    def may_use(self, agent: str) -> bool:
        """Whether the credential is for the agent with that slug."""
        ...
