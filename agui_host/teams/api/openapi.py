"""How the OpenAPI schema describes the two credentials."""

from typing import Any

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema


class PrincipalScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """A key in a header, or a browser's session; either is enough."""

    target_class = "agui_host.teams.authentication.PrincipalAuthentication"
    name = ["key", "session"]  # one extension can describe several

    def get_security_requirement(self, auto_schema: AutoSchema) -> list[dict[str, list[Any]]]:
        # Two names in one object would mean that a request needs both.
        return [{name: []} for name in self.name]

    def get_security_definition(self, auto_schema: AutoSchema) -> list[dict[str, Any]]:
        """The two ways to sign a request: a key as Bearer, or the cookie of the pages."""
        return [
            {"type": "http", "scheme": "bearer"},
            {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME},
        ]


class OperatorScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """An operator's key in a header."""

    target_class = "agui_host.apply.operators.OperatorAuthentication"
    name = "operator"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        """The key as Bearer."""
        return {"type": "http", "scheme": "bearer"}
