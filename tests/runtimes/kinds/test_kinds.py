"""The table of kinds: who has a runtime, who is fed, who is started at once, and what differs."""

import pytest

from agui_host.runtimes import team_agents
from agui_host.runtimes.kinds import kinds
from agui_host.runtimes.kinds.kind import Kind
from agui_host.runtimes.kinds.table import RUNTIMES
from agui_host.runtimes.models import Agent


def test_each_kind_is_fed_or_has_a_runtime() -> None:
    assert {name: name in RUNTIMES for name in kinds.KINDS} == {
        name: not kind.fed for name, kind in kinds.KINDS.items()
    }
    assert RUNTIMES.keys() <= kinds.KINDS.keys()


def test_teams_make_those_with_an_address_and_those_that_are_fed() -> None:
    assert team_agents.KINDS == ("http", "external")
    assert kinds.FED == ("external",)


def test_a_kind_that_this_host_does_not_know_has_no_rules() -> None:
    assert kinds.of("other") == Kind("other")
    assert not Agent(kind="other").is_fed


def test_a_kind_with_a_check_of_its_input_is_not_started_at_once() -> None:
    at_once = {name for name, kind in kinds.KINDS.items() if kind.starts_at_once}
    assert at_once == {"python", "http", "orchestrator"}
    assert not Kind("new", check_input=len).starts_at_once
    assert Kind("new").starts_at_once


@pytest.mark.parametrize("kind", kinds.KINDS.values(), ids=lambda kind: kind.name)
def test_its_flags_are_settings_that_it_accepts(kind: Kind) -> None:
    for flag in kind.flags:
        kind.check_settings({"argv": ["cli"], flag: True})
