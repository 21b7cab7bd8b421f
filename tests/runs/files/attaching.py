"""Files of the cast: uploaded through the API, referred to by messages."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from agui_host.backends.file_store import file_store
from agui_host.teams.authentication import Principal
from runs.models import File, FileReference, Run
from tests.asgi import Answer, Headers, ask

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


async def uploaded(
    headers: Headers, content: bytes = b"hello", name: str = "a.txt", kind: str = "text/plain"
) -> dict[str, Any]:
    """A file as the API describes it."""
    answer = await posted(headers, content, name, kind)
    assert answer.status == 201, answer.body
    return dict(answer.json)


async def posted(headers: Headers, content: bytes, name: str, kind: str) -> Answer:
    more = {"content-type": kind} if kind else {}
    return await ask("POST", f"/api/v1/files?name={name}", {**headers, **more}, body=content)


def asking_about(*sources: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The body of a start whose message has a part for each of these sources."""
    parts = [{"type": "text", "text": "Read this."}]
    parts += [{"type": "document", "source": source} for source in sources]
    return {"input": {"messages": [{"role": "user", "content": parts}], **more}}


def attached(run: Run, owner: Principal, name: str) -> File:
    """A stored file that the run's thread refers to, without an upload."""
    content = name.encode()
    file = File.objects.create(
        team=owner.team,
        name=name,
        media_type="text/plain",
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        created_by=owner.label,
        creator=owner.actor_id,
        stored_at=timezone.now(),
        expires_at=timezone.now() + timedelta(hours=1),
    )

    async def blocks() -> AsyncIterator[bytes]:
        yield content

    asyncio.run(file_store().put(file.key, blocks()))
    FileReference.objects.create(team=owner.team, thread=run.thread, file=file)
    return file


def on_disk(team: Any) -> list[str]:
    """The names of what the file store has of a team."""
    folder = Path(settings.AGUI_FILES) / str(team.pk)
    return sorted(each.name for each in folder.iterdir()) if folder.exists() else []
