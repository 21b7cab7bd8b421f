"""PATCH on JSON alone."""

import time
from typing import Any

import pytest

from agui_host.protocol.errors import HostError
from agui_host.scim.errors import InvalidPath
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
        {"Operations": [{"op": "remove", "path": "active"}]},
    ],
)  # fmt: skip
def test_odd_bodies_are_refused(body: Any) -> None:
    with pytest.raises(HostError) as error:
        patched(BEFORE, body)
    assert error.value.status == 400


LONG = [{"value": f"{number:05}", "type": "User"} for number in range(20_000)]


@pytest.mark.parametrize(
    "operations",
    [
        [{"op": "add", "path": "members", "value": [{"value": row["value"]} for row in LONG]}],
        [{"op": "add", "path": "members", "value": [{"value": "x"}]}] * 1_000,
        [{"op": "remove", "path": 'members[value eq "x"]'}] * 1_000,
        [{"op": "replace", "path": 'members[value eq "00001"].value', "value": "00001"}] * 1_000,
        [{"op": "remove", "path": "members", "value": LONG[:20]}] * 1_000,
    ],
)
def test_long_lists_take_no_time(operations: list[dict[str, Any]]) -> None:
    begun = time.process_time()
    changed = patched({"members": LONG}, {"Operations": operations})
    assert time.process_time() - begun < 2
    assert len(changed["members"]) in (19_980, 20_000, 20_001)


def test_long_lists_are_filtered_by_value_alone() -> None:
    operation = {"op": "remove", "path": 'members[type eq "User"]'}
    assert patched({"members": LONG[:9]}, {"Operations": [operation]})["members"] == []
    with pytest.raises(InvalidPath):
        patched({"members": LONG}, {"Operations": [operation]})


def test_values_in_place_of_objects_change_nothing() -> None:
    operations = [
        {"op": "add", "path": "members", "value": ["plain", 7, None]},
        {"op": "replace", "path": "members.display", "value": "x"},
        {"op": "remove", "path": "members.display"},
    ]
    members = patched({}, {"Operations": operations})["members"]
    assert members == ["plain", 7, None, {}]
