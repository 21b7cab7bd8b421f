"""The state that a run begins with, from a form that the agent's schema makes, or as JSON."""

import json
import re
from html import unescape
from typing import Any

import pytest

from agui_host.runtimes.models import Agent
from runs.models import Run
from tests.cast import Cast
from tests.dashboard.agents.test_agent_pages import page
from tests.dashboard.conftest import Browse

pytestmark = pytest.mark.django_db(transaction=True)
# The database stores the members of an object by length: city, days, unit, route, stops, metric.
SCHEMA = {
    "type": "object",
    "required": ["city"],
    "properties": {
        "city": {"type": "string", "title": "City", "maxLength": 60},
        "days": {"type": "integer", "default": 3, "minimum": 1},
        "metric": {"type": "boolean"},
        "unit": {"enum": ["km", "mi"]},
        "stops": {"type": "array", "items": {"type": "string"}},
        "route": {"type": "object"},
    },
}
NAME = re.compile(r'name="(state-part\d)"')


def with_schema(cast: Cast, schema: Any = SCHEMA, **fields: Any) -> None:
    Agent.objects.filter(pk=cast.echo.pk).update(state_schema=schema, **fields)


def send(cast: Cast, browse: Browse, status: int, **values: Any) -> str:
    form = {name.replace("_", "-"): value for name, value in values.items()}
    answer = browse(cast.bob).post("/agents/echo/try", {"message": "Go", **form})
    assert answer.status_code == status, answer.content
    return unescape(answer.content.decode())


def state_of_the_run(cast: Cast) -> Any:
    body = json.loads(Run.objects.for_team(cast.team).get().input)
    return body.get("state", "absent")


def test_fields_of_a_schema(cast: Cast, browse: Browse) -> None:
    with_schema(cast)
    text = page(browse(cast.bob), "/agents/echo/")
    assert sorted(set(NAME.findall(text))) == [f"state-part{number}" for number in range(6)]
    assert "City" in text
    assert 'value="3"' in text, "the default of the schema"
    assert "Route as JSON" in text
    values = {
        "state_part0": "Bremen", "state_part1": "5", "state_part2": "1",
        "state_part3": '{"via": [1]}', "state_part4": "a\nb", "state_part5": "0",
    }  # fmt: skip
    send(cast, browse, 302, **values)
    state = state_of_the_run(cast)
    assert state.pop("metric") in (True, False)
    assert state == {
        "city": "Bremen", "days": 5, "unit": "mi", "stops": ["a", "b"], "route": {"via": [1]},
    }  # fmt: skip


@pytest.mark.parametrize("schema", [SCHEMA, None])
def test_without_values_there_is_no_state(cast: Cast, browse: Browse, schema: Any) -> None:
    with_schema(cast, schema)
    empty = dict.fromkeys((f"state_part{number}" for number in range(6)), "")
    send(cast, browse, 302, **empty)
    assert state_of_the_run(cast) in ("absent", {})


def test_the_form_of_the_list_of_runs_has_no_state(cast: Cast, browse: Browse) -> None:
    with_schema(cast)
    send(cast, browse, 302)
    assert state_of_the_run(cast) in ("absent", {})


@pytest.mark.parametrize("schema", [None, {"type": "array"}, {"oneOf": [{}, {"type": "null"}]}])
def test_json_where_no_fields_fit(cast: Cast, browse: Browse, schema: Any) -> None:
    with_schema(cast, schema)
    text = page(browse(cast.bob), "/agents/echo/")
    assert set(NAME.findall(text)) == {"state-part0"}
    assert "State as JSON" in text
    send(cast, browse, 302, state_part0='{"a": [1, null]}')
    assert state_of_the_run(cast) == {"a": [1, None]}


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        (SCHEMA, {"state_part1": "many"}),
        (SCHEMA, {"state_part2": "9"}),
        (SCHEMA, {"state_part3": "{"}),
        (None, {"state_part0": "{,}"}),
    ],
)
def test_what_is_wrong_is_said_and_kept(
    cast: Cast, browse: Browse, schema: Any, values: dict[str, str]
) -> None:
    with_schema(cast, schema)
    text = send(cast, browse, 422, **values)
    assert "Correct the state." in text
    assert '<p class="wrong" role="alert">' in text
    assert ">Go</textarea>" in text
    assert not Run.objects.for_team(cast.team).exists()


def test_an_agent_that_refuses_says_where(cast: Cast, browse: Browse) -> None:
    with_schema(cast, on_bad_state="refuse")
    text = send(cast, browse, 422, state_part0="Bremen", state_part1="0")
    assert "The state does not match the agent's schema." in text
    field = text.split('name="state-part1"')[1].split("</div>")[0]
    assert 'class="wrong"' in field
    assert 'value="Bremen"' in text
    assert not Run.objects.for_team(cast.team).exists()
    send(cast, browse, 302, state_part0="Bremen", state_part1="1")
    assert state_of_the_run(cast) == {"city": "Bremen", "days": 1}
