"""The operators' page shows queues, workers, streams and the biggest teams of the whole host."""

import asyncio
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agui_host.backends.stream_limit import Seats
from agui_host.dashboard.operator import host
from agui_host.runtimes.models import Agent
from agui_host.teams.models import Team
from runs.lifecycle.usage import rollup
from runs.models import Run, TeamUsage, Worker
from tests.cast import Cast, start
from tests.dashboard.conftest import Browse
from tests.runs.jobs import FINISHED
from tests.runs.usage.test_usage import run_of

pytestmark = pytest.mark.django_db(transaction=True)
TILE = re.compile(r"<span>([^<]+)</span> <b>([^<]+)</b> <small>([^<]*)</small>")
CELL = re.compile(r"<[^>]+>")


@pytest.fixture
def operator(cast: Cast, browse: Browse) -> Any:
    User.objects.filter(pk=cast.alice.user.pk).update(is_superuser=True, is_staff=True)
    return browse(cast.alice)


def opened(client: Any, query: str = "") -> str:
    answer = client.get(f"/operator/{query}")
    assert answer.status_code == 200
    text: str = answer.content.decode()
    return text


def rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the table with this heading."""
    body = text.split(f'aria-labelledby="{heading}"', 1)[1].split("</table>", 1)[0]
    lines = body.split("<tr>")[2:]
    return [
        [CELL.sub("", cell).strip() for cell in re.split(r"</t[hd]>", line)[:-1]] for line in lines
    ]


def tiles(text: str) -> dict[str, tuple[str, str]]:
    return {name: (number, hint) for name, number, hint in TILE.findall(text)}


def test_an_idle_host(operator: Any) -> None:
    text = opened(operator)
    assert tiles(text)["Waiting for a worker"] == ("0", "no run waits")
    assert tiles(text)["Workers"][0] == "0"
    assert rows(text, "queues") == [["default", "0", "–", "none"]]
    assert "No worker is registered" in text


def test_runs_that_wait_and_the_workers_for_them(cast: Cast, operator: Any) -> None:
    Agent.objects.filter(pk=cast.echo.pk).update(queue="gpu")
    oldest = start(cast.alice)
    start(cast.bob)
    start(cast.charlie)
    Run.objects.for_team(cast.team).filter(pk=oldest.pk).update(
        created_at=timezone.now() - timedelta(hours=2)
    )
    turn = start(cast.bob)
    Run.objects.for_team(cast.team).filter(pk=turn.pk).update(stamp=None, due_at=None)
    Worker.objects.create(queues=["default"], free=7)
    Worker.objects.create(queues=["default", "gpu"], free=1, draining=True)
    Worker.objects.create(queues=["gpu"], free=9)
    Worker.objects.filter(queues=["gpu"]).update(heartbeat=timezone.now() - timedelta(days=1))
    text = opened(operator)
    assert tiles(text)["Waiting for a worker"] == ("3", "the oldest run for 2 h 00 m")
    assert tiles(text)["Waiting for their turn"][0] == "1"
    assert tiles(text)["Workers"] == ("1", "0 runs under way, 8 places free")
    assert [(row[0], row[1], row[3]) for row in rows(text, "queues")] == [
        ("default", "1", "1"), ("gpu", "2", "none"),
    ]  # fmt: skip
    states = [row[0].split() for row in rows(text, "workers")]
    assert [state[1:] for state in states] == [[], ["draining"], ["lost"]]


def test_the_biggest_teams_by_each_measure(cast: Cast, operator: Any) -> None:
    for _ in range(3):
        run_of(cast.alice, cast.echo, FINISHED)
    run_of(cast.charlie, None, FINISHED)
    start(cast.charlie)
    rollup.run_once(60)
    TeamUsage.objects.filter(team=cast.team).update(stored_bytes=2048)
    TeamUsage.objects.filter(team=cast.other_team).update(stored_bytes=5 * 1024**3)
    own, other = cast.team.slug, cast.other_team.slug

    def order(sort: str) -> list[str]:
        return [row[0] for row in rows(opened(operator, f"?sort={sort}"), "teams")]

    assert (order("cost"), order("runs"), order("bytes")) == (
        [own, other],
        [own, other],
        [other, own],
    )
    assert order("waiting") == [other]
    assert order("nonsense") == order("cost")
    [first, second] = rows(opened(operator), "teams")
    assert first[1:6] == ["$3.00", "3", "0", "2.0\xa0KB", "0"]
    assert second[1:6] == ["$1.00", "1", "0", "5.0\xa0GB", "1"]


def test_open_streams_of_every_team(cast: Cast, operator: Any) -> None:
    run_of(cast.alice, cast.echo, FINISHED)
    rollup.run_once(60)

    async def text() -> str:
        seats = Seats()
        async with seats.taken(cast.team.pk, 9), seats.taken(cast.other_team.pk, 9):
            await seats.tell()
            return await asyncio.to_thread(opened, operator)

    page = asyncio.run(text())
    assert tiles(page)["Open streams"] == ("2", "of all teams")
    assert [row[6] for row in rows(page, "teams")] == ["1"]


def test_a_server_without_counts(operator: Any, settings: Any, monkeypatch: Any) -> None:
    settings.REDIS_URL = "unix:///nowhere/valkey.sock"
    assert tiles(opened(operator))["Open streams"] == ("–", "the counts cannot be read")


def test_the_queries_do_not_grow_with_teams(cast: Cast, operator: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(host, "MOST", 1_000)

    def queries() -> int:
        with CaptureQueriesContext(connection) as queries_of_page:
            opened(operator, "?sort=bytes")
        return len(queries_of_page)

    TeamUsage.objects.create(team=cast.team, stored_bytes=1)
    few = queries()
    teams = [Team(slug=f"team-{number}", name="T") for number in range(60)]
    Team.objects.bulk_create(teams)
    TeamUsage.objects.bulk_create([TeamUsage(team=team, stored_bytes=1) for team in teams])
    assert queries() == few


def test_the_search_is_about_names_only(operator: Any) -> None:
    assert "Biggest teams" not in opened(operator, "?q=acme")
