"""PATCH of RFC 7644, 3.5.2, on a resource as JSON: pure, and as lenient as Okta and Entra ID need.

Attributes that this host does not store are ignored, in every position: a directory sends many.
"""

import re
from collections.abc import Mapping
from typing import Any

from agui_host.scim.errors import InvalidPath, InvalidSyntax

MOST_OPERATIONS = 1_000
SINGLE = ("userName", "externalId", "displayName", "active", "name")
MULTIPLE = ("emails", "members")
NAMES = {name.lower(): name for name in (*SINGLE, *MULTIPLE)}
SUBS = {name.lower(): name for name in ("givenName", "familyName", "formatted", "value", "type",
                                        "primary", "display")}  # fmt: skip
PATH = re.compile(
    r"(?:urn:[\w.:-]+:(?:User|Group):)?(?P<name>\$?[\w-]+)"
    r'(?:\[(?P<by>\w+)\s+eq\s+"?(?P<test>[^"\]]*)"?\])?(?:\.(?P<sub>[\w-]+))?',
    re.IGNORECASE,
)


def patched(resource: Mapping[str, Any], body: Any) -> dict[str, Any]:
    """The resource after a PATCH body's operations. Raises InvalidSyntax, InvalidPath."""
    operations = _member(body, "Operations")
    if not isinstance(operations, list) or not 1 <= len(operations) <= MOST_OPERATIONS:
        raise InvalidSyntax(f"Send 1 to {MOST_OPERATIONS} Operations.")
    result = dict(resource)
    for operation in operations:
        if not isinstance(operation, Mapping):
            raise InvalidSyntax("An operation is an object.")
        verb = str(_member(operation, "op")).lower()
        if verb not in ("add", "replace", "remove"):
            raise InvalidSyntax("op is add, replace or remove.")
        path, value = _member(operation, "path"), _member(operation, "value")
        _operate(result, verb, path, value)
    return result


def _operate(resource: dict[str, Any], verb: str, path: Any, value: Any) -> None:
    if path is None or path == "":
        if verb == "remove" or not isinstance(value, Mapping):
            raise InvalidPath("Without a path, the value must be an object to add or replace.")
        for name, part in value.items():
            _operate(resource, verb, name, part)
        return
    match = PATH.fullmatch(path) if isinstance(path, str) and len(path) <= 1_000 else None
    if match is None:
        if isinstance(path, str) and isinstance(value, Mapping) and path.startswith("urn:"):
            return  # An extension as a whole.
        raise InvalidPath
    name = NAMES.get(match["name"].lower())
    if name is None:
        return
    sub = SUBS.get(match["sub"].lower()) if match["sub"] else None
    if match["sub"] and sub is None:
        return
    if name in MULTIPLE:
        test = (SUBS.get(match["by"].lower()), match["test"]) if match["by"] else None
        resource[name] = _list(resource.get(name) or [], verb, test, sub, value)
    elif sub is not None:
        part = dict(resource.get(name) or {}) if name == "name" else {}
        resource[name] = {**part, sub: None if verb == "remove" else value}
    elif name == "name" and verb == "add" and isinstance(value, Mapping):
        resource[name] = {**(resource.get(name) or {}), **value}
    else:
        resource[name] = None if verb == "remove" else value


def _list(
    rows: list[Any], verb: str, test: tuple[str | None, str] | None, sub: str | None, value: Any
) -> list[Any]:
    """A multi-valued attribute after an operation on all of it, or on the rows of a filter."""
    if test is None and sub is None:
        values = value if isinstance(value, list) else [] if value is None else [value]
        if verb == "replace":
            return values
        if verb == "add":
            return rows + [row for row in values if row not in rows]
        doomed = {_value(row) for row in values}
        return [row for row in rows if values and _value(row) not in doomed]
    hits = [row for row in rows if test is None or _fits(row, test)]
    if verb == "remove":
        if sub is None:
            return [row for row in rows if row not in hits]
        return [_without(row, sub) if row in hits else row for row in rows]
    change = {sub: value} if sub else value if isinstance(value, Mapping) else {"value": value}
    if not hits:
        beginning = {test[0]: test[1]} if test and test[0] else {}
        return [*rows, {**beginning, **change}]
    return [{**row, **change} if row in hits else row for row in rows]


def _fits(row: Any, test: tuple[str | None, str]) -> bool:
    name, text = test
    value = row.get(name) if isinstance(row, Mapping) and name else None
    return value is not None and str(value).lower() == text.lower()


def _without(row: Any, sub: str) -> dict[str, Any]:
    return {name: part for name, part in row.items() if name != sub}


def _value(row: Any) -> Any:
    value = row.get("value") if isinstance(row, Mapping) else row
    return value if isinstance(value, str) else None


def _member(body: Any, name: str) -> Any:
    """A member of an object, whatever the case of its name."""
    if not isinstance(body, Mapping):
        raise InvalidSyntax
    return next((value for key, value in body.items() if key.lower() == name.lower()), None)
