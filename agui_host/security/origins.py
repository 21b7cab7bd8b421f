"""From where a session cookie counts: the site's own pages, and the origins that operators list."""

from collections.abc import Mapping

from django.conf import settings


def check_origin(headers: Mapping[str, str], *, host: str, scheme: str) -> bool:
    """Whether a session cookie counts for a POST or socket from this ``Origin``.

    It must be present, and be the site's own (``scheme://host``) or listed in AGUI_ALLOWED_ORIGINS
    by name. ``*`` there answers CORS but never lets a cookie pass.
    """
    origin = headers.get("origin", "").lower()
    own = f"{as_http(scheme)}://{host}".lower()
    return bool(host) and (origin == own or is_listed(origin))


def is_json(headers: Mapping[str, str]) -> bool:
    """Whether the body is declared as JSON, which no HTML form can do."""
    return headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


def is_listed(origin: str) -> bool:
    """Whether AGUI_ALLOWED_ORIGINS lists this origin by name.

    ``null`` never counts: every sandboxed frame and local file sends it.
    """
    listed = {entry.strip().rstrip("/").lower() for entry in settings.AGUI_ALLOWED_ORIGINS}
    return origin.lower() in listed - {"null", "*", ""}


def as_http(scheme: str) -> str:
    """A page on ``https:`` opens its sockets as ``wss:``, but its Origin stays ``https:``."""
    return {"ws": "http", "wss": "https"}.get(scheme, scheme)
