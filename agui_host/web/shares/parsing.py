"""Frames of sockets and bodies of requests: bounded by bytes, large ones are parsed in a thread."""

from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

from django.conf import settings

from agui_host.backends import apart, work
from agui_host.backends.held import Held, Hold
from agui_host.errors import TooLarge
from agui_host.protocol import strict_json
from agui_host.teams.limits import LimitReached
from agui_host.web.asgi_http import Request

T = TypeVar("T")

VALUE_BYTES = 40
"""Memory of a parsed value in addition to its text."""
ledger = Held(process=128_000_000, team=32_000_000)
"""Frames of all sockets, from reading to their answer."""


async def body(request: Request, team: UUID, read: Callable[[Any], T], *, empty: bytes = b"") -> T:
    """What ``read`` makes of the JSON of a request's body, charged to the team. Raises BadJson.

    ``empty`` is the JSON of a request without one.
    """
    data = await request.body() or empty

    def parsed() -> T:
        work.charge(team, "parse", work.of_json(data))
        return read(strict_json.loads(data))

    return parsed() if len(data) <= apart.SMALL else await apart.in_turn(team, parsed)


def admit(team: UUID, size: int) -> Hold:
    """Count a frame of ``size`` characters; the caller closes the hold.

    Raises TooLarge for more than ``AGUI_MAX_BODY_BYTES``, LimitReached while the team's sockets,
    or all of the process, hold as much as they are allowed to.
    """
    refuse_size(size)
    hold = Hold(ledger, team)
    if not hold.take(size):
        raise LimitReached.of("socket_bytes", ledger.team, after=1.0)
    return hold


def refuse_size(size: int) -> None:
    """Raises TooLarge."""
    if size > (limit := settings.AGUI_MAX_BODY_BYTES):
        raise TooLarge(f"The frame is larger than {limit} bytes.", details={"limit": limit})


async def in_turn(team: UUID, text: str, parse: Callable[[], T], hold: Hold) -> T:
    """The result of ``parse``, charged to the team; a large text is parsed in a thread."""

    def parsed() -> T:
        work.charge(team, "parse", work.of_json(text))
        result = parse()
        hold.add(work.values_of(text) * VALUE_BYTES)
        return result

    return parsed() if len(text) <= apart.SMALL else await apart.in_turn(team, parsed)
