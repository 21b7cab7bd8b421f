"""URLs of this host for people to open: from the configuration, never from a request."""

from django.conf import settings


def absolute(path: str) -> str:
    """``path`` on this host as people reach it.

    The sender of a request chooses its Host header; a link in a mail must not follow it.
    """
    return f"{settings.AGUI_PUBLIC_URL or settings.AGUI_LOCAL_URL}{path}"
