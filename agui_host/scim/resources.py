"""Users and groups as SCIM's JSON, in both directions."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from agui_host.links import absolute
from agui_host.protocol.errors import Invalid
from agui_host.scim.errors import InvalidSyntax
from agui_host.teams.directory.groups import Group
from agui_host.teams.directory.people import Person
from agui_host.teams.models import ScimGroup, ScimUser

Json = dict[str, Any]
USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
MOST_MEMBERS = 20_000
_EMAIL = re.compile(r"[^@\s\x00]{1,64}@[\w-]+(\.[\w-]+)+")


def user(row: ScimUser) -> Json:
    """A user's resource."""
    first, family = row.user.first_name, row.user.last_name
    names = {"givenName": first, "familyName": family}
    groups = [
        {
            "value": str(member.group_id),
            "$ref": place("Groups", member.group_id),
            "display": member.group.display_name,
        }
        for member in row.groups.all()
    ]
    values = {
        "externalId": row.external_id,
        "userName": row.user_name,
        "displayName": row.display_name,
        "name": {name: text for name, text in names.items() if text},
        "emails": [{"value": row.user.email, "type": "work", "primary": True}],
        "groups": groups,
    }
    present = {name: value for name, value in values.items() if value}
    meta = _meta("User", "Users", row.pk, row.created_at, row.changed_at)
    return {"schemas": [USER], "id": str(row.pk), **present, "active": row.active, "meta": meta}


def group(row: ScimGroup) -> Json:
    """A group's resource."""
    people = [
        {
            "value": str(member.person_id),
            "$ref": place("Users", member.person_id),
            "type": "User",
        }
        for member in row.members.all()
    ]
    values = {"externalId": row.external_id, "members": people}
    return {
        "schemas": [GROUP],
        "id": str(row.pk),
        "displayName": row.display_name,
        **{name: value for name, value in values.items() if value},
        "meta": _meta("Group", "Groups", row.pk, row.created_at, row.changed_at),
    }


def person_of(body: Any) -> Person:
    """The person of a user's resource. Raises InvalidSyntax, Invalid."""
    values = _members(body)
    name = values.get("name")
    names = _members(name) if isinstance(name, Mapping) else {}
    user_name = _text(values, "userName", 254)
    if not user_name:
        raise Invalid("A user needs a userName.", details={"path": "userName"})
    email = _email(values.get("emails")) or (user_name if "@" in user_name else "")
    if not _EMAIL.fullmatch(email) or len(email) > 254:
        raise Invalid("A user needs an e-mail address.", details={"path": "emails"})
    return Person(
        user_name=user_name,
        email=email,
        external_id=_text(values, "externalId", 255),
        display_name=_text(values, "displayName", 200),
        given_name=_text(names, "givenName", 150),
        family_name=_text(names, "familyName", 150),
        active=_flag(values.get("active")),
    )


def group_of(body: Any) -> Group:
    """The group of a group's resource. Raises InvalidSyntax, Invalid."""
    values = _members(body)
    name = _text(values, "displayName", 255)
    if not name:
        raise Invalid("A group needs a displayName.", details={"path": "displayName"})
    rows = values.get("members") or []
    if not isinstance(rows, list) or len(rows) > MOST_MEMBERS:
        raise Invalid(f"members is a list of at most {MOST_MEMBERS:,}.")
    try:
        keys = frozenset(UUID(str(row["value"])) for row in rows)
    except (KeyError, TypeError, ValueError):
        raise Invalid("A member has the id of a user as its value.") from None
    return Group(name, _text(values, "externalId", 255), keys)


def place(kind: str, key: object) -> str:
    """The address of a resource."""
    return absolute(f"/scim/v2/{kind}/{key}")


def _meta(name: str, kind: str, key: UUID, created: datetime, changed: datetime) -> Json:
    return {
        "resourceType": name,
        "created": created.isoformat(),
        "lastModified": changed.isoformat(),
        "location": place(kind, key),
    }


def _members(body: Any) -> Json:
    """The members by the names of the standard, whatever their case."""
    if not isinstance(body, Mapping):
        raise InvalidSyntax
    known = ("userName", "externalId", "displayName", "active", "name", "emails", "members",
             "givenName", "familyName")  # fmt: skip
    by_lower = {name.lower(): name for name in known}
    return {by_lower[key.lower()]: value for key, value in body.items() if key.lower() in by_lower}


def _text(values: Json, name: str, most: int) -> str:
    value = values.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > most or "\x00" in value:
        raise Invalid(f"{name} is text of at most {most} characters.", details={"path": name})
    return value.strip()


def _flag(value: Any) -> bool:
    # Entra ID sends "True" and "False".
    if value is None:
        return True
    text = str(value).lower()
    if text not in ("true", "false"):
        raise Invalid("active is true or false.", details={"path": "active"})
    return text == "true"


def _email(rows: Any) -> str:
    listed = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    primary = [row for row in listed if row.get("primary") in (True, "true", "True")]
    first = next(iter([*primary, *listed]), {}).get("value")
    return first.strip() if isinstance(first, str) else ""
