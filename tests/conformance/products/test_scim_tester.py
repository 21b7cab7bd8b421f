"""scim2-tester: every check of a SCIM server, on a team of its own."""

import pytest

from tests.acceptance.host import Host
from tests.conformance.products.conftest import play

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
TEAM = """
from agui_host.backends.postgres import scope
from agui_host.runtimes.create_team import create_team
from agui_host.teams import keys
from agui_host.teams.models import Role, Scope, TeamDomain
with scope.everywhere():
    team = create_team("directory", "Directory")
    TeamDomain.objects.create(team=team, domain="example.com", role=Role.VIEWER)
    print(keys.create_key(team, "tester", Role.OWNER, scopes=[Scope.SCIM])[1])
"""


def test_it_finds_nothing(desk: Host) -> None:
    key = desk.python(TEAM).split()[-1]
    report = play("scim2-tester", f"{desk.url}/scim/v2", key)
    assert [f"{row['check']} of {row['of']}: {row['reason']}" for row in report["faults"]] == []
    assert report["checks"]["SUCCESS"] > 40
