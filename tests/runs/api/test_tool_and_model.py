"""``tool`` and ``model`` in the list of runs."""

from urllib.parse import quote

import pytest
from django.utils import timezone

from runs.api import filters
from runs.lifecycle.words import search, storing
from runs.models import Run, ToolCall
from tests.asgi import ask_now
from tests.cast import Actor, Cast, start
from tests.runs.words.test_storing import saying

pytestmark = pytest.mark.django_db(transaction=True)


def listed(actor: Actor, query: str) -> list[str]:
    answer = ask_now("GET", f"/api/v1/runs?{query}", actor.cookie)
    assert answer.status == 200, answer.body
    return [row["id"] for row in answer.json["results"]]


ODD = 'a "b" \u2028 & c'


def mark(run: Run, tool: str = "stripe.charge", model: str = "gpt-5") -> None:
    """This run called a tool, and its agent a model."""
    Run.objects.filter(pk=run.pk).update(by_model=[{"model": "other"}, {"model": model}])
    ToolCall.objects.create(
        team=run.team, run=run, agent=run.agent, seq=1, call="1", name=tool, at=timezone.now(),
        root=run.pk, status="ok",
    )  # fmt: skip


def test_they_name_the_whole_tool_or_model(cast: Cast) -> None:
    runs = [start(cast.alice, threadId=f"t{number}") for number in range(3)]
    mark(runs[0])
    mark(runs[2], tool="look", model=ODD)
    mark(start(cast.charlie))
    for query, expected in {
        "tool=stripe.charge": [0], "tool=charge": [], "tool=look": [2], "model=gpt-5": [0],
        "model=gpt": [], "model=other": [2, 0], "tool=look&model=gpt-5": [],
        "tool=look&thread_id=t2": [2], "tool=look&thread_id=t1": [], "tool=": [2, 1, 0],
        f"model={quote(ODD)}": [2], "model=other&limit=1": [2],
        "model=other&created_after=2020-01-01": [2, 0], "model=%5B%7B%7D%5D": [],
    }.items():  # fmt: skip
        assert listed(cast.vera, query) == [str(runs[number].pk) for number in expected], query


@pytest.mark.parametrize("query", ["tool=" + "x" * 201, "model=" + "x" * 201, "tool=%00"])
def test_no_name_at_all_is_refused(cast: Cast, query: str) -> None:
    assert ask_now("GET", f"/api/v1/runs?{query}", cast.vera.cookie).status in (400, 422)


def test_only_the_newest_runs_are_looked_at(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "DEPTH", 2)
    runs = [start(cast.alice, threadId=f"t{number}") for number in range(3)]
    for run in runs:
        mark(run)
    newest = [str(runs[2].pk), str(runs[1].pk)]
    assert listed(cast.vera, "tool=stripe.charge") == newest
    assert listed(cast.vera, "tool=stripe.charge&created_after=2020-01-01") == newest
    assert listed(cast.vera, "tool=stripe.charge&thread_id=t0") == [str(runs[0].pk)]


@pytest.mark.parametrize("enough", [1, 500])
def test_with_a_text(cast: Cast, monkeypatch: pytest.MonkeyPatch, enough: int) -> None:
    monkeypatch.setattr(search, "ENOUGH", enough)
    runs = [saying(cast.alice, "refund", f"t{number}") for number in range(4)]
    storing.run_once(20)
    mark(runs[0])
    mark(runs[2])
    address, pages = "/api/v1/runs?q=refund&tool=stripe.charge&limit=1", []
    while address:
        answer = ask_now("GET", address, cast.vera.cookie).json
        pages.append([row["id"] for row in answer["results"]])
        address = (answer["next"] or "").replace("http://localhost", "")
    assert pages == [[str(runs[2].pk)], [str(runs[0].pk)]]


def test_the_description_has_both(cast: Cast) -> None:
    document = ask_now("GET", "/api/schema/?format=json", cast.vera.cookie).json
    rows = document["paths"]["/api/v1/runs"]["get"]["parameters"]
    assert {"tool", "model"} <= {row["name"] for row in rows}
