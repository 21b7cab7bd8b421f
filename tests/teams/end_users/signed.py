"""Tokens as the owner of a key signs them."""

import time
from typing import Any

import jwt

from agui_host.protocol.input import run_agent_input
from agui_host.runtimes.models import Agent
from agui_host.teams import authentication, keys
from agui_host.teams.actors import HOST
from agui_host.teams.authentication import Principal
from agui_host.teams.end_users import signing
from agui_host.teams.models import ApiKey, Role, Team
from runs.access import start
from runs.models import Run


class Signing:
    """A key of a team with a secret for end users."""

    def __init__(self, team: Team, role: Role = Role.MEMBER, **values: Any) -> None:
        self.row, self.key = keys.create_key(team, "product", role, **values)
        self.renew()

    def renew(self) -> None:
        """A new secret."""
        self.secret = signing.renew(self.row, HOST)
        self.row = ApiKey.objects.for_team(self.row.team).get(pk=self.row.pk)

    @property
    def plain(self) -> dict[str, str]:
        """The headers of the key itself."""
        return {"authorization": f"Bearer {self.key}"}

    def token(self, sub: str, /, *, secret: str | None = None, algorithm: str = "HS256",
              **claims: Any) -> str:  # fmt: skip
        """A token for this end user that is valid for a minute."""
        values = {"sub": sub, "exp": int(time.time()) + 60, **claims}
        key = self.secret if secret is None else secret
        return jwt.encode({k: v for k, v in values.items() if v is not None}, key, algorithm)

    def principal(self, sub: str, **claims: Any) -> Principal:
        """The principal of such a request."""
        return authentication.resolve(self.headers(sub, **claims), {})

    def headers(self, sub: str, **claims: Any) -> dict[str, str]:
        """The headers of a request for this end user."""
        return {**self.plain, "x-agui-user": self.token(sub, **claims)}


def start_as(principal: Principal, agent: Agent, **body: Any) -> Run:
    """A queued run, started as over HTTP."""
    input = {"messages": [], "runId": "r", **body}
    return start.start_run(principal, run_agent_input.parse(input, agent=agent.slug), key=None).run
