"""The archive of a run, piece by piece: its seal is of all pieces before it."""

import hashlib
from collections.abc import AsyncIterator

from agui_host.web.consumers.export.log import ndjson
from runs.lifecycle.archive import form
from runs.models import Run


async def archive(run: Run, opening: bytes) -> AsyncIterator[bytes]:
    """The line about the run, its events, the seal."""
    digest = hashlib.sha256()
    first = opening + form.END
    digest.update(first)
    yield first
    async for piece in ndjson(run):
        digest.update(piece)
        yield piece
    yield form.seal(run.team_id, digest.hexdigest()) + form.END
