"""The first visit of a new team: four steps, each ticked as soon as it is done, then none."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from agui_host.teams.models import Membership, Role, Team
from runs.models import Run
from tests.asgi import ask_now
from tests.cast import Cast
from tests.dashboard.conftest import Browse

pytestmark = pytest.mark.django_db(transaction=True)
NEW_KEY = {"name": "bot", "role": "member", "scopes": ["read", "run"]}
TITLES = ["Connect an agent", "Start a first run", "Create a key", "Call it from your program"]


def ticks(client: Client) -> dict[str, bool]:
    """The steps on the overview, and whether each is ticked."""
    text = client.get("/").content.decode()
    steps = re.findall(r"<li( class=\"done\")?><a href=\"([^\"]+)\">([^<]+)</a>", text)
    shown_steps = {title: bool(done) for done, page, title in steps if title in TITLES}
    for _, page, title in steps:
        if title in TITLES:
            address, _, place = page.partition("#")
            assert client.get(address).status_code == 200
            if shown_steps["Connect an agent"] and place:
                assert f'id="{place}"' in client.get(address).content.decode(), page
    return shown_steps


def test_a_new_team_takes_four_steps(db: None) -> None:
    team = Team.objects.create(slug="fresh", name="Fresh")
    owner = User.objects.create_user("nora")
    Membership.objects.create(team=team, user=owner, role=Role.OWNER)
    client = Client(headers={"accept": "text/html"})
    client.force_login(owner)
    assert ticks(client) == dict.fromkeys(TITLES, False)

    client.post("/agents/connect", {"kind": "external", "slug": "mine", "connect": "yes"})
    assert ticks(client) == dict(zip(TITLES, [True, False, False, False], strict=True))
    client.post("/agents/mine/try", {"message": "Hello"})
    assert Run.objects.for_team(team).exists()
    assert ticks(client) == dict(zip(TITLES, [True, True, False, False], strict=True))
    made = client.post(reverse("team-keys"), NEW_KEY)
    key = re.findall(r"agui_\w+\.\w+", made.content.decode())[0]
    assert ticks(client) == dict(zip(TITLES, [True, True, True, False], strict=True))
    answer = ask_now("GET", "/api/v1/runs", {"authorization": f"Bearer {key}"})
    assert answer.status == 200
    assert ticks(client) == {}, "who has done everything is not told of it again"


def test_who_cannot_take_them_is_not_shown_them(cast: Cast, browse: Browse) -> None:
    assert ticks(browse(cast.bob)) == {}
    assert ticks(browse(cast.vera)) == {}
