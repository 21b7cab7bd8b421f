"""Unknown members are refused, and both spellings of the known ones are read."""

from typing import Any

import pytest

from agui_host.protocol.errors import Invalid, UnknownMember
from agui_host.protocol.input.members import LONGEST, known_members, snake_case

NAMES = frozenset({"expires_at", "redact", "sign_in"})


def refused(data: dict[str, Any]) -> UnknownMember:
    with pytest.raises(UnknownMember) as raised:
        known_members(data, NAMES)
    return raised.value


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("redacts", "redact"), ("expires", "expires_at"), ("expiresAtt", "expires_at"), ("x", None)],
)
def test_an_unknown_name_is_refused_with_the_nearest(name: str, nearest: str | None) -> None:
    error = refused({"redact": [], name: 1})
    assert (error.code, error.status) == ("unknown_member", 422)
    assert error.details == {"path": name, "nearest": nearest, "known": sorted(NAMES)}
    assert (f"the nearest is {nearest}" in error.message) == (nearest is not None)


def test_a_long_name_is_refused_in_short() -> None:
    error = refused({"zA" * 50_000: 1})
    assert len(error.details["path"]) == LONGEST
    assert len(error.message) < 200


def test_both_spellings_are_read() -> None:
    assert known_members({"expiresAt": 1, "sign_in": 2}, NAMES) == {"expires_at": 1, "sign_in": 2}
    assert known_members({"signIn": True, "sign_in": True}, NAMES) == {"sign_in": True}


@pytest.mark.parametrize("other", [False, 1, None])
def test_two_spellings_with_different_values_are_refused(other: Any) -> None:
    with pytest.raises(Invalid, match="two spellings") as raised:
        known_members({"signIn": other, "sign_in": True}, NAMES)
    assert raised.value.details == {"path": "sign_in"}


@pytest.mark.parametrize("name", ["SignIn", "SIGN_IN", "sign-in", "sign_In", ""])
def test_other_spellings_are_unknown(name: str) -> None:
    refused({name: True})


def test_what_knows_no_member_takes_none() -> None:
    assert known_members({}, ()) == {}
    with pytest.raises(UnknownMember, match="Send no members"):
        known_members({"agent": "x"}, ())


def test_snake_case() -> None:
    assert snake_case("idempotencyKey") == "idempotency_key"
    assert snake_case("Agent") == "Agent"
