"""A run or thread of one's other team: a 404 that names the team, and switches to it."""

from uuid import uuid4

from django.test import Client

from agui_host.teams.models import Membership, Role
from runs.access.inspect import elsewhere
from runs.models import Thread, Visibility
from tests.cast import Cast, start


def browser_of(cast: Cast) -> Client:
    client = Client(headers={"accept": "text/html"})
    client.force_login(cast.alice.user)
    return client


def test_the_page_offers_to_switch(cast: Cast) -> None:
    run = start(cast.charlie)
    browser = browser_of(cast)
    addresses = (f"/runs/{run.pk}/", f"/threads/{run.thread_id}/")
    for address in addresses:
        page = browser.get(address)
        assert (page.status_code, "Globex" in page.content.decode()) == (404, False)
    Membership.objects.create(user=cast.alice.user, team=cast.other_team, role=Role.MEMBER)
    for address in addresses:
        page = browser.get(address)
        text = page.content.decode()
        assert page.status_code == 404
        assert "It belongs to your other team, <bdi>Globex</bdi>" in text
        assert f'name="next" value="{address}"' in text
    values = {"team": cast.other_team.pk, "next": addresses[1]}
    assert browser.post("/team/switch", values)["Location"] == addresses[1]
    assert browser.get(addresses[1]).status_code == 200


def test_a_switch_leads_to_no_other_host(cast: Cast) -> None:
    for address in ("https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:x"):
        values = {"team": cast.team.pk, "next": address}
        assert browser_of(cast).post("/team/switch", values)["Location"] == "/runs/", address


def test_what_the_person_cannot_see_there_is_nowhere(cast: Cast) -> None:
    run = start(cast.charlie)
    Membership.objects.create(user=cast.alice.user, team=cast.other_team, role=Role.MEMBER)
    assert elsewhere.team_of(cast.alice.principal, run=run.pk) == cast.other_team
    assert elsewhere.team_of(cast.alice.principal, run=uuid4()) is None
    assert elsewhere.team_of(cast.bob.principal, run=run.pk) is None
    Thread.objects.for_team(cast.other_team).update(visibility=Visibility.PRIVATE)
    assert elsewhere.team_of(cast.alice.principal, thread=run.thread_id) is None
