"""Reading a team's log, and taking it away as a file."""

import csv
import io
import json
from typing import Any

import pytest

from agui_host.teams import audit
from agui_host.teams.api import audit as api
from agui_host.teams.models import AuditEntry
from tests.asgi import Answer, ask_now
from tests.cast import Actor, Cast, bell, cast

__all__ = ["bell", "cast"]

pytestmark = pytest.mark.django_db(transaction=True)

AUDIT = "/api/v1/audit"


def read(actor: Actor, query: str = "", form: str = "") -> Answer:
    return ask_now("GET", f"{AUDIT}{form}{query}", actor.headers)


def targets(answer: Answer) -> list[Any]:
    return [line["target"] for line in answer.json["results"]]


@pytest.fixture
def lines(cast: Cast) -> None:
    for number in range(5):
        audit.record("user:bob", cast.team, "thing.made", str(number))
    audit.record("key:abcd1234", cast.team, "thing.lost", "=0", reason="lost")
    audit.record("user:charlie", cast.other_team, "thing.made", "theirs")


@pytest.mark.usefixtures("lines")
class TestReading:
    def test_it_is_the_teams_own_newest_first(self, cast: Cast) -> None:
        assert targets(read(cast.alice))[:6] == ["=0", "4", "3", "2", "1", "0"]
        assert targets(read(cast.charlie))[:1] == ["theirs"]
        assert "theirs" not in targets(read(cast.alice))

    def test_pages_lead_on(self, cast: Cast) -> None:
        first = read(cast.alice, "?limit=2&action=thing.made")
        assert targets(first) == ["4", "3"]
        path, _, query = first.json["next"].partition("?")
        assert path.endswith(AUDIT)
        assert targets(read(cast.alice, f"?{query}")) == ["2", "1"]

    @pytest.mark.parametrize(
        ("query", "actions"),
        [
            ("?action=thing.lost", ["=0"]),
            ("?who=key:abcd1234", ["=0"]),
            ("?target=3", ["3"]),
            ("?target=theirs", []),
            ("?who=user:charlie", []),
            ("?until=2020-01-01T00:00:00Z", []),
            ("?action=thing.made&since=2020-01-01T00:00:00Z", ["4", "3", "2", "1", "0"]),
        ],
    )
    def test_filters(self, cast: Cast, query: str, actions: list[str]) -> None:
        assert targets(read(cast.alice, query)) == actions

    def test_a_member_may_not(self, cast: Cast) -> None:
        for form in ("", ".csv", ".ndjson"):
            answer = read(cast.bob, form=form)
            assert (answer.status, answer.code) == (403, "forbidden")

    def test_a_filter_that_makes_no_sense_is_refused(self, cast: Cast) -> None:
        for form in ("", ".csv"):
            assert read(cast.alice, "?since=yesterday", form).status == 422


@pytest.mark.usefixtures("lines")
class TestExport:
    @pytest.fixture(autouse=True)
    def small_pages(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(api, "PAGE", 2)

    def test_csv_has_every_line_once_and_no_formulas(self, cast: Cast) -> None:
        answer = read(cast.alice, "?since=2020-01-01T00:00:00Z", ".csv")
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        rows = list(csv.DictReader(io.StringIO(answer.body.decode())))
        of_keys = [row for row in rows if row["action"].startswith("thing.")]
        assert [row["target"] for row in of_keys] == ["0", "1", "2", "3", "4", "'=0"]
        assert len({row["id"] for row in rows}) == len(rows)

    def test_ndjson_is_what_the_list_shows(self, cast: Cast) -> None:
        results = read(cast.alice, "?action=thing.lost").json["results"]
        answer = read(cast.alice, "?action=thing.lost", ".ndjson")
        assert [json.loads(line) for line in answer.body.splitlines()] == results

    def test_taking_it_away_is_an_act(self, cast: Cast) -> None:
        read(cast.alice, "?action=thing.lost", ".csv")
        line = AuditEntry.objects.for_team(cast.team).get(action="audit.exported")
        assert (line.target, line.address) == ("csv", "127.0.0.1")
        assert line.who.startswith("key:")
        assert json.loads(line.details) == {"filters": {"action": "thing.lost"}}
