"""Answers for one caller only: no cache keeps them, or passes them on to another caller."""

from agui_host.web.scope import RawHeaders, varying

CREDENTIALS = ("Authorization", "Cookie", "X-AGUI-User")
"""Request headers that decide an answer's content."""


def private(headers: RawHeaders) -> RawHeaders:
    """The headers of an answer with ``no-store``, unless it names its own rule, and with ``Vary``.

    Streams, sealed pages of a log, static files and preflights name theirs. Public answers stay as
    they are.
    """
    named = {name.lower(): value for name, value in headers}
    if b"access-control-max-age" in named:
        return headers
    rule = named.get(b"cache-control")
    if rule is None and b"etag" not in named:
        headers = [*headers, (b"cache-control", b"no-store")]
    elif rule is None or b"public" in rule:
        return headers
    return varying(headers, *CREDENTIALS)
