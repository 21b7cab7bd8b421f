"""``/api/v1/operator``: the whole host by an operator's key, and by no other credential."""

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from agui_host.backends.postgres import scope
from agui_host.runtimes.models import Agent
from agui_host.teams.models import ApiKey, AuditEntry, OperatorKey, Team, TeamLimits
from tests.asgi import Answer, ask_now
from tests.cast import Cast

pytestmark = pytest.mark.django_db(transaction=True)
HOST, PLAN = "/api/v1/operator/host", "/api/v1/operator/plan"
INITECH: dict[str, Any] = {
    "name": "Initech",
    "limits": {"concurrent_runs": 4},
    "keys": {"ci": {"scopes": ["run"]}},
    "agents": {"feed": {"kind": "external"}},
}
Ask = Callable[..., Answer]


def command(*arguments: str) -> str:
    out = StringIO()
    call_command("create_operator_key", *arguments, stdout=out)
    return out.getvalue().strip()


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


@pytest.fixture
def ask() -> Ask:
    headers = bearer(command("terraform"))
    return lambda method, path, **more: ask_now(method, path, headers, **more)


def test_a_plan_changes_nothing_and_its_application_all_of_it(ask: Ask) -> None:
    document = {"teams": {"initech": INITECH}}
    planned = ask("POST", PLAN, json=document)
    assert (planned.status, planned.json["secrets"]) == (200, [])
    assert not Team.objects.filter(slug="initech").exists()
    done = ask("POST", HOST, json=document)
    assert done.json["changes"] == planned.json["changes"] != []
    team = Team.objects.get(slug="initech")
    assert TeamLimits.objects.get(team=team).concurrent_runs == 4
    (key,) = (line.rpartition(" ")[2] for line in done.json["secrets"])
    assert ask_now("GET", "/api/v1/agents", bearer(key)).status in (200, 403)
    assert AuditEntry.objects.for_team(team).filter(action="agent.created").exists()
    assert ask("POST", HOST, json=document).json["changes"] == []


def test_the_present_state_is_a_document(ask: Ask, cast: Cast) -> None:
    ask("POST", HOST, json={"teams": {"initech": INITECH}})
    everything = ask("GET", HOST).json["teams"]
    assert {"initech", cast.team.slug} <= set(everything)
    only = ask("GET", f"{HOST}?team=initech").json
    assert set(only["teams"]) == {"initech"}
    assert ask("POST", PLAN, json=only).json["changes"] == []


@pytest.mark.parametrize(
    ("agent", "place"),
    [
        ({"url": "https://a.example", "headers": {"A": {"env": "SECRET_KEY"}}}, "headers"),
        ({"url": "https://a.example", "on_behalf_of": {"env": "SECRET_KEY"}}, "on_behalf_of"),
        (
            {
                "url": "https://a.example",
                "context_providers": [
                    {"name": "http", "url": "https://a.example", "api_key": {"env": "SECRET_KEY"}}
                ],
            },
            "context_providers",
        ),
        ({"kind": "process", "settings": {"command": ["sh"]}}, "of the kind process"),
        ({"kind": "python", "target": "os:system"}, "of the kind python"),
        ({"kind": "http", "url": "http://169.254.169.254/"}, ""),
        ({"kind": "http", "urls": "https://a.example"}, "did you mean url?"),
    ],
)  # fmt: skip
def test_a_key_gets_no_shell_and_no_environment(ask: Ask, agent: Any, place: str) -> None:
    for path in (PLAN, HOST):
        answer = ask("POST", path, json={"teams": {"initech": {"agents": {"evil": agent}}}})
        assert 400 <= answer.status < 500, answer.json
        assert place in answer.json["error"]["message"]
    assert not Team.objects.filter(slug="initech").exists()
    assert not Agent.objects.of_any_team().filter(slug="evil").exists()


def test_no_team_reaches_the_keys(ask: Ask, cast: Cast) -> None:
    assert OperatorKey.objects.exists()
    with scope.limited(cast.team.pk):
        assert not OperatorKey.objects.exists()


def test_a_key_changes_no_command_line(ask: Ask, cast: Cast) -> None:
    row = Agent.objects.create(
        team=cast.team, slug="tool", name="Tool", kind="process", settings={"argv": ["true"]}
    )
    for change in ({"settings": {"argv": ["sh"]}}, {"target": "sh"}):
        agents = {"tool": {"kind": "process", **change}}
        answer = ask("POST", HOST, json={"teams": {cast.team.slug: {"agents": agents}}})
        assert (answer.status, "settings and target" in answer.json["error"]["message"]) == (
            422,
            True,
        )
    row.refresh_from_db()
    assert (row.settings, row.target) == ({"argv": ["true"]}, "")
    same = {"tool": {"kind": "process", "settings": {"argv": ["true"]}, "description": "A tool."}}
    assert ask("POST", HOST, json={"teams": {cast.team.slug: {"agents": same}}}).status == 200


@pytest.mark.parametrize("body", [[], {}, {"teams": []}, {"teams": {"a b": {}}}, {"team": {}}, 5])
def test_nonsense_is_refused_in_one_line(ask: Ask, body: Any) -> None:
    answer = ask("POST", HOST, json=body)
    assert answer.status in (400, 422)
    assert "\n" not in answer.json["error"]["message"]


def test_too_many_teams_at_once(ask: Ask) -> None:
    teams: dict[str, Any] = {f"t{number}": {} for number in range(101)}
    assert ask("POST", PLAN, json={"teams": teams}).status == 422
    assert ask("GET", f"{HOST}?{'&'.join(f'team={slug}' for slug in teams)}").status == 422


def test_a_host_of_many_teams_is_read_in_parts(ask: Ask) -> None:
    Team.objects.bulk_create(Team(slug=f"many-{number}", name="Many") for number in range(101))
    refused = ask("GET", HOST)
    assert (refused.status, "?team=" in refused.json["error"]["message"]) == (422, True)
    assert set(ask("GET", f"{HOST}?team=many-7").json["teams"]) == {"many-7"}


def test_only_a_key_of_an_operator_that_works(cast: Cast, ask: Ask, settings: Settings) -> None:
    text = command("short", "--days", "1")
    assert ask_now("GET", HOST, bearer(text)).status == 200
    assert "works, last used 2" in command("--list")
    for headers in (
        {}, cast.alice.headers, bearer(text[:-1] + "x"), bearer("agui_\x00"), bearer(""),
        {"authorization": f"Basic {text}"},
    ):  # fmt: skip
        assert ask_now("GET", HOST, headers).status == 401
    assert ask_now("GET", "/api/v1/runs", bearer(text)).status == 401, "it is in no team"
    OperatorKey.objects.filter(name="short").update(expiry_date="2020-01-01T00:00:00Z")
    assert ask_now("GET", HOST, bearer(text)).status == 401
    assert command("terraform", "--revoke") == "terraform is revoked."
    assert ask("GET", HOST).status == 401
    assert not ApiKey.objects.of_any_team().filter(name="terraform").exists()
    for arguments in ((), ("x" * 51,), ("a", "--days", "0"), ("nothing", "--revoke")):
        with pytest.raises(CommandError):
            command(*arguments)


def test_a_person_is_shown_and_erased(ask: Ask, cast: Cast) -> None:
    place = "/api/v1/operator/people/bob"
    answer = ask("GET", place)
    assert answer.status == 200
    assert {row["kind"] for row in answer.json["records"]} >= {"auth.user", "teams.membership"}
    assert ask("PATCH", place, json={"active": False}).status == 204
    assert ask_now("GET", "/api/v1/runs", cast.bob.cookie).status == 401
    assert ask("PATCH", place, json={"actve": True}).status == 422
    assert ask("PATCH", place, json={"active": True, "forget_factors": True}).status == 204
    erased = ask("DELETE", place)
    assert (erased.status, erased.json["pseudonym"]) == (200, f"user:erased-{cast.bob.user.pk}")
    assert ask("GET", place).status == 404
    alone = ask("DELETE", "/api/v1/operator/people/alice")
    assert (alone.status, alone.json["error"]["code"]) == (409, "owns_alone")
    team_key = ask_now("GET", "/api/v1/operator/people/alice", cast.alice.headers)
    assert team_key.status == 401
