"""The filters that directories send: comparisons by ``eq``, joined by ``and``."""

import re
from uuid import UUID

from django.db.models import Q

from agui_host.scim.errors import InvalidFilter

LONGEST = 2_000
PART = re.compile(
    r'\s*(?:urn:[\w.:-]+:(?:User|Group):)?(?P<name>[\w.]+(?:\[type eq "\w+"\]\.value)?)'
    r'\s+eq\s+(?:"(?P<text>(?:[^"\\]|\\.)*)"|(?P<word>true|false))\s*',
    re.IGNORECASE,
)
USERS = {
    "username": "user_name__iexact",
    "externalid": "external_id",
    "displayname": "display_name__iexact",
    "emails": "user__email__iexact",
    "emails.value": "user__email__iexact",
    "id": "pk",
    "active": "active",
}
GROUPS = {
    "displayname": "display_name__iexact",
    "externalid": "external_id",
    "members": "members__person",
    "members.value": "members__person",
    "id": "pk",
}
IDS = ("pk", "members__person")


def condition(text: str, columns: dict[str, str]) -> Q:
    """The rows that a filter asks for. Raises InvalidFilter."""
    if len(text) > LONGEST:
        raise InvalidFilter
    total, position = Q(), 0
    while True:
        match = PART.match(text, position)
        if match is None:
            raise InvalidFilter
        total &= _compared(match, columns)
        position = match.end()
        if position == len(text):
            return total
        if text[position : position + 4].lower() != "and ":
            raise InvalidFilter
        position += 4


def _compared(match: re.Match[str], columns: dict[str, str]) -> Q:
    name = re.sub(r"\[.*\]", "", match["name"].lower())
    column = columns.get(name)
    if column is None or (column == "active") != (match["word"] is not None):
        raise InvalidFilter
    if column == "active":
        return Q(active=match["word"].lower() == "true")
    value = re.sub(r"\\(.)", r"\1", match["text"])
    if "\x00" in value:
        raise InvalidFilter
    if column in IDS:
        try:
            return Q(**{column: UUID(value)})
        except ValueError:
            return Q(pk__in=[])
    return Q(**{column: value})
