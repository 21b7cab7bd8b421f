"""The directory of Alice's team: its key, its domain, and requests as a directory sends them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from agui_host.teams import keys
from agui_host.teams.models import Role, Scope, Team, TeamDomain
from tests.asgi import Answer, ask_now
from tests.cast import Cast, cast

__all__ = ["cast"]

SCIM = "application/scim+json"


class Directory(NamedTuple):
    """A directory that has the key of a team."""

    key: str

    def ask(self, method: str, path: str, body: Any = None) -> Answer:
        headers = {"authorization": f"Bearer {self.key}", "accept": SCIM, "content-type": SCIM}
        return ask_now(method, f"/scim/v2/{path}", headers, json=body)

    def user(self, name: str = "dora@example.com", **more: Any) -> dict[str, Any]:
        """A new user, as Okta makes one."""
        body = {
            "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
            "userName": name,
            "name": {"givenName": "Dora", "familyName": "Maar"},
            "emails": [{"primary": True, "value": name, "type": "work"}],
            "displayName": "Dora Maar",
            "locale": "en-US",
            "externalId": "00u1",
            "groups": [],
            "password": "never stored",
            "active": True,
            **more,
        }
        answer = self.ask("POST", "Users", body)
        assert answer.status == 201, answer.json
        assert "password" not in answer.json
        return dict(answer.json)

    def patch(self, path: str, *operations: dict[str, Any]) -> Answer:
        schema = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
        return self.ask("PATCH", path, {"schemas": [schema], "Operations": list(operations)})


Connect = Callable[[Team], Directory]


@pytest.fixture
def connect(cast: Cast) -> Connect:
    """Make the key of a team's owner that its directory gets."""

    def connect(team: Team) -> Directory:
        return Directory(keys.create_key(team, "okta", Role.OWNER, scopes=[Scope.SCIM])[1])

    return connect


@pytest.fixture
def directory(cast: Cast, connect: Connect) -> Directory:
    """The directory of Alice's team, whose domain is verified."""
    TeamDomain.objects.create(team=cast.team, domain="example.com", role=Role.VIEWER)
    return connect(cast.team)
