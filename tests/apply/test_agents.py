"""Agents from a file: each member, its export, and its secrets."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from django.core.management import CommandError

from agui_host.apply import export
from agui_host.runtimes.models import Agent
from agui_host.teams.models import AuditEntry
from tests.apply.conftest import Apply

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "a-secret-that-signs-the-names-of-end-users"
EVERYTHING: dict[str, Any] = {
    "kind": "http",
    "url": "https://agents.example.com/agui",
    "name": "Support",
    "description": "Answers customers.",
    "queue": "slow",
    "timeout_seconds": 30.0,
    "on_busy": "enqueue",
    "on_busy_chat": "reject",
    "policy": "fail",
    "raw": False,
    "repeatable": True,
    "recovery": "continue",
    "recovery_attempts": 3,
    "recovery_pause": 2.5,
    "worker_grace": 12.5,
    "on_code_change": "end",
    "heals_history": False,
    "questions": [],
    "state_schema": {"type": "object", "properties": {"step": {"type": "integer"}}},
    "on_bad_state": "refuse",
    "is_tool": True,
    "is_default": True,
    "enabled": True,
    "settings": {"connect": 3},
    "middleware": [{"name": "log"}],
    "context_providers": [{"name": "wisdom"}],
}


def host(agent: dict[str, Any], slug: str = "support") -> str:
    return yaml.safe_dump({"teams": {"acme": {"agents": {slug: agent}}}})


def exported(slug: str = "support") -> dict[str, Any]:
    agent: dict[str, Any] = export.content()["teams"]["acme"]["agents"][slug]
    return agent


@pytest.fixture
def row(apply: Apply) -> Callable[[], Agent]:
    return lambda: Agent.objects.of_any_team().get(team__slug="acme", slug="support")


def test_every_member_is_made_exported_and_made_again(apply: Apply) -> None:
    apply(host(EVERYTHING))
    assert apply(host(EVERYTHING)) == "No changes.\n"
    assert exported() == EVERYTHING
    apply(host({**exported(), "is_default": False}, "twin"))
    assert exported("twin") == {**EVERYTHING, "is_default": False}


def test_a_difference_of_each_rule_is_one_line(apply: Apply) -> None:
    apply(host(EVERYTHING))
    other = {
        "recovery": "end", "recovery_attempts": 4, "recovery_pause": 3.0,
        "worker_grace": None, "on_code_change": "continue", "on_bad_state": "note",
        "state_schema": None,
    }  # fmt: skip
    lines = apply(host({**EVERYTHING, **other}), "--plan").splitlines()
    assert lines[:-1] == apply(host({**EVERYTHING, **other})).splitlines()[:-1]
    assert sorted(line.partition(":")[0] for line in lines[:-1]) == [
        f"~ acme agent support {name}"
        for name in ("on_bad_state", "on_code_change", "recovery", "recovery_attempts",
                     "recovery_pause", "state_schema", "worker_grace")
    ]  # fmt: skip
    newest = AuditEntry.objects.filter(action="agent.changed").latest("id")
    assert "state_schema" in newest.details


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"recovery": "later"}, "teams.acme.agents.support.recovery: Input should be"),
        ({"recovery_attempts": 99}, "teams.acme.agents.support: "),
        ({"worker_grace": -1}, "teams.acme.agents.support: "),
        ({"state_schema": {"type": "string"}}, "teams.acme.agents.support.state_schema: "),
        ({"on_behalf_of": "short"}, "teams.acme.agents.support.on_behalf_of: The secret must"),
        ({"on_behalf_of": {"env": "NONE"}}, "teams.acme.agents.support.on_behalf_of: the envir"),
        ({"headers": {"Host": "x"}}, "teams.acme.agents.support.headers.Host: This header"),
        ({"on_busy": "wait"}, "teams.acme.agents.support.on_busy: Input should be"),
        ({"recover": "end"}, "teams.acme.agents.support.recover: there is no such member; did you"),
    ],
)
def test_a_mistake_is_one_line(apply: Apply, change: dict[str, Any], line: str) -> None:
    with pytest.raises(CommandError) as refused:
        apply(host({**EVERYTHING, **change}))
    assert str(refused.value).startswith(line)
    assert "\n" not in str(refused.value)
    assert not Agent.objects.of_any_team().filter(slug="support").exists()


def test_an_agent_whose_runs_cannot_continue(apply: Apply) -> None:
    with pytest.raises(CommandError, match=r"support\.recovery: The host cannot continue"):
        apply(host({"kind": "external", "recovery": "continue"}))


def test_secrets_are_set_shown_by_no_line_and_stay(
    apply: Apply, row: Callable[[], Agent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ON_BEHALF_OF", SECRET)
    agent = {
        "url": "https://agents.example.com/agui",
        "headers": {"Authorization": "Bearer of-support"},
        "on_behalf_of": {"env": "ON_BEHALF_OF"},
    }
    apply(host(agent))
    assert row().unsealed() == {"headers": agent["headers"], "on_behalf_of": SECRET}
    assert apply(host(agent)) == "No changes.\n"
    text = export.text()
    assert not any(secret in text for secret in (SECRET, "of-support"))
    assert apply(text) == "No changes.\n"
    monkeypatch.setenv("ON_BEHALF_OF", SECRET.upper())
    assert apply(host(agent)).splitlines()[0] == "~ acme agent support on_behalf_of: another"
    assert apply(host({**agent, "on_behalf_of": None})).splitlines() == [
        "~ acme agent support on_behalf_of: none", "1 changes.",
    ]  # fmt: skip


def test_a_different_host_gets_no_old_secrets(apply: Apply, row: Callable[[], Agent]) -> None:
    agent = {"url": "https://agents.example.com/agui", "headers": {"X-Key": "k"}}
    apply(host({**agent, "on_behalf_of": SECRET}))
    assert apply(host({"url": "https://other.example.com/agui"})).splitlines()[1:] == [
        "~ acme agent support headers: none",
        "~ acme agent support on_behalf_of: none",
        "3 changes.",
    ]
    assert row().unsealed() == {}


def test_keys_of_providers_are_put_away_once(
    apply: Apply, row: Callable[[], Agent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARCH_KEY", "key-of-the-search")
    search = {"name": "http", "url": "https://search.example.com/context"}
    agent = {
        "url": "https://agents.example.com/agui",
        "context_providers": [{**search, "api_key": {"env": "SEARCH_KEY"}}],
    }
    assert "key-of-the-search" not in apply(host(agent))
    assert row().providers()[0]["api_key"] == "key-of-the-search"
    assert apply(host(agent)) == "No changes.\n"
    monkeypatch.setenv("SEARCH_KEY", "another-key")
    assert apply(host(agent)).splitlines()[0] == "~ acme agent support context_providers: http"
    assert row().providers()[0]["api_key"] == "another-key"
    text = export.text()
    assert apply(text) == "No changes.\n"
    assert "search.example.com" in text
    with pytest.raises(CommandError, match="A stored api_key works for its own address only"):
        apply(text.replace("search.example.com", "other.example.com"))
    with pytest.raises(CommandError):
        apply(host({**agent, "context_providers": [{**search, "url": "http://127.0.0.1/"}]}))


def test_an_agent_that_code_withdrew_can_be_enabled(apply: Apply, row: Callable[[], Agent]) -> None:
    apply(host(EVERYTHING))
    Agent.objects.of_any_team().filter(slug="support").update(enabled=False, withdrawn=True)
    assert apply(export.text()) == "No changes.\n"
    apply(host(EVERYTHING))
    assert (row().enabled, row().withdrawn) == (True, False)
