"""PATCH on JSON alone."""

from typing import Any

import pytest

from agui_host.protocol.errors import HostError
from agui_host.scim.patch import patched

BEFORE: dict[str, Any] = {
    "userName": "d",
    "name": {"givenName": "Dora"},
    "emails": [{"value": "d@x.org", "type": "work"}, {"value": "h@x.org", "type": "home"}],
}


def after(*operations: Any) -> dict[str, Any]:
    return patched(BEFORE, {"Operations": list(operations)})


@pytest.mark.parametrize(
    ("operation", "name", "value"),
    [
        ({"op": "replace", "path": "userName", "value": "e"}, "userName", "e"),
        ({"op": "REPLACE", "path": "USERNAME", "value": "e"}, "userName", "e"),
        ({"op": "remove", "path": "userName"}, "userName", None),
        ({"op": "add", "value": {"name.familyName": "Maar"}}, "name",
         {"givenName": "Dora", "familyName": "Maar"}),
        ({"op": "add", "value": {"name": {"familyName": "Maar"}}}, "name",
         {"givenName": "Dora", "familyName": "Maar"}),
        ({"op": "replace", "path": "urn:ietf:params:scim:schemas:core:2.0:User:userName",
          "value": "e"}, "userName", "e"),
        ({"op": "remove", "path": 'emails[type eq "home"]'}, "emails", BEFORE["emails"][:1]),
        ({"op": "replace", "path": 'emails[type eq "home"].value', "value": "z@x.org"}, "emails",
         [BEFORE["emails"][0], {"value": "z@x.org", "type": "home"}]),
        ({"op": "replace", "path": 'emails[type eq "other"].value', "value": "o@x.org"}, "emails",
         [*BEFORE["emails"], {"type": "other", "value": "o@x.org"}]),
        ({"op": "replace", "path": "manager", "value": "m"}, "manager", None),
    ],
)  # fmt: skip
def test_one_operation(operation: Any, name: str, value: Any) -> None:
    assert after(operation).get(name) == value
    assert BEFORE["userName"] == "d"


@pytest.mark.parametrize(
    "body",
    [
        None, [], {}, {"Operations": []}, {"Operations": ["x"]}, {"Operations": [{}] * 1001},
        {"Operations": [{"op": "move", "path": "userName"}]},
        {"Operations": [{"op": "remove"}]},
        {"Operations": [{"op": "add", "value": "x"}]},
        {"Operations": [{"op": "add", "path": "emails[", "value": "x"}]},
        {"Operations": [{"op": "add", "path": "x" * 5000, "value": "x"}]},
        {"Operations": [{"op": "add", "path": 7, "value": "x"}]},
    ],
)  # fmt: skip
def test_odd_bodies_are_refused(body: Any) -> None:
    with pytest.raises(HostError) as error:
        patched(BEFORE, body)
    assert error.value.status == 400
