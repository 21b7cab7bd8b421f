"""The providers of one agent, asked in order before a run, bounded in time and in size."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

import structlog
from django.conf import settings

from protocol.errors import RunErrorCode, RunFailed
from runtimes.options import parse_options
from runtimes.providers.base import Asked, ContextEntry, Options, Provider
from runtimes.providers.table import PROVIDERS

log = structlog.get_logger(__name__)

CUT = "…"
MOST_ENTRIES = 200


@dataclass(slots=True)
class Gathered:
    """``added``: ``{provider, description, value}``; ``failed``: ``{provider, reason}``."""

    added: list[ContextEntry] = field(default_factory=list)
    failed: list[ContextEntry] = field(default_factory=list)


def parse(value: Any) -> list[tuple[type[Provider], Options]]:
    """``Agent.context_providers`` as classes and options. Raises BadOptions."""
    return parse_options(value, PROVIDERS, "context_providers", "wisdom")


async def gather(value: Any, asked: Asked) -> Gathered:
    """Ask each provider in turn; one that fails or is late is passed over.

    Raises BadOptions, and RunFailed when one that is ``required`` fails.
    """
    found = Gathered()
    until = time.monotonic() + settings.AGUI_CONTEXT_TIMEOUT
    left = settings.AGUI_CONTEXT_MAX_CHARS
    for entry, (kind, options) in zip(value, parse(value), strict=True):
        name = entry["name"]
        try:
            async with asyncio.timeout(until - time.monotonic()):
                given = await kind(options).entries(asked)
        except Exception as error:
            reason = "timeout" if isinstance(error, TimeoutError) else "error"
            log.warning("context.failed", provider=name, reason=reason, exc_info=error)
            found.failed.append({"provider": name, "reason": reason})
            if options.required:
                raise RunFailed(
                    RunErrorCode.AGENT_ERROR,
                    f"The agent needs the context of {name!r}, which could not be read.",
                ) from None
            continue
        kept = cut(given, min(options.max_chars, left))
        left -= sum(map(_size, kept))
        found.added += [{"provider": name, **each} for each in kept]
    return found


def cut(given: list[ContextEntry], most: int) -> list[ContextEntry]:
    """The first entries, in ``most`` characters; the one that does not fit is cut, the rest go."""
    kept: list[ContextEntry] = []
    for each in given[:MOST_ENTRIES]:
        room = most - len(each["description"]) - len(CUT)
        if room <= 0:
            break
        fits = _size(each) <= most
        value = each["value"] if fits else each["value"][:room] + CUT
        kept.append({"description": each["description"], "value": value})
        most -= _size(kept[-1])
        if not fits:
            break
    return kept


def _size(entry: ContextEntry) -> int:
    return len(entry["description"]) + len(entry["value"])
