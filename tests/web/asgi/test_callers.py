"""Whom the gate counts a request for, before it is authenticated."""

from typing import Any
from uuid import UUID

import pytest

from agui_host.security.requester import Caller
from agui_host.web import callers
from agui_host.web.callers import Callers, of_team


def scope(key: str = "", address: str = "192.0.2.1", cookie: str = "") -> dict[str, Any]:
    headers = [(b"authorization", key.encode())] if key else []
    headers += [(b"cookie", cookie.encode())] if cookie else []
    return {"type": "http", "headers": headers, "client": (address, 1)}


def caller(team: int) -> Caller:
    known = Caller()
    known.team = UUID(int=team)
    return known


def test_a_known_credential_counts_for_its_team_wherever_it_comes_from() -> None:
    known = Callers()
    known.remember(scope("Bearer a"), caller(1))
    assert known.name(scope("Bearer a", "198.51.100.9")) == of_team(UUID(int=1))
    known.remember(scope(cookie="sessionid=s; other=1"), caller(2))
    assert known.name(scope(cookie="other=2; sessionid=s")) == of_team(UUID(int=2))


def test_invented_keys_share_the_part_of_their_network() -> None:
    known = Callers()
    names = {known.name(scope(f"Bearer {number}")) for number in range(3)}
    assert names == {known.name(scope())} == {"address:192.0.2.1"}
    six = {known.name(scope(address=f"2001:db8::{number}")) for number in range(3)}
    assert six == {"address:2001:db8::/64"}


def test_nothing_is_learned_of_a_request_without_a_team_or_a_credential() -> None:
    known = Callers()
    known.remember(scope("Bearer a"), Caller())
    known.remember(scope(), caller(1))
    assert known.name(scope("Bearer a")) == known.name(scope()) == "address:192.0.2.1"


def test_the_credentials_used_last_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callers, "REMEMBERED", 2)
    known = Callers()
    for key in ("a", "b", "a", "c"):
        known.remember(scope(key), caller(1))
    names = [known.name(scope(key)).partition(":")[0] for key in ("a", "b", "c")]
    assert names == ["team", "address", "team"]
