"""A team's admin switches middleware and context providers on and off over the API."""

import json
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from agui_host.runtimes import plugins, registry
from agui_host.runtimes.middleware.base import Middleware
from agui_host.runtimes.middleware.table import BUILT_IN
from agui_host.runtimes.models import Agent
from agui_host.teams.models import AuditEntry
from tests.asgi import ask_now
from tests.cast import Cast

pytestmark = pytest.mark.django_db(transaction=True)
ECHO = "/api/v1/agents/echo"
HTTP = {"kind": "http", "url": "https://cite.example.com/verify"}


def patch(cast: Cast, **body: Any) -> Any:
    return ask_now("PATCH", ECHO, cast.alice.headers, json=body)


def test_an_admin_switches_them_on_and_off_and_members_see_them(cast: Cast) -> None:
    lists = {
        "middleware": [{"name": "citations", "keep": 5}, {"name": "throttle"}],
        "context_providers": [{"name": "wisdom"}, {"name": "documents", "most": 2}],
    }
    assert patch(cast, **lists).status == 200
    body = ask_now("GET", ECHO, cast.vera.headers).json
    assert {name: body[name] for name in lists} == lists
    entry = AuditEntry.objects.get(action="agent.changed")
    assert json.loads(entry.details)["fields"] == sorted(lists)
    assert patch(cast, middleware=[]).json["middleware"] == []
    assert ask_now("GET", ECHO, cast.bob.headers).json["context_providers"]


def test_a_member_changes_none(cast: Cast) -> None:
    body = {"middleware": [{"name": "citations"}]}
    assert ask_now("PATCH", ECHO, cast.bob.headers, json=body).status == 403


@pytest.mark.parametrize(
    "body",
    [
        {"middleware": [{"name": "nonsense"}]},
        {"middleware": [{"nome": "citations"}]},
        {"middleware": [{"name": ["citations"]}]},
        {"middleware": [{"name": "citations", "nonsense": 1}]},
        {"middleware": [{"name": "redact", "patterns": ["(a"]}]},
        {"middleware": [{"name": "log", "level": "warning", "events": True}]},
        {"middleware": [{"name": "throttle"}] * 21},
        {"middleware": {"name": "citations"}},
        {"middleware": None},
        {"context_providers": [{"name": "citations"}]},
        {"context_providers": [{"name": "wisdom", "max_chars": 0}]},
        {"middleware": [{"name": "citations", "verifier": {**HTTP, "url": "http://10.0.0.1/"}}]},
        {
            "middleware": [
                {"name": "citations", "verifier": {**HTTP, "api_key": {"secret": "guessed"}}}
            ]
        },
    ],
)
def test_what_cannot_be_used_is_refused(cast: Cast, body: dict[str, Any]) -> None:
    assert patch(cast, **body).status == 422
    row = Agent.objects.get(slug="echo", team=cast.team)
    assert (row.middleware, row.context_providers) == ([], [])


def test_a_key_is_sealed_and_stays_with_its_address(cast: Cast) -> None:
    made = patch(cast, middleware=[{"name": "citations", "verifier": {**HTTP, "api_key": "s3cr"}}])
    assert b"s3cr" not in made.body
    chain = made.json["middleware"]
    assert patch(cast, middleware=[*chain, {"name": "throttle"}]).status == 200
    row = Agent.objects.get(slug="echo", team=cast.team)
    assert row.chain()[0]["verifier"]["api_key"] == "s3cr"
    chain[0]["verifier"]["url"] = "https://thief.example.com/verify"
    assert patch(cast, middleware=chain).status == 422


@pytest.mark.parametrize("stored", ["beside the address", "among the parameters"])
def test_a_key_among_parameters_stays_with_its_address(cast: Cast, stored: str) -> None:
    entry: dict[str, Any] = {"name": "http", "url": "https://good.example.com/search"}
    if stored == "beside the address":
        made = patch(cast, context_providers=[{**entry, "api_key": "s3cr"}])
        reference = made.json["context_providers"][0]["api_key"]
    else:
        made = patch(cast, context_providers=[{**entry, "parameters": {"api_key": "s3cr"}}])
        reference = made.json["context_providers"][0]["parameters"]["api_key"]
    assert b"s3cr" not in made.body
    for parameters in (
        {"api_key": reference},
        {"url": entry["url"], "api_key": reference},
        {"deeper": [{"url": entry["url"], "api_key": reference}]},
    ):
        stolen = {"name": "http", "url": "https://thief.example.com/", "parameters": parameters}
        assert patch(cast, context_providers=[stolen]).status == 422
        provider = {**entry, "parameters": parameters}
        assert patch(cast, context_providers=[provider]).status == 200


def test_an_operators_entry_shows_its_name_and_can_be_kept_or_removed(cast: Cast) -> None:
    log = {"name": "log", "level": "debug"}
    row = Agent.objects.get(slug="echo", team=cast.team)
    row.middleware = [log]
    row.save()
    assert ask_now("GET", ECHO, cast.alice.headers).json["middleware"] == [{"name": "log"}]
    assert patch(cast, middleware=[{"name": "throttle"}, {"name": "log"}]).status == 200
    row.refresh_from_db()
    assert row.middleware == [{"name": "throttle"}, log]
    assert patch(cast, middleware=[{"name": "log"}, {"name": "log"}]).status == 422
    assert patch(cast, middleware=[]).json["middleware"] == []
    assert patch(cast, middleware=[{"name": "log"}]).status == 422


def test_code_gives_new_teams_its_lists(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_agents", {})
    registry.agent(
        "cited", middleware=[{"name": "citations"}], context_providers=[{"name": "wisdom"}]
    )(lambda ctx: None)
    registry.provision(cast.other_team)
    row = Agent.objects.get(slug="cited")
    assert (row.middleware, row.context_providers) == (
        [{"name": "citations"}],
        [{"name": "wisdom"}],
    )


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("mine", "no_such_module:Mine", "cannot be imported"),
        ("mine", "json:nothing", "cannot be imported"),
        ("mine", "json:loads", "not a subclass of Middleware"),
        ("log", "agui_host.runtimes.middleware.log:Log", "already in use"),
    ],
)
def test_a_plugin_that_cannot_be_used_stops_the_start_in_one_line(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, reason: str
) -> None:
    point = EntryPoint(name, value, "agui_host.middleware")
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point])
    with pytest.raises(ImproperlyConfigured, match=reason) as caught:
        plugins.added(BUILT_IN, "agui_host.middleware", Middleware)
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


def test_a_plugin_is_found_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("mine", "agui_host.runtimes.middleware.log:Log", "agui_host.middleware")
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point])
    assert "mine" in plugins.added(BUILT_IN, "agui_host.middleware", Middleware)
