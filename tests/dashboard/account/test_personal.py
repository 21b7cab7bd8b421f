"""One's own data, on a page and as a file."""

import json

from tests.cast import Cast
from tests.dashboard.conftest import Browse
from tests.dashboard.signing import browser


def test_the_page_leads_to_ones_own_data(cast: Cast, browse: Browse) -> None:
    client = browse(cast.bob)
    assert "/account/data/export" in client.get("/account/data/").content.decode()
    answer = client.get("/account/data/export")
    assert answer["Content-Disposition"].startswith("attachment")
    rows = [json.loads(line) for line in answer.content.decode().splitlines()]
    assert {row["username"] for row in rows if row["kind"] == "auth.user"} == {"bob"}
    teams = {row["team_id"] for row in rows if row["kind"] == "teams.membership"}
    assert teams == {str(cast.team.pk)}


def test_strangers_sign_in_first(cast: Cast) -> None:
    for place in ("/account/data/", "/account/data/export"):
        assert browser().get(place)["Location"].startswith("/login/")
