"""Addresses of this host for people to open: from the configuration, never from a request."""

from django.conf import settings


def absolute(path: str) -> str:
    """``path`` on this host as people reach it.

    A request's Host header says what its sender likes; a mail must not lead there.
    """
    return f"{settings.AGUI_PUBLIC_URL or settings.AGUI_LOCAL_URL}{path}"
