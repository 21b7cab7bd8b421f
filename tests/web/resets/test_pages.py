"""Pages of a run that take a cursor of its log: one of an event that was lost is a reset."""

import pytest

from agui_host.backends.postgres.bridge import db
from tests.asgi import ask
from tests.cast import Cast, LiveRun
from tests.web.resets.rewinding import go_back
from tests.web.resets.shapes import HEAD, NUMBER, RESET, ours

pytestmark = pytest.mark.django_db(transaction=True)
PAGES = {
    "outline": "since",
    "state": "at",
    "state/history": "after",
    "export": "at",
}


@pytest.mark.parametrize("page", PAGES)
async def test_a_cursor_of_a_lost_event(cast: Cast, live: LiveRun, page: str) -> None:
    url = f"/api/v1/runs/{live.run.pk}/{page}?{PAGES[page]}="
    headers = cast.alice.headers
    for cursor in ("4", "1-4"):
        assert (await ask("GET", url + cursor, headers)).status == 200
    await db(go_back, live, HEAD)
    lost = await ask("GET", f"{url}1-4", headers)
    assert (lost.status, ours(lost.body)) == (410, RESET)
    for cursor in (f"1-{HEAD}", str(HEAD)):
        assert (await ask("GET", url + cursor, headers)).status == 200
    for cursor in ("4", f"{NUMBER}-4", "0-1", "1-", "x"):
        assert (await ask("GET", url + cursor, headers)).code == "bad_cursor"


async def test_an_outline_names_the_cursor_to_ask_with(cast: Cast, live: LiveRun) -> None:
    url = f"/api/v1/runs/{live.run.pk}/outline"
    answer = (await ask("GET", url, cast.alice.headers)).json
    assert (answer["head"], answer["cursor"]) == (4, "4")
    later = await ask("GET", f"{url}?since={answer['cursor']}", cast.alice.headers)
    assert later.json["rows"] == []
