"""Groups, and the roles that their rules give."""

from typing import Any

import pytest

from agui_host.backends import work
from agui_host.scim import endpoints
from agui_host.teams.models import GroupRule, Membership, Role, ScimGroupMember
from tests.cast import Cast
from tests.scim.conftest import Connect, Directory

pytestmark = pytest.mark.django_db(transaction=True)


def role(cast: Cast) -> str | None:
    row = Membership.objects.for_team(cast.team).filter(user__email="dora@example.com").first()
    return row.role if row else None


def group(directory: Directory, *people: str, name: str = "crew") -> str:
    members = [{"value": key} for key in people]
    answer = directory.ask("POST", "Groups", {"displayName": name, "members": members})
    assert answer.status == 201, answer.json
    return str(answer.json["id"])


@pytest.fixture
def dora(cast: Cast, directory: Directory) -> str:
    GroupRule.objects.create(team=cast.team, group="crew", role=Role.ADMIN, created_by="x")
    return str(directory.user()["id"])


def test_a_group_gives_its_role_and_takes_it_away(
    cast: Cast, directory: Directory, dora: str
) -> None:
    crew = group(directory)
    assert role(cast) == Role.VIEWER
    added = directory.patch(
        f"Groups/{crew}", {"op": "Add", "path": "members", "value": [{"value": dora}]}
    )
    assert [row["value"] for row in added.json["members"]] == [dora]
    assert role(cast) == Role.ADMIN
    assert directory.ask("GET", f"Users/{dora}").json["groups"][0]["display"] == "crew"
    removed = directory.patch(
        f"Groups/{crew}", {"op": "remove", "path": f'members[value eq "{dora}"]'}
    )
    assert (removed.status, role(cast)) == (200, Role.VIEWER)


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "Remove", "path": "members", "value": [{"value": "DORA"}]},
        {"op": "replace", "path": "members", "value": []},
        {"op": "replace", "value": {"members": []}},
        {"op": "replace", "value": {"id": "x", "displayName": "other crew"}},
    ],
)
def test_each_way_to_leave(
    cast: Cast, directory: Directory, dora: str, operation: dict[str, Any]
) -> None:
    crew = group(directory, dora)
    assert role(cast) == Role.ADMIN
    if operation.get("value") == [{"value": "DORA"}]:
        operation = {**operation, "value": [{"value": dora}]}
    assert directory.patch(f"Groups/{crew}", operation).status == 200
    assert role(cast) == Role.VIEWER


def test_a_deleted_group_takes_its_role_along(cast: Cast, directory: Directory, dora: str) -> None:
    crew = group(directory, dora)
    page = directory.ask("GET", f"Groups?filter=members%20eq%20%22{dora}%22").json
    assert [row["id"] for row in page["Resources"]] == [crew]
    query = "Groups?filter=displayName%20eq%20%22Crew%22&excludedAttributes=members"
    (row,) = directory.ask("GET", query).json["Resources"]
    assert "members" not in row
    assert directory.ask("DELETE", f"Groups/{crew}").status == 204
    assert role(cast) == Role.VIEWER


def test_the_role_of_a_removed_rule_ends_with_the_group(
    cast: Cast, directory: Directory, dora: str
) -> None:
    crew = group(directory, dora)
    GroupRule.objects.for_team(cast.team).delete()
    assert role(cast) == Role.ADMIN
    assert directory.ask("DELETE", f"Groups/{crew}").status == 204
    assert role(cast) == Role.VIEWER


def test_people_of_another_directory_are_no_members(
    cast: Cast, directory: Directory, connect: Connect, dora: str
) -> None:
    crew = group(directory, dora)
    other = connect(cast.other_team)
    body = {"displayName": "crew", "members": [{"value": dora}]}
    assert other.ask("POST", "Groups", body).status == 400
    for method in ("GET", "PUT", "DELETE"):
        assert other.ask(method, f"Groups/{crew}", body).status == 404
    assert ScimGroupMember.objects.for_team(cast.team).count() == 1
    assert not ScimGroupMember.objects.for_team(cast.other_team).exists()


@pytest.mark.parametrize(
    "body",
    [{}, {"displayName": ""}, {"displayName": "x", "members": "y"},
     {"displayName": "x", "members": [{"value": "y"}]}, {"displayName": "x" * 256}],
)  # fmt: skip
def test_odd_groups_are_refused(cast: Cast, directory: Directory, body: Any) -> None:
    assert directory.ask("POST", "Groups", body).status == 400
    crew = group(directory)
    assert group(directory, name="second") != crew
    again = directory.ask("POST", "Groups", {"displayName": "CREW"})
    assert (again.status, again.json["scimType"]) == (409, "uniqueness")


def test_pages_end_early_with_large_groups(
    cast: Cast, directory: Directory, dora: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoints, "MOST_ENTRIES", 3)
    eve = str(directory.user("eve@example.com")["id"])
    for number in range(3):
        group(directory, dora, eve, name=f"group {number}")

    def sizes(query: str) -> list[int]:
        body = directory.ask("GET", query).json
        assert (body["totalResults"], body["itemsPerPage"]) == (3, len(body["Resources"]))
        return [len(row.get("members", [])) for row in body["Resources"]]

    assert sizes("Groups") == [2]
    assert sizes("Groups?startIndex=3") == [2]
    assert sizes("Groups?excludedAttributes=members") == [0, 0, 0]
    assert sizes("Groups?attributes=displayName") == [0, 0, 0]
    assert len(directory.ask("GET", f"Users/{dora}").json["groups"]) == 3


def test_a_directory_that_works_without_pause_is_slowed_down(
    cast: Cast, directory: Directory, dora: str
) -> None:
    crew = group(directory)
    work.charge(cast.team.pk, "directory", 100 * work.SHARE)
    answer = directory.patch(f"Groups/{crew}", {"op": "remove", "path": "members"})
    assert (answer.status, answer.json["status"]) == (429, "429")
