"""Groups and domains of the provider become memberships, at each sign-in through it."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from agui_host.apply.application import applied
from agui_host.apply.document import checked
from agui_host.apply.export import content
from agui_host.teams import keys
from agui_host.teams.models import (
    ApiKey,
    AuditEntry,
    GroupRule,
    Membership,
    Role,
    Scope,
    Team,
    TeamDomain,
)
from tests.cast import Cast
from tests.dashboard.conftest import Browse
from tests.dashboard.provider import Provider
from tests.dashboard.signing import DORA, browser, is_signed_in, role_of_dora
from tests.dashboard.test_openid_connect import go

pytestmark = pytest.mark.usefixtures("no_attempts_yet")


@pytest.fixture(autouse=True)
def invited_only(settings: Any) -> None:
    settings.AGUI_SIGNUP = "invited"


def acts(team: Team) -> list[str]:
    rows = AuditEntry.objects.for_team(team).filter(action__startswith="member.", target="dora")
    return [row.action for row in rows.order_by("id")]


def give(team: Team, group: str, role: Role, *, for_everyone: bool = True) -> None:
    GroupRule.objects.create(team=team, group=group, role=role, for_everyone=for_everyone)


def test_a_group_gives_a_role_changes_it_and_takes_it_away(
    cast: Cast, configured: Provider
) -> None:
    give(cast.team, "crew", Role.MEMBER)
    give(cast.team, "chiefs", Role.ADMIN)
    for groups, role in [
        (["crew", "others"], Role.MEMBER),
        (["crew", "chiefs"], Role.ADMIN),
        ("crew", Role.MEMBER),
        (["others"], None),
        (None, None),
    ]:
        configured.person["groups"] = groups
        client = browser()
        go(client)
        assert is_signed_in(client)
        assert role_of_dora(cast.team) == role, groups
        assert role_of_dora(cast.other_team) is None
    assert acts(cast.team) == ["member.added", "member.changed", "member.changed", "member.removed"]


def test_who_loses_the_group_loses_their_keys(cast: Cast, configured: Provider) -> None:
    give(cast.team, "chiefs", Role.ADMIN)
    configured.person["groups"] = ["chiefs"]
    go(browser())
    dora = User.objects.get(email=DORA)
    key, _ = ApiKey.objects.create_key(team=cast.team, name="k", created_by=dora)
    configured.person["groups"] = []
    go(browser())
    assert ApiKey.objects.for_team(cast.team).get(pk=key.pk).revoked


def test_the_last_owner_stays(cast: Cast, configured: Provider) -> None:
    give(cast.team, "owners", Role.OWNER)
    configured.person["groups"] = ["owners"]
    go(browser())
    Membership.objects.for_team(cast.team).exclude(user__email=DORA).filter(
        role=Role.OWNER
    ).delete()
    configured.person["groups"] = []
    client = browser()
    go(client)
    assert is_signed_in(client)
    assert role_of_dora(cast.team) == Role.OWNER


def test_people_of_a_domain_need_no_invitation(cast: Cast, configured: Provider) -> None:
    TeamDomain.objects.create(team=cast.team, domain="example.com", role=Role.VIEWER)
    client = browser()
    go(client)
    assert is_signed_in(client)
    assert role_of_dora(cast.team) == Role.VIEWER
    TeamDomain.objects.for_team(cast.team).delete()
    go(browser())
    assert role_of_dora(cast.team) is None


@pytest.mark.parametrize(
    "claims",
    [
        {"email_verified": False},
        {"email": "dora@example.com.evil.org"},
        {"email": "dora@sub.example.com"},
        {"email": ""},
    ],
)
def test_an_unproven_or_other_address_gets_nowhere(
    cast: Cast, configured: Provider, claims: dict[str, Any]
) -> None:
    TeamDomain.objects.create(team=cast.team, domain="example.com", role=Role.VIEWER)
    give(cast.team, "crew", Role.ADMIN, for_everyone=False)
    configured.person |= {"groups": ["crew"], **claims}
    client = browser()
    go(client)
    assert not is_signed_in(client)
    assert not User.objects.filter(username="dora").exists()


def test_an_owners_rule_is_for_people_of_the_domain_only(cast: Cast, configured: Provider) -> None:
    give(cast.team, "crew", Role.ADMIN, for_everyone=False)
    give(cast.other_team, "crew", Role.MEMBER, for_everyone=True)
    configured.person["groups"] = ["crew"]
    go(browser())
    assert role_of_dora(cast.team) is None
    assert role_of_dora(cast.other_team) == Role.MEMBER
    TeamDomain.objects.create(team=cast.team, domain="example.com", role=Role.VIEWER)
    go(browser())
    assert role_of_dora(cast.team) == Role.ADMIN


def test_a_membership_that_people_made_stays_theirs(cast: Cast, configured: Provider) -> None:
    configured.person |= {"groups": ["crew"]}
    give(cast.other_team, "crew", Role.MEMBER)
    go(browser())
    dora = User.objects.get(email=DORA)
    Membership.objects.create(team=cast.team, user=dora, role=Role.VIEWER)
    give(cast.team, "crew", Role.ADMIN)
    go(browser())
    assert role_of_dora(cast.team) == Role.VIEWER
    configured.person["groups"] = []
    go(browser())
    assert role_of_dora(cast.team) == Role.VIEWER
    assert role_of_dora(cast.other_team) is None


@pytest.mark.parametrize("claim", [{"a": 1}, 7, [1, None, "", ["crew"], "cr\0ew"], "x" * 300, True])
def test_odd_claims_give_nothing(cast: Cast, configured: Provider, claim: Any) -> None:
    give(cast.team, "crew", Role.ADMIN)
    configured.person["groups"] = claim
    client = browser()
    assert "by invitation only" in go(client).content.decode()


def test_a_reference_to_groups_changes_nothing(cast: Cast, configured: Provider) -> None:
    give(cast.team, "crew", Role.ADMIN)
    configured.person["groups"] = ["crew"]
    go(browser())
    del configured.person["groups"]
    configured.person["_claim_names"] = {"groups": "src1"}
    client = browser()
    go(client)
    assert is_signed_in(client)
    assert role_of_dora(cast.team) == Role.ADMIN


def test_the_file_of_apply_verifies_domains_and_gives_groups_roles(cast: Cast) -> None:
    def apply(**values: Any) -> list[str]:
        return applied(checked({"teams": {cast.team.slug: values}})).lines

    values = {"domains": {"Example.com": "member"}, "groups": {"crew": "admin"}}
    assert len(apply(**values)) == 2
    assert apply(**values) == []
    state = content([cast.team.slug])["teams"][cast.team.slug]
    assert (state["domains"], state["groups"]) == ({"example.com": "member"}, {"crew": "admin"})
    assert len(apply(domains={"example.com": None}, groups={"crew": "viewer"})) == 2
    assert not TeamDomain.objects.for_team(cast.team).exists()
    assert GroupRule.objects.for_team(cast.team).get().role == Role.VIEWER


def test_an_owner_makes_and_removes_a_rule_on_the_page(cast: Cast, browse: Browse) -> None:
    client = browse(cast.alice)
    assert "None yet." in client.get("/team/sign-in/").content.decode()
    refused = client.post("/team/sign-in/", {"group": "crew", "role": "member"})
    assert refused.status_code == 422
    TeamDomain.objects.create(team=cast.team, domain="example.com", role=Role.VIEWER)
    client.post("/team/sign-in/", {"group": "crew", "role": "member"})
    rule = GroupRule.objects.for_team(cast.team).get()
    assert (rule.group, rule.for_everyone) == ("crew", False)
    assert "crew" in client.get("/team/sign-in/").content.decode()
    place = f"/team/sign-in/{rule.pk}/remove"
    assert "Remove this rule?" in client.post(place).content.decode()
    client.post(place, {"confirmed": "yes"})
    assert not GroupRule.objects.for_team(cast.team).exists()


def test_an_account_that_a_directory_made_opens_by_the_provider_only(
    cast: Cast, configured: Provider
) -> None:
    TeamDomain.objects.create(team=cast.team, domain="example.com", role=Role.VIEWER)
    text = keys.create_key(cast.team, "okta", Role.OWNER, scopes=[Scope.SCIM])[1]
    headers = {"authorization": f"Bearer {text}", "accept": "application/scim+json"}
    ask = browser().post
    made = ask(
        "/scim/v2/Users", {"userName": DORA}, content_type="application/json", headers=headers
    )
    assert made.status_code == 201
    configured.person["email_verified"] = False
    unproven = browser()
    go(unproven)
    assert not is_signed_in(unproven)
    configured.person["email_verified"] = True
    client = browser()
    go(client)
    assert is_signed_in(client)
    assert User.objects.filter(email=DORA).count() == 1
    assert role_of_dora(cast.team) == Role.VIEWER
