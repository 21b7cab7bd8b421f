"""The role table, and that its documentation tells the truth."""

from pathlib import Path

import pytest

from teams.models import Role
from teams.permissions import ROLES, allowed

DOCS = Path(__file__).resolve().parents[2] / "docs" / "permissions.md"


@pytest.mark.parametrize(
    ("role", "actions"),
    [
        ("viewer", {"view"}),
        ("member", {"view", "run", "cancel", "answer"}),
        ("admin", set(ROLES)),
        ("owner", set(ROLES)),
    ],
)
def test_what_a_role_may_do(role: str, actions: set[str]) -> None:
    assert {action for action in ROLES if allowed(role, action)} == actions


def test_an_unknown_role_may_do_nothing() -> None:
    assert not [action for action in ROLES if allowed("emperor", action)]


def test_an_unknown_action_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(KeyError):
        allowed("owner", "fly")


def test_the_documented_table_is_the_table() -> None:
    rows = [
        [cell.strip(" `") for cell in line.strip("|").split("|")]
        for line in DOCS.read_text().splitlines()
        if line.startswith("| `")
    ]
    documented = {row[0]: [c == "yes" for c in row[2:]] for row in rows if row[0] in ROLES}
    assert documented == {action: [allowed(role, action) for role in Role] for action in ROLES}
