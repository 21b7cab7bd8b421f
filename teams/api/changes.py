"""The body of a PATCH: an unknown member is refused, so that it does not seem to be changed."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from protocol.errors import Invalid

LONGEST = 60
CLOSE_ENOUGH = 0.4


class UnknownMember(Invalid):
    """The change names a member that cannot be changed here."""

    code = "unknown_member"

    @classmethod
    def of(cls, name: str, known: Iterable[str]) -> "UnknownMember":
        """The error for one name, with the nearest known one."""
        names = sorted(known)
        near = get_close_matches(name.lower()[:LONGEST], names, 1, CLOSE_ENOUGH)
        hint = f"; the nearest is {near[0]}" if near else ""
        excerpt = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
        return cls(
            f"{excerpt!r} cannot be changed here{hint}. Known: {', '.join(names)}.",
            details={"path": name[:LONGEST], "nearest": near[0] if near else None, "known": names},
        )


class ChangeSerializer(serializers.Serializer[Any]):
    """The base of every serializer that reads a PATCH. POST ignores unknown members."""

    def to_internal_value(self, data: Any) -> Any:
        """Raises UnknownMember before anything else is checked."""
        if isinstance(data, Mapping):
            for name in data:
                if name not in self.fields:
                    raise UnknownMember.of(str(name), self.fields)
        return super().to_internal_value(data)

    @classmethod
    def read(cls, request: Request) -> dict[str, Any]:
        """The checked members of a request's body. Raises UnknownMember or ValidationError."""
        serializer = cls(data=request.data)
        serializer.is_valid(raise_exception=True)
        values: dict[str, Any] = serializer.validated_data
        return values
