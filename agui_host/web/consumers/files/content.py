"""GET /api/v1/files/{id}/content: the bytes, as something that a browser saves and never runs."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial

import structlog
from django.conf import settings
from django.utils.http import content_disposition_header

from agui_host.backends.file_store import file_store
from agui_host.backends.postgres.bridge import db, db_read
from agui_host.errors import MethodNotAllowed, NotFound, Unavailable
from agui_host.security import media_types
from agui_host.teams import authentication, revocation
from agui_host.web import sse
from agui_host.web.asgi_http import Request, answer, endpoint
from agui_host.web.consumers.opening import opened
from agui_host.web.scope import Send
from events import recheck
from runs.access.files import files
from runs.models import File

log = structlog.get_logger(__name__)


@endpoint
async def content(request: Request, send: Send) -> None:
    """Send the file, or its headers to HEAD."""
    if request.scope["method"] not in ("GET", "HEAD"):
        raise MethodNotAllowed(headers={"Allow": "GET, HEAD"})
    principal = await db(authentication.resolve, request.headers, request.cookies)
    file = await db(files.find, principal, request.kwargs["file_id"])
    headers = headers_of(file)
    if request.scope["method"] == "HEAD":
        return await answer(send, 200, headers=headers)
    async with opened(principal), aclosing(_pieces(file)) as pieces:
        first = await anext(pieces)
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": raw})

        async def sending() -> None:
            await sse.piece(send, first, settings.AGUI_STALL_TIMEOUT)
            async for piece in pieces:
                await sse.piece(send, piece, settings.AGUI_STALL_TIMEOUT)
            await send({"type": "http.response.body", "body": b"", "more_body": False})

        request.release()
        await sse.beside(
            sending(),
            sse.until_disconnect(request.receive, "http.disconnect"),
            recheck.until_refused(
                {revocation.group(principal.team.pk)},
                partial(db_read, files.still_visible, principal, file.pk),
                settings.AGUI_SSE_HEARTBEAT,
            ),
        )


def headers_of(file: File) -> dict[str, str]:
    """What keeps the content apart from this site, whatever it is."""
    return {
        "content-type": media_types.served(file.media_type),
        "content-length": str(file.size),
        "content-disposition": content_disposition_header(True, file.name) or "attachment",
        "content-security-policy": "sandbox; default-src 'none'",
        "cross-origin-resource-policy": "same-origin",
        "x-content-type-options": "nosniff",
        "cache-control": "private, no-store",
        "etag": f'"{file.sha256}"',
    }


async def _pieces(file: File) -> AsyncGenerator[bytes, None]:
    try:
        async with aclosing(file_store().read(file.key)) as pieces:
            async for piece in pieces:
                yield piece
    except FileNotFoundError:
        log.error("files.content_missing", file=str(file.pk))
        raise NotFound("The content of this file is missing.") from None
    except OSError as error:
        log.error("files.not_readable", file=str(file.pk), error=str(error))
        raise Unavailable("The file cannot be read right now; try again later.") from None
