"""A remote agent's word on whether it can be asked again for a run, kept for the next loss."""

from typing import TYPE_CHECKING

import httpx

from agui_host.backends.postgres.bridge import db

if TYPE_CHECKING:
    from agui_host.runtimes.models import Agent

RECOVERY = "agui-recovery"
"""The header of a stream with which its agent declares it."""
KNOWN = frozenset({"", "continue", "end"})


async def note(row: "Agent", response: httpx.Response) -> None:
    """Keep the declaration of an answer if it is new; an unknown one counts as none."""
    declared = response.headers.get(RECOVERY, "").strip().lower()
    if declared not in KNOWN:
        declared = ""
    if row.declared_recovery != declared:
        row.declared_recovery = declared
        await db(_store, row)


def _store(row: "Agent") -> None:
    # Another version, such as a trial's, declares nothing for the present one.
    rows = type(row).objects.for_team(row.team).filter(pk=row.pk, version=row.version)
    rows.update(declared_recovery=row.declared_recovery)
