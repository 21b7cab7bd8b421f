"""The uploaded files that an agent may read: files that the messages of its run refer to."""

from functools import partial
from typing import Any

from agui_host.backends.file_store import file_store
from agui_host.backends.postgres.bridge import db
from agui_host.protocol.input.file_references import references as references_in
from agui_host.runtimes.context.files import RunFile
from runs.lifecycle.files import references
from runs.models import File, Run


async def of_run(run: Run, body: dict[str, Any]) -> list[RunFile]:
    """The files of the thread that ``body``, a run's whole input, refers to."""
    ids = references_in(body.get("messages") or (), references.hosts())
    if not ids:
        return []

    def rows() -> list[File]:
        return list(references.of_thread(run.thread_id).filter(pk__in=ids).order_by("pk"))

    return [
        RunFile(
            str(row.pk),
            row.name,
            row.media_type,
            row.size,
            row.sha256,
            partial(file_store().read, row.key),
        )
        for row in await db(rows)
    ]
