"""The page of budgets: meters, and forms for owners and admins."""

from uuid import uuid4

import pytest
from django.test import Client

from agui_host.teams.models import ApiKey, Membership
from runs.lifecycle.budgets import spending
from runs.models import Budget, Spent
from tests.cast import Cast, start
from tests.dashboard.conftest import SURE, Browse

pytestmark = pytest.mark.django_db
NEW = {"scope": "agent", "of": "echo", "amount": "50", "unit": "cost", "period": "month",
       "at_limit": "ask"}  # fmt: skip


def page(client: Client, status: int = 200) -> str:
    answer = client.get("/budgets/")
    assert answer.status_code == status
    return answer.content.decode()


def test_an_owner_makes_changes_and_deletes_one(cast: Cast, browse: Browse) -> None:
    owner = browse(cast.alice)
    assert owner.post("/budgets/", NEW).status_code == 302
    row = Budget.objects.for_team(cast.team).get()
    assert (row.scope, row.of, row.unit, row.period, row.at_limit) == (
        "agent", "echo", "cost", "month", "ask",
    )  # fmt: skip
    Spent.objects.create(team=cast.team, run_id=start(cast.alice).pk, keys=[row.key], tokens=1,
                         cost=42)  # fmt: skip
    spending.settle(cast.team.pk)
    text = page(owner)
    assert "$42.00 of $50.00, 84 %" in text
    assert "nearly spent" in text
    assert 'href="/runs/?agent=echo&amp;since=' in text
    assert "84 % of the budget of $50 for this month is used" in owner.get("/").content.decode()
    assert "84 % of the budget" in owner.get("/inbox/").content.decode()
    change = {"amount": "100", "at_limit": "end"}
    assert owner.post(f"/budgets/{row.pk}/change", change).status_code == 302
    assert "$42.00 of $100.00" in page(owner)
    refused = owner.post(f"/budgets/{row.pk}/change", {"amount": "-1"})
    assert refused.status_code == 422
    assert "was not changed" in refused.content.decode()
    assert "Delete this budget?" in owner.post(f"/budgets/{row.pk}/remove").content.decode()
    assert owner.post(f"/budgets/{row.pk}/remove", SURE).status_code == 302
    assert not Budget.objects.for_team(cast.team).exists()


def test_the_reserve_is_learned_or_set(cast: Cast, browse: Browse) -> None:
    owner = browse(cast.alice)
    owner.post("/budgets/", NEW)
    row = Budget.objects.for_team(cast.team).get()
    assert row.reserve is None
    assert "No call was counted yet" in page(owner)
    Budget.objects.filter(pk=row.pk).update(calls=3, largest="1234.5")
    assert "Reserve for a model call: $1,234.50, the largest so far" in page(browse(cast.vera))
    change, terms = f"/budgets/{row.pk}/change", {"amount": "50", "at_limit": "ask"}
    owner.post(change, terms | {"reserve": "0.25"})
    text = page(owner)
    assert "Reserve for a model call: $0.25<" in text
    assert 'name="reserve" value="0.25"' in text
    owner.post(change, terms)  # the form of an earlier release
    assert "Reserve for a model call: $0.25<" in page(owner)
    owner.post(change, terms | {"reserve": ""})
    assert "the largest so far" in page(owner)
    assert owner.post(change, terms | {"reserve": "-1"}).status_code == 422
    owner.post("/budgets/", NEW | {"unit": "tokens", "reserve": "9000"})
    assert "Reserve for a model call: 9,000 tokens<" in page(owner)


def test_many_budgets_have_pages(cast: Cast, browse: Browse) -> None:
    client = browse(cast.alice)
    Budget.objects.bulk_create(
        Budget(
            team=cast.team, scope="agent", of="echo", key=str(cast.echo.pk), unit="cost", max=5,
            created_by="user:alice",
        )
        for _ in range(51)
    )  # fmt: skip
    pages = [client.get(f"/budgets/?page={number}").content.decode() for number in (1, 2)]
    assert [text.count("<meter") for text in pages] == [50, 1]
    assert ["More budgets" in text for text in pages] == [True, False]


def test_a_budget_leads_to_its_runs(cast: Cast, browse: Browse) -> None:
    """Also one that was made by an id; one without a period counts runs from before it."""
    client = browse(cast.alice)
    member = Membership.objects.for_team(cast.team).get(user=cast.bob.user)
    key = ApiKey.objects.for_team(cast.team).first()
    assert key is not None
    ApiKey.objects.filter(pk=key.pk).update(end_user_realm=uuid4(), end_user_secret="s")
    for scope, of, link in (
        ("agent", str(cast.echo.pk), "agent=echo"),
        ("person", str(member.pk), "started_by=user%3Abob"),
        ("person", "end:ann", "started_by=end%3Aann"),
        ("person", f"end:eve@{key.prefix}", f"started_by=end%3Aeve%40{key.prefix}"),
        ("team", "", "since="),
    ):  # fmt: skip
        body = NEW | {"scope": scope, "of": of}
        assert client.post("/budgets/", body).status_code == 302, scope
        assert f'href="/runs/?{link}' in page(client), scope
    assert client.post("/budgets/", NEW | {"period": ""}).status_code == 302
    text = page(client)
    assert 'href="/runs/?agent=echo"' in text
    assert "in total" in text


def test_others_see_the_meters_only(cast: Cast, browse: Browse) -> None:
    browse(cast.alice).post("/budgets/", {**NEW, "of": "<b>"})
    assert not Budget.objects.for_team(cast.team).exists()
    browse(cast.alice).post("/budgets/", {**NEW, "unit": "tokens", "amount": "1000000.7"})
    for actor in (cast.bob, cast.vera):
        client = browse(actor)
        text = page(client)
        assert "0 of 1,000,001 tokens" in text
        assert "<form" not in text.split("<main")[1]
        assert "84 %" not in client.get("/").content.decode()
        row = Budget.objects.for_team(cast.team).get()
        change = {"amount": "1", "at_limit": "end"}
        assert client.post(f"/budgets/{row.pk}/change", change).status_code == 403
        assert client.post(f"/budgets/{row.pk}/remove", SURE).status_code == 403
        assert client.post("/budgets/", NEW).status_code == 403
    assert "no budgets yet" in page(browse(cast.charlie))
    assert browse(cast.charlie).post(f"/budgets/{row.pk}/remove", SURE).status_code == 404


@pytest.mark.parametrize("fields", [
    {"of": "nobody"}, {"amount": "lots"}, {"scope": "planet"}, {"amount": "9" * 30},
    {"unit": "euros"}, {"period": "year"}, {"of": "a" * 300}, {"of": "\x00"},
])  # fmt: skip
def test_a_wrong_form_comes_back_with_its_fault(
    cast: Cast, browse: Browse, fields: dict[str, str]
) -> None:
    answer = browse(cast.alice).post("/budgets/", NEW | fields)
    assert answer.status_code == 422
    assert 'role="alert"' in answer.content.decode()
