"""A host from one file: planned, made once, and exported again."""

import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.contrib.auth.models import User
from django.core import mail
from django.core.management import CommandError

from agui_host.apply import export
from agui_host.runtimes.models import Agent
from agui_host.security.addresses import AddressRefused
from agui_host.teams import keys
from agui_host.teams.models import ApiKey, AuditEntry, Invitation, Membership, Team, TeamLimits
from runs.models import Schedule, Webhook

pytestmark = pytest.mark.django_db(transaction=True)
HOST = """
teams:
  acme:
    name: Acme
    owner: alice@example.com
    limits: {concurrent_runs: 4, retention_days: 30}
    members:
      bob@example.com: member
      vera@example.com: viewer
    keys:
      ci: {role: member, scopes: [run, read], days: 30}
    agents:
      support:
        kind: http
        url: https://agents.example.com/agui
        description: Answers customers.
        middleware: [{name: log}]
        headers: {Authorization: {env: SUPPORT_TOKEN}}
      feed: {kind: external}
    webhooks:
      - {url: "https://hooks.example.com/agui", events: [run.failed]}
    schedules:
      nightly: {agent: support, cron: "0 3 * * *", input: {messages: []}}
"""
Apply = Callable[..., str]


def counts() -> list[int]:
    models: list[Any] = [Team, Agent, Membership, ApiKey, Invitation, Webhook, Schedule, AuditEntry]
    return [model.objects.count() for model in models]


def test_a_plan_changes_nothing_and_names_everything(
    apply: Apply, people: list[User], tmp_path: Path
) -> None:
    before = counts()
    lines = apply(HOST, "--plan").splitlines()
    assert counts() == before
    assert not (tmp_path / "host.yaml.keys").exists()
    assert mail.outbox == []
    assert {
        "+ team acme",
        "~ acme limits concurrent_runs: unset -> 4",
        "+ acme member bob@example.com: member",
        "+ acme member vera@example.com: invited as viewer",
        "+ acme key ci: member",
        "+ acme agent support: http",
        "+ acme agent feed: external",
        "+ acme webhook https://hooks.example.com/agui",
        "+ acme schedule nightly: 0 3 * * * UTC",
    } <= set(lines)
    assert lines[-1].endswith("changes, none of them made.")


def test_it_is_made_once(apply: Apply, people: list[User], tmp_path: Path) -> None:
    planned = apply(HOST, "--plan").splitlines()[:-1]
    assert apply(HOST).splitlines()[: len(planned)] == planned
    team = Team.objects.get(slug="acme")
    assert Membership.objects.get(team=team, user=people[0]).role == "owner"
    assert Membership.objects.get(team=team, user=people[1]).role == "member"
    assert TeamLimits.objects.get(team=team).concurrent_runs == 4
    support = Agent.objects.get(team=team, slug="support")
    assert support.unsealed()["headers"] == {"Authorization": "Bearer secret-of-support"}
    assert Agent.objects.get(team=team, slug="feed").policy == "fail"
    assert ["vera@example.com"] in [message.to for message in mail.outbox]
    store = tmp_path / "host.yaml.keys"
    assert stat.S_IMODE(store.stat().st_mode) == 0o600
    key_line, webhook_line = store.read_text().splitlines()
    row = ApiKey.objects.get(team=team, name="ci")
    assert key_line == f"acme key ci {key_line.split()[-1]}"
    assert keys.beginning(key_line.split()[-1]) == row.prefix
    assert webhook_line.startswith("acme webhook https://hooks.example.com/agui whsec_")
    made = counts()
    assert apply(HOST) == "No changes.\n"
    assert counts() == made
    assert store.read_text().splitlines() == [key_line, webhook_line]


def test_a_difference_is_named_audited_and_the_rest_stays(apply: Apply, people: list[User]) -> None:
    apply(HOST)
    other = HOST.replace("concurrent_runs: 4", "concurrent_runs: 9").replace(
        "bob@example.com: member", "bob@example.com: admin"
    )
    other = other.replace("Answers customers.", "Answers.").replace("0 3 * * *", "0 4 * * *")
    assert apply(other).splitlines() == [
        "~ acme limits concurrent_runs: 4 -> 9",
        "~ acme member bob@example.com: member -> admin",
        "~ acme agent support description: Answers customers. -> Answers.",
        "~ acme schedule nightly cron: 0 3 * * * -> 0 4 * * *",
        "4 changes.",
    ]
    newest = AuditEntry.objects.filter(team__slug="acme").order_by("-id")[:4]
    assert {entry.action for entry in newest} == {
        "admin.changed", "member.changed", "agent.changed", "schedule.changed",
    }  # fmt: skip
    assert apply("teams: {acme: {name: Acme}}") == "No changes.\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("teams: {acme: {limtis: {}}}", "teams.acme.limtis: there is no such member; did you mean"),
        ("teams: {acme: {limits: {runs: 1}}}", "teams.acme.limits.runs: there is no such member"),
        ("team: {}", "teams: Field required"),
        ("teams: [a", "This is not YAML: while parsing"),
        ("", "the file: this must be a mapping"),
        ("teams: {acme: {members: {bob: admin}}}", "teams.acme.members: bob is no e-mail address"),
        ("teams: {acme: {members: {b@c.d: boss}}}", "teams.acme.members.b@c.d: Input should be"),
        ("teams: {acme: {agents: {a: {kind: http}}}}", "teams.acme.agents.a.url: a remote agent"),
        ("teams: {acme: {agents: {a: {kind: x}}}}", "teams.acme.agents.a.kind: Input should be"),
        (
            "teams: {acme: {agents: {a: {url: 'https://a.example', headers: {X: {env: NONE}}}}}}",
            "teams.acme.agents.a.headers: the environment has no variable NONE",
        ),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_made(apply: Apply, text: str, line: str) -> None:
    before = counts()
    with pytest.raises(CommandError) as refused:
        apply(text)
    assert str(refused.value).startswith(line)
    assert "\n" not in str(refused.value)
    assert counts() == before


def test_a_team_without_an_account_waits_with_its_schedules(apply: Apply) -> None:
    lines = apply(HOST).splitlines()
    assert "! acme: webhooks and schedules wait until the owner has an account." in lines
    assert Invitation.objects.filter(role="owner").get().email == "alice@example.com"
    assert apply(HOST).splitlines()[-1] == "No changes."


def test_the_export_describes_what_is_there(apply: Apply, people: list[User]) -> None:
    apply(HOST)
    text = export.text()
    acme = yaml.safe_load(text)["teams"]["acme"]
    assert (acme["name"], acme["owner"]) == ("Acme", "alice@example.com")
    assert acme["limits"] == {"concurrent_runs": 4, "retention_days": 30}
    assert acme["members"] == {"bob@example.com": "member", "vera@example.com": "viewer"}
    assert acme["agents"]["support"]["url"] == "https://agents.example.com/agui"
    assert "secret-of-support" not in text
    assert apply(text) == "No changes.\n"


def test_forty_teams_take_less_than_a_minute(apply: Apply) -> None:
    teams = {
        f"team-{number}": {
            "name": f"Team {number}", "owner": f"owner-{number}@example.com",
            "limits": {"concurrent_runs": number}, "keys": {"ci": {}},
            "budgets": [{"scope": "team", "cost": number, "period": "month"}],
            "agents": {"remote": {"url": "https://agents.example.com/agui"}},
        }
        for number in range(40)
    }  # fmt: skip
    text = yaml.safe_dump({"teams": teams})
    began = time.monotonic()
    apply(text)
    assert time.monotonic() - began < 60
    assert Team.objects.filter(slug__startswith="team-").count() == 40
    assert apply(text) == "No changes.\n"


def test_an_address_inside_is_refused(apply: Apply) -> None:
    text = "teams: {acme: {agents: {a: {url: 'http://127.0.0.1/agui'}}}}"
    with pytest.raises(CommandError) as refused:
        apply(text)
    assert AddressRefused.__name__ not in str(refused.value)
    assert not Team.objects.exists()


def test_all_of_a_schedule_and_a_webhook_is_exported(apply: Apply, people: list[User]) -> None:
    schedule = {
        "agent": "support", "cron": "0 3 * * *", "time_zone": "Europe/Berlin", "input": {},
        "thread": "fixed", "thread_id": "nightly", "missed": "skip", "on_busy": "enqueue",
        "paused": True,
    }  # fmt: skip
    hook = {
        "url": "https://hooks.example.com/agui", "events": ["run.failed"], "agents": ["support"],
        "contents": True, "enabled": False,
    }  # fmt: skip
    acme = yaml.safe_load(HOST)["teams"]["acme"]
    document = {"teams": {"acme": {**acme, "schedules": {"n": schedule}, "webhooks": [hook]}}}
    apply(yaml.safe_dump(document))
    exported = export.content()["teams"]["acme"]
    assert (exported["schedules"], exported["webhooks"]) == ({"n": schedule}, [hook])
    assert apply(export.text()) == "No changes.\n"
    hook["enabled"], schedule["on_busy"] = True, "reject"
    assert apply(yaml.safe_dump(document)).splitlines() == [
        "~ acme webhook https://hooks.example.com/agui enabled: False -> True",
        "~ acme schedule n on_busy: enqueue -> reject",
        "2 changes.",
    ]
