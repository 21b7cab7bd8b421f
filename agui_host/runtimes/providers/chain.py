"""The providers of one agent, called in order before a run, bounded in time and in size."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

import structlog
from django.conf import settings

from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.runtimes.options import parse_options
from agui_host.runtimes.providers.base import ContextEntry, Options, Provider, Query
from agui_host.runtimes.providers.table import PROVIDERS

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


async def gather(value: Any, query: Query) -> Gathered:
    """Call each provider in turn; a provider that fails or is late is skipped.

    Raises BadOptions, and RunFailed if a ``required`` one fails.
    """
    gathered = Gathered()
    until = time.monotonic() + settings.AGUI_CONTEXT_TIMEOUT
    left = settings.AGUI_CONTEXT_MAX_CHARS
    for entry, (kind, options) in zip(value, parse(value), strict=True):
        name = entry["name"]
        try:
            async with asyncio.timeout(until - time.monotonic()):
                entries = await kind(options).entries(query)
        except Exception as error:
            reason = "timeout" if isinstance(error, TimeoutError) else "error"
            log.warning("context.failed", provider=name, reason=reason, exc_info=error)
            gathered.failed.append({"provider": name, "reason": reason})
            if options.required:
                raise RunFailed(
                    RunErrorCode.AGENT_ERROR,
                    f"The agent needs the context of {name!r}, which could not be read.",
                ) from None
            continue
        fitting = cut(entries, min(options.max_chars, left))
        left -= sum(map(_size, fitting))
        gathered.added += [{"provider": name, **each} for each in fitting]
    return gathered


def cut(entries: list[ContextEntry], most: int) -> list[ContextEntry]:
    """The first entries, in ``most`` characters; the first too long is cut, the rest dropped."""
    fitting: list[ContextEntry] = []
    for each in entries[:MOST_ENTRIES]:
        room = most - len(each["description"]) - len(CUT)
        if room <= 0:
            break
        fits = _size(each) <= most
        value = each["value"] if fits else each["value"][:room] + CUT
        fitting.append({"description": each["description"], "value": value})
        most -= _size(fitting[-1])
        if not fits:
            break
    return fitting


def _size(entry: ContextEntry) -> int:
    return len(entry["description"]) + len(entry["value"])
