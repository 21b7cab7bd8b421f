"""PATCH of RFC 7644, 3.5.2, on a resource as JSON: pure, and as lenient as Okta and Entra ID need.

Attributes that this host does not store are ignored, in every position: a directory sends many.
"""

import re
from collections.abc import Mapping
from typing import Any

from agui_host.protocol.strict_json import dumps_sorted
from agui_host.scim.errors import InvalidPath, InvalidSyntax

Rows = dict[str, Any]
Test = tuple[str | None, str] | None
MOST_OPERATIONS = 1_000
LONG = 1_000
"""Entries of a list up to which an operation can look at each."""
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
    result = {**resource, **{name: _keyed(resource.get(name)) for name in MULTIPLE}}
    for operation in operations:
        if not isinstance(operation, Mapping):
            raise InvalidSyntax("An operation is an object.")
        verb = str(_member(operation, "op")).lower()
        if verb not in ("add", "replace", "remove"):
            raise InvalidSyntax("op is add, replace or remove.")
        path, value = _member(operation, "path"), _member(operation, "value")
        _operate(result, verb, path, value)
    return result | {name: list(result[name].values()) for name in MULTIPLE}


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
        resource[name] = _change(resource[name], verb, test, sub, value)
    elif sub is not None:
        part = dict(resource.get(name) or {}) if name == "name" else {}
        resource[name] = {**part, sub: None if verb == "remove" else value}
    elif name == "name" and verb == "add" and isinstance(value, Mapping):
        resource[name] = {**(resource.get(name) or {}), **value}
    elif name == "active" and verb == "remove":
        raise InvalidPath("active is always set: replace it.")  # Unset would let a leaver back in.
    else:
        resource[name] = None if verb == "remove" else value


def _keyed(rows: Any) -> Rows:
    """The entries of a list by their values, so that each operation finds its own at once."""
    listed = rows if isinstance(rows, list) else [] if rows is None else [rows]
    return {_key(row): row for row in listed}


def _key(row: Any) -> str:
    value = row.get("value") if isinstance(row, Mapping) else row
    return value.lower() if isinstance(value, str) else f"\0{dumps_sorted(row)}"


def _change(rows: Rows, verb: str, test: Test, sub: str | None, value: Any) -> Rows:
    """A multi-valued attribute after an operation on all of it, or on the rows of a filter."""
    if test is None and sub is None:
        values = _keyed(value)
        if verb == "replace" or (verb == "remove" and not values):
            return values
        if verb == "add":
            rows.update(values)
        for key in values if verb == "remove" else ():
            rows.pop(key, None)
        return rows
    hits = _hits(rows, test)
    if verb == "remove" and sub is None:
        for key in hits:
            del rows[key]
        return rows
    change = {sub: value} if sub else value if isinstance(value, Mapping) else {"value": value}
    if verb != "remove" and not hits:
        row = {**({test[0]: test[1]} if test and test[0] else {}), **change}
        rows[_key(row)] = row
        return rows
    for key in hits:
        rows[key] = _without(rows[key], sub) if verb == "remove" else {**rows[key], **change}
    # The keys of the changed rows, in the same order.
    return _keyed(list(rows.values())) if "value" in change and len(rows) <= LONG else rows


def _hits(rows: Rows, test: Test) -> list[str]:
    """The keys of the objects that a filter selects. Raises InvalidPath."""
    if test is not None and test[0] == "value":
        key = test[1].lower()
        return [key] if isinstance(rows.get(key), Mapping) else []
    if len(rows) > LONG:
        raise InvalidPath(f"A list of more than {LONG:,} is filtered by value.")
    objects = [(key, row) for key, row in rows.items() if isinstance(row, Mapping)]
    return [key for key, row in objects if test is None or _fits(row, test)]


def _fits(row: Mapping[str, Any], test: tuple[str | None, str]) -> bool:
    name, text = test
    value = row.get(name) if name else None
    return value is not None and str(value).lower() == text.lower()


def _without(row: Any, sub: str | None) -> dict[str, Any]:
    return {name: part for name, part in row.items() if name != sub}


def _member(body: Any, name: str) -> Any:
    """A member of an object, whatever the case of its name."""
    if not isinstance(body, Mapping):
        raise InvalidSyntax
    return next((value for key, value in body.items() if key.lower() == name.lower()), None)
