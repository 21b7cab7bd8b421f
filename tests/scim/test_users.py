"""Users, with the requests that Okta and Entra ID send."""

from typing import Any
from uuid import uuid4

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User

from agui_host.teams import keys
from agui_host.teams.models import (
    ApiKey,
    AuditEntry,
    Membership,
    Role,
    ScimUser,
    Scope,
    Team,
    TeamDomain,
)
from tests.asgi import ask_now
from tests.cast import Cast
from tests.scim.conftest import SCIM, Connect, Directory

pytestmark = pytest.mark.django_db(transaction=True)


def role_in(team: Team, email: str = "dora@example.com") -> str | None:
    row = Membership.objects.for_team(team).filter(user__email=email).first()
    return row.role if row else None


def test_okta_provisions_a_person_and_takes_them_out(cast: Cast, directory: Directory) -> None:
    query = "Users?filter=userName%20eq%20%22dora%40example.com%22&startIndex=1&count=100"
    nobody = directory.ask("GET", query)
    assert (nobody.status, nobody.json["totalResults"], nobody.json["Resources"]) == (200, 0, [])
    assert nobody.headers["content-type"].startswith(SCIM)
    made = directory.user()
    assert made["meta"]["location"].endswith(f"/scim/v2/Users/{made['id']}")
    assert role_in(cast.team) == Role.VIEWER
    dora = User.objects.get(email="dora@example.com")
    assert not dora.has_usable_password()
    rows = directory.ask("GET", query).json["Resources"]
    assert [row["id"] for row in rows] == [made["id"]]
    value = {"active": False}
    gone = directory.patch(f"Users/{made['id']}", {"op": "replace", "value": value})
    assert (gone.status, gone.json["active"]) == (200, False)
    assert role_in(cast.team) is None
    dora.refresh_from_db()
    assert not dora.is_active
    back = directory.patch(f"Users/{made['id']}", {"op": "replace", "value": {"active": True}})
    assert (back.json["active"], role_in(cast.team)) == (True, Role.VIEWER)
    dora.refresh_from_db()
    assert dora.is_active
    acts = set(AuditEntry.objects.for_team(cast.team).values_list("action", flat=True))
    assert {"scim_user.created", "member.added", "member.removed", "account.closed"} <= acts


def test_entra_id_patches_with_its_own_words(cast: Cast, directory: Directory) -> None:
    made = directory.user()
    enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department"
    changed = directory.patch(
        f"Users/{made['id']}",
        {"op": "Replace", "path": "name.givenName", "value": "Theodora"},
        {"op": "Add", "path": 'emails[type eq "work"].value', "value": "theodora@example.com"},
        {"op": "Replace", "path": "externalId", "value": "e-7"},
        {"op": "Add", "path": enterprise, "value": "Sales"},
        {"op": "Replace", "path": "title", "value": "Painter"},
    )
    assert changed.status == 200, changed.json
    assert changed.json["name"]["givenName"] == "Theodora"
    assert changed.json["emails"][0]["value"] == "theodora@example.com"
    assert changed.json["externalId"] == "e-7"
    assert EmailAddress.objects.get(email="theodora@example.com").verified
    operation = {"op": "Replace", "path": "active", "value": "False"}
    assert directory.patch(f"Users/{made['id']}", operation).json["active"] is False
    by_id = directory.ask("GET", "Users?filter=externalId%20eq%20%22e-7%22").json
    assert by_id["totalResults"] == 1


def test_a_deactivated_person_loses_keys_and_other_teams(cast: Cast, directory: Directory) -> None:
    """Alice's own key and session, in both of her teams."""
    EmailAddress.objects.create(user=cast.alice.user, email="alice@example.com", verified=True)
    Membership.objects.create(team=cast.other_team, user=cast.alice.user, role=Role.MEMBER)
    made = directory.user("alice@example.com")
    assert ask_now("GET", "/api/v1/runs", cast.alice.cookie).status == 200
    row, text = keys.create_key(cast.other_team, "hers", Role.MEMBER, cast.alice.user)
    operation = {"op": "replace", "path": "active", "value": False}
    assert directory.patch(f"Users/{made['id']}", operation).status == 200
    assert ask_now("GET", "/api/v1/runs", cast.alice.cookie).status == 401
    assert ask_now("GET", "/api/v1/runs", {"authorization": f"Bearer {text}"}).status == 401
    assert ApiKey.objects.for_team(cast.other_team).get(pk=row.pk).revoked


def test_put_replaces_and_delete_forgets(cast: Cast, directory: Directory) -> None:
    made = directory.user()
    body = {"userName": "d.maar@example.com", "emails": [{"value": "dora@example.com"}]}
    put = directory.ask("PUT", f"Users/{made['id']}", body)
    assert (put.status, put.json["userName"]) == (200, "d.maar@example.com")
    assert "externalId" not in put.json
    assert directory.ask("DELETE", f"Users/{made['id']}").status == 204
    for method in ("GET", "DELETE"):
        assert directory.ask(method, f"Users/{made['id']}").status == 404
    assert role_in(cast.team) is None
    assert directory.ask("GET", "Users").json["totalResults"] == 0
    again = directory.user()
    assert (again["active"], role_in(cast.team)) == (True, Role.VIEWER)
    assert User.objects.filter(email="dora@example.com", is_active=True).count() == 1


def test_an_account_that_an_operator_closed_stays_closed(cast: Cast, directory: Directory) -> None:
    made = directory.user()
    User.objects.filter(email="dora@example.com").update(is_active=False)
    for value in (False, True):
        operation = {"op": "replace", "path": "active", "value": value}
        assert directory.patch(f"Users/{made['id']}", operation).status == 200
    assert not User.objects.get(email="dora@example.com").is_active


@pytest.mark.parametrize(
    "name", ["dora@other.example", "dora@sub.example.com", "dora@example.com@evil.org"]
)
def test_a_directory_speaks_for_its_domains_only(
    cast: Cast, directory: Directory, name: str
) -> None:
    answer = directory.ask("POST", "Users", {"userName": name})
    assert answer.status in (400, 403), answer.json
    assert not User.objects.filter(email=name).exists()
    made = directory.user()
    operation = {"op": "replace", "path": "emails", "value": [{"value": name, "primary": True}]}
    assert directory.patch(f"Users/{made['id']}", operation).status in (400, 403)
    assert User.objects.filter(email="dora@example.com").exists()


def test_operators_are_not_managed(cast: Cast, directory: Directory) -> None:
    boss = User.objects.create_superuser("boss", "boss@example.com", "x")
    EmailAddress.objects.create(user=boss, email="boss@example.com", verified=True)
    answer = directory.ask("POST", "Users", {"userName": "boss@example.com"})
    assert (answer.status, answer.json["status"]) == (403, "403")
    assert not ScimUser.objects.for_team(cast.team).exists()


def test_who_became_an_operator_is_managed_no_longer(cast: Cast, directory: Directory) -> None:
    """The directory made the account: it could have given it the address of another person."""
    made = directory.user()
    user = User.objects.get(email="dora@example.com")
    User.objects.filter(pk=user.pk).update(is_staff=True, is_superuser=True)
    row, _ = keys.create_key(cast.other_team, "hers", Role.MEMBER, user)
    Membership.objects.create(team=cast.other_team, user=user, role=Role.MEMBER)
    emails = [{"value": "mallory@example.com", "primary": True}]
    for operation in (
        {"op": "replace", "path": "emails", "value": emails},
        {"op": "replace", "path": "active", "value": False},
        {"op": "replace", "path": "name.givenName", "value": "Mallory"},
    ):
        assert directory.patch(f"Users/{made['id']}", operation).status == 403
    assert directory.ask("DELETE", f"Users/{made['id']}").status == 204
    user.refresh_from_db()
    assert (user.email, user.first_name, user.is_active) == ("dora@example.com", "Dora", True)
    assert not ApiKey.objects.for_team(cast.other_team).get(pk=row.pk).revoked
    assert role_in(cast.team) is None


def test_another_directory_sees_nothing(cast: Cast, directory: Directory, connect: Connect) -> None:
    made = directory.user()
    other = connect(cast.other_team)
    assert other.ask("GET", "Users").json["totalResults"] == 0
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        body = {"userName": "x@example.com", "Operations": [{"op": "add", "value": {}}]}
        answer = other.ask(method, f"Users/{made['id']}", body)
        assert answer.status == 404, (method, answer.json)
    assert other.ask("POST", "Users", {"userName": "dora@example.com"}).status == 403
    TeamDomain.objects.create(team=cast.other_team, domain="example.com")
    shared = other.user()
    assert shared["id"] != made["id"]
    assert Membership.objects.of_any_team().filter(user__email="dora@example.com").count() == 2


@pytest.mark.parametrize("scopes", [["admin"], ["read", "run", "ingest", "admin"]])
def test_other_keys_open_nothing(cast: Cast, directory: Directory, scopes: list[str]) -> None:
    _, text = keys.create_key(cast.team, "x", Role.OWNER, scopes=scopes)
    assert Directory(text).ask("GET", "Users").status == 403
    _, text = keys.create_key(cast.team, "y", Role.ADMIN, scopes=[Scope.SCIM])
    assert Directory(text).ask("GET", "Users").status == 403
    assert Directory("agui_wrong").ask("GET", "Users").status == 401
    assert ask_now("GET", "/scim/v2/Users", cast.alice.cookie).status == 401


def test_a_name_is_taken_once(cast: Cast, directory: Directory) -> None:
    directory.user()
    again = directory.ask("POST", "Users", {"userName": "DORA@example.com"})
    assert (again.status, again.json["scimType"]) == (409, "uniqueness")
    assert again.json["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]


def test_pages(cast: Cast, directory: Directory) -> None:
    for number in range(5):
        directory.user(f"p{number}@example.com", externalId=str(number))

    def page(query: str) -> tuple[int, int, int, list[str]]:
        body = directory.ask("GET", f"Users?{query}").json
        names = [row["userName"][:2] for row in body["Resources"]]
        return body["totalResults"], body["startIndex"], body["itemsPerPage"], names

    assert page("startIndex=2&count=2") == (5, 2, 2, ["p1", "p2"])
    assert page("count=0") == (5, 1, 0, [])
    assert page("startIndex=-3&count=-1") == (5, 1, 0, [])
    assert page("startIndex=6&count=99999") == (5, 6, 0, [])
    assert page("startIndex=x&count=") == (5, 1, 5, ["p0", "p1", "p2", "p3", "p4"])
    only = directory.ask("GET", "Users?count=1&attributes=userName").json["Resources"][0]
    assert only.keys() == {"schemas", "id", "userName"}


@pytest.mark.parametrize(
    "query",
    [
        "userName%20co%20%22x%22", "userName", "title%20eq%20%22x%22",
        "userName%20eq%20%22x%22%20or%20id%20eq%20%22y%22",
        "(" * 500, "active%20eq%20%22x%22",
    ],
)  # fmt: skip
def test_other_filters_are_refused(cast: Cast, directory: Directory, query: str) -> None:
    answer = directory.ask("GET", f"Users?filter={query}")
    assert (answer.status, answer.json["scimType"]) == (400, "invalidFilter")


@pytest.mark.parametrize(
    "body",
    [
        [], "x", {}, {"userName": 7}, {"userName": "dora"}, {"userName": "x" * 300},
        {"userName": "dora@example.com", "active": "perhaps"},
        {"userName": "dora@example.com", "displayName": "x" * 201},
        {"userName": "a\x00@example.com"},
    ],
)  # fmt: skip
def test_odd_users_are_refused(cast: Cast, directory: Directory, body: Any) -> None:
    answer = directory.ask("POST", "Users", body)
    assert (answer.status, answer.json["status"]) == (400, "400"), answer.json
    assert not ScimUser.objects.for_team(cast.team).exists()


def test_what_there_is_describes_itself(cast: Cast, directory: Directory) -> None:
    config = directory.ask("GET", "ServiceProviderConfig").json
    assert config["patch"]["supported"]
    assert not config["bulk"]["supported"]
    kinds = directory.ask("GET", "ResourceTypes").json
    assert [row["endpoint"] for row in kinds["Resources"]] == ["/Users", "/Groups"]
    assert directory.ask("GET", "ResourceTypes/User").json["name"] == "User"
    for row in directory.ask("GET", "Schemas").json["Resources"]:
        assert directory.ask("GET", f"Schemas/{row['id']}").json == row
    assert directory.ask("GET", "Schemas/none").status == 404
    assert directory.ask("GET", f"Users/{uuid4()}").json["status"] == "404"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "Users/dora", 404), ("DELETE", "Users/dora", 404), ("GET", "Bulk", 404),
        ("POST", "Nowhere", 404), ("POST", ".search", 501), ("POST", "Users/.search", 501),
    ],
)  # fmt: skip
def test_errors_elsewhere_have_scims_shape(
    directory: Directory, method: str, path: str, status: int
) -> None:
    answer = directory.ask(method, path, None if method == "GET" else {})
    assert (answer.status, answer.json["status"]) == (status, str(status))
    assert answer.json["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]
