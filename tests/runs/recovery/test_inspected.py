"""Attempts and effects where people look at a run: its outline, page, trace and comparison."""

from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from runs.access import sharing
from runs.models import Run
from tests.asgi import ask
from tests.cast import Cast
from tests.dashboard.conftest import Browse, browse
from tests.runs.playing import settled
from tests.runs.recovery.lost import Begin, begin, lose
from tests.runs.recovery.test_continuing import Steps, stored

__all__ = ["begin", "browse"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def run(begin: Begin) -> Run:
    """Its second attempt read two effects back, and made the third again."""
    steps = Steps()
    workers = await begin(steps)
    await steps.here.wait()
    await stored(workers, 7)
    assert await db(lose, workers.run)
    await workers.take()
    done, _ = await settled(await workers.to_the_end())
    return done


async def test_the_outline(cast: Cast, run: Run) -> None:
    url = f"/api/v1/runs/{run.pk}/outline"
    outline = (await ask("GET", url, cast.alice.headers)).json
    attempts = [row for row in outline["rows"] if row["kind"] == "attempt"]
    assert [(row["name"], row["status"], row["gist"]) for row in attempts] == [
        ("", "unfinished", ""),
        ("attempt 2", "succeeded", "worker_lost"),
    ]
    assert attempts[0]["seq1"] == attempts[1]["seq0"]
    gists = {row["name"]: (row["status"], row["gist"]) for row in outline["effects"]}
    assert gists == {
        "step-0": ("succeeded", "done, attempt 1, read back by attempt 2"),
        "step-1": ("succeeded", "done, attempt 1, read back by attempt 2"),
        "step-2": ("succeeded", "done, attempt 2"),
        "step-3": ("succeeded", "done, attempt 2"),
        "step-4": ("succeeded", "done, attempt 2"),
    }
    assert {row["n"] for row in outline["effects"]} == set(range(-5, 0))
    for actor in (cast.bob, cast.vera):
        body = (await ask("GET", url, actor.headers)).json
        assert (body["rows"], body["effects"]) == (outline["rows"], [])
    assert (await ask("GET", url, cast.charlie.headers)).status == 404


async def test_links_see_attempts_only(cast: Cast, run: Run) -> None:
    whom, terms = sharing.To(), sharing.Terms()
    _, token = await db(sharing.share, cast.alice.principal, run, whom, terms)
    answer = await ask("GET", f"/shared/{token}/runs/{run.pk}/outline")
    assert answer.json["effects"] == []
    assert "attempt 2" in [row["name"] for row in answer.json["rows"]]


async def test_the_trace(cast: Cast, run: Run) -> None:
    url = f"/api/v1/runs/{run.pk}/export?format=trace"

    async def events(headers: dict[str, str]) -> list[dict[str, Any]]:
        trace: list[dict[str, Any]] = (await ask("GET", url, headers)).json["traceEvents"]
        return trace

    mine, others = await events(cast.alice.headers), await events(cast.bob.headers)
    effects = [event for event in mine if event.get("cat") == "effect"]
    assert [event["name"] for event in effects] == [f"step-{n}" for n in range(5)]
    (track,) = {event["tid"] for event in effects}
    assert {"effects"} == {
        event["args"]["name"] for event in mine if event["ph"] == "M" and event["tid"] == track
    }
    assert [event for event in others if event.get("cat") == "effect"] == []
    assert "attempt 2" in [event["name"] for event in others]


async def test_the_page_and_the_comparison(cast: Cast, run: Run, browse: Browse) -> None:
    def look() -> None:
        page = browse(cast.alice).get(f"/runs/{run.pk}/").content.decode()
        assert page.count("read back by attempt 2") == 2
        compared = f"/runs/{run.pk}/compare?with={run.pk}"
        assert "step-4" in browse(cast.alice).get(compared).content.decode()
        assert "step-4" not in browse(cast.bob).get(compared).content.decode()

    await db(look)
