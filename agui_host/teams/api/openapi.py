"""How the OpenAPI schema describes the credentials."""

from typing import Any

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema

# Two names in one object mean that a request needs both.
EITHER: list[dict[str, list[Any]]] = [{"key": []}, {"session": []}, {"key": [], "endUser": []}]


class PrincipalScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """A key in a header, with or without the token of an end user, or a browser's session."""

    target_class = "agui_host.teams.authentication.PrincipalAuthentication"
    name = ["key", "session", "endUser"]  # one extension can describe several

    def get_security_requirement(self, auto_schema: AutoSchema) -> list[dict[str, list[Any]]]:
        """One of these ways is enough."""
        return EITHER

    def get_security_definition(self, auto_schema: AutoSchema) -> list[dict[str, Any]]:
        """A key as Bearer, the cookie of the pages, and the header that names an end user."""
        return [
            {"type": "http", "scheme": "bearer"},
            {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME},
            {
                "type": "apiKey",
                "in": "header",
                "name": "X-AGUI-User",
                "description": "A JWT, signed with the key's secret, of the person for whom the "
                "key sends the request.",
            },
        ]


class OperatorScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """An operator's key in a header."""

    target_class = "agui_host.apply.operators.OperatorAuthentication"
    name = "operator"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        """The key as Bearer."""
        return {"type": "http", "scheme": "bearer"}
