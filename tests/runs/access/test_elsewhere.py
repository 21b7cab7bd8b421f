"""A page of one's other team: a 404 that names the team, and switches to it."""

from uuid import uuid4

from django.test import Client

from agui_host.dashboard.pages import posts_from
from agui_host.dashboard.urls import urlpatterns
from agui_host.runtimes.models import Agent
from agui_host.teams.models import Membership, Role
from runs.access.inspect import elsewhere
from runs.models import Alert, AlertState, DataSet, Measure, Thread, Trial, Visibility
from tests.cast import Cast, start

NOT_OF_A_TEAM = {"token", "name", "pk", "provider_id", "uidb36", "key_id"}
ELSEWHERE = ("operator/teams/<slug:slug>/", "team/members/<int:member_id>/remove")
"""For operators, who see every team; and no thing that anybody sends a link to."""


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
    assert elsewhere.team_of(cast.alice.principal, {"run_id": run.pk}) == cast.other_team
    assert elsewhere.team_of(cast.alice.principal, {"run_id": uuid4()}) is None
    assert elsewhere.team_of(cast.bob.principal, {"run_id": run.pk}) is None
    Thread.objects.for_team(cast.other_team).update(visibility=Visibility.PRIVATE)
    assert elsewhere.team_of(cast.alice.principal, {"key": run.thread_id}) is None


def test_every_page_of_one_thing_is_looked_for(cast: Cast) -> None:
    """By construction: a new page whose address names a thing needs a line in ``SEES``."""
    pages = [each.pattern for each in urlpatterns if posts_from(each.callback) is None]
    names = {name for each in pages if str(each) not in ELSEWHERE for name in each.converters}
    assert names - NOT_OF_A_TEAM == set(elsewhere.SEES)


def test_things_other_than_runs_are_found_in_the_other_team(cast: Cast) -> None:
    team, mark = cast.other_team, {"created_by": "user:charlie"}
    alert = Alert.objects.create(
        team=team, name="Slow", measure=Measure.COST, threshold=1, window_hours=1, tell=[],
        state=AlertState.OK, **mark,
    )  # fmt: skip
    row = DataSet.objects.create(team=team, name="Set", creator="user:0", **mark)
    trial = Trial.objects.create(team=team, data_set=row, agent="far", **mark)
    Agent.objects.create(team=team, slug="only-theirs", name="Theirs")
    addresses = (f"/alerts/{alert.pk}/", f"/datasets/{row.pk}/", f"/trials/{trial.pk}/",
                 "/agents/only-theirs/")  # fmt: skip
    browser = browser_of(cast)
    for address in addresses:
        assert "Globex" not in browser.get(address).content.decode(), address
    Membership.objects.create(user=cast.alice.user, team=team, role=Role.MEMBER)
    for address in addresses:
        page = browser.get(address)
        assert page.status_code == 404
        assert "It belongs to your other team, <bdi>Globex</bdi>" in page.content.decode(), address
