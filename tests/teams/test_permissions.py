"""The role table, and that its documentation tells the truth."""

from pathlib import Path

import pytest
from django.core.management import call_command

from agui_host.errors import Forbidden
from agui_host.teams.authentication import Principal
from agui_host.teams.models import Role, Scope, Team
from agui_host.teams.permissions import (
    ACTIONS,
    BRIEFLY,
    allowed,
    as_markdown,
    in_words,
    reaches,
    within,
)

DOCS = Path(__file__).resolve().parents[2] / "docs" / "permissions.md"
VIEWER = {"view", "view_team"}
MEMBER = VIEWER | {"run", "cancel", "answer", "comment", "schedule", "share", "ingest"}


@pytest.mark.parametrize(
    ("role", "actions"),
    [
        ("viewer", VIEWER),
        ("member", MEMBER),
        ("admin", set(ACTIONS) - {"manage_grants", "manage_team", "provision"}),
        ("owner", set(ACTIONS)),
    ],
)
def test_what_a_role_may_do(role: str, actions: set[str]) -> None:
    assert {action for action in ACTIONS if allowed(role, action)} == actions


@pytest.mark.parametrize(
    ("scopes", "actions"),
    [
        ((), set()),
        (["read"], VIEWER),
        (["run"], MEMBER - {"share", "ingest"} | {"cancel_others"}),
        (["ingest"], {"ingest"}),
        (["read", "ingest"], VIEWER | {"ingest"}),
        (Scope, set(ACTIONS)),
    ],
)
def test_what_scopes_let_a_key_do(scopes: list[str], actions: set[str]) -> None:
    assert within(scopes) == actions


def test_each_role_in_words() -> None:
    assert set(BRIEFLY) == set(ACTIONS)
    lines = dict(in_words())
    assert list(lines) == list(Role)
    assert lines[Role.VIEWER] == "see agents and runs and see people, usage, limits and issues"
    assert lines[Role.MEMBER].startswith("all that a viewer can, and start runs and upload files, ")
    assert lines[Role.OWNER].startswith("all that an admin can, and provide people by SCIM, ")
    assert "read the audit log" in lines[Role.ADMIN]


def test_a_key_for_administration_starts_nothing() -> None:
    assert not within(["admin"]) & {"view", "run", "answer", "cancel", "ingest", "schedule"}
    assert {a for a in ACTIONS if a.startswith("manage_")} < within(["admin"])


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("scope", Scope)
def test_role_and_scope_must_both_allow(role: Role, scope: Scope) -> None:
    principal = Principal("key", "k", Team(), role, only=within([scope]))
    for action, rule in ACTIONS.items():
        assert principal.can(action) == (role in rule.roles and scope in rule.scopes)
        if not principal.can(action):
            with pytest.raises(Forbidden) as caught:
                principal.require(action)
            assert ("scopes" in str(caught.value)) == (role in rule.roles)
            assert caught.value.details == {"action": action}


def test_nobody_reaches_above_their_own_role() -> None:
    assert [[reaches(one, other) for other in Role] for one in Role] == [
        [True, True, True, True],
        [False, True, True, True],
        [False, False, True, True],
        [False, False, False, True],
    ]


def test_an_unknown_role_may_do_nothing() -> None:
    assert not [action for action in ACTIONS if allowed("emperor", action)]


def test_an_unknown_action_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(KeyError):
        allowed("owner", "fly")


def test_the_documented_table_is_the_table() -> None:
    assert as_markdown() in DOCS.read_text(), "see manage.py show_permissions"


def test_the_command_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("show_permissions")
    assert capsys.readouterr().out == as_markdown()
