"""The bodies of POST, PUT and PATCH: an unknown member is refused, so that it cannot seem to count.

``Body`` is the base of every serializer that reads a body, and of the objects inside. A view that
takes no body is marked by ``without_body``.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from agui_host.protocol.input.members import known_members

P = ParamSpec("P")


class Body(serializers.Serializer[Any]):
    """Reads a body. ``expiresAt`` is read as ``expires_at``; both must not differ."""

    def to_internal_value(self, data: Any) -> Any:
        """Raises UnknownMember before anything else is checked."""
        if isinstance(data, Mapping):
            names = [name for name, field in self.fields.items() if not field.read_only]
            data = known_members(data, names)
            self._refuse_long_lists(data)
        return super().to_internal_value(data)

    def _refuse_long_lists(self, data: Mapping[str, Any]) -> None:
        # ListField itself reads all of a list before it looks at its length.
        for name, value in data.items():
            field = self.fields[name]
            if not isinstance(value, list) or not isinstance(field, serializers.ListField):
                continue
            if field.max_length is not None and len(value) > field.max_length:
                message = field.error_messages["max_length"].format(max_length=field.max_length)
                raise serializers.ValidationError({name: [message]})

    @classmethod
    def read(cls, request: Request) -> dict[str, Any]:
        """The checked members of a request's body. Raises UnknownMember or ValidationError."""
        return cls.read_data(request.data)

    @classmethod
    def read_data(cls, data: Any) -> dict[str, Any]:
        """The checked members of ``data``. Raises UnknownMember or ValidationError."""
        serializer = cls(data=data)
        serializer.is_valid(raise_exception=True)
        values: dict[str, Any] = serializer.validated_data
        return values


def without_body(
    view: Callable[Concatenate[Any, Request, P], Response],
) -> Callable[Concatenate[Any, Request, P], Response]:
    """A method of a view whose request has no members: absent or ``{}``. Raises UnknownMember."""

    @wraps(view)
    def checked(self: Any, request: Request, /, *args: P.args, **kwargs: P.kwargs) -> Response:
        if isinstance(request.data, Mapping):
            known_members(request.data, ())
        return view(self, request, *args, **kwargs)

    return checked
