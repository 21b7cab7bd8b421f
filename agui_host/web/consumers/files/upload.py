"""POST /api/v1/files: a file as the whole body, or as the one file of a form."""

import asyncio
import hashlib
import unicodedata
from collections.abc import AsyncIterator
from email.message import Message
from typing import Any
from uuid import UUID

from django.conf import settings

from agui_host.backends import work
from agui_host.backends.file_store import file_store
from agui_host.backends.file_store.store import BLOCK
from agui_host.backends.postgres.bridge import db
from agui_host.errors import RequestTimeout, TooLarge, Unavailable, UnsupportedMediaType
from agui_host.protocol.errors import BadRequest, HostError, Invalid
from agui_host.protocol.input.numbers import LARGEST, whole
from agui_host.security import media_types
from agui_host.teams import authentication
from agui_host.teams.authentication import Principal
from agui_host.teams.limits import refuse_work
from agui_host.web.asgi_http import Request, answer_json, endpoint
from agui_host.web.callers import of_team
from agui_host.web.consumers import arriving
from agui_host.web.consumers.files import places
from agui_host.web.consumers.files.form import LONGEST_FIELDS, Form
from agui_host.web.scope import Send
from runs.access.files import files
from runs.api.files.serializers import FileSerializer
from runs.lifecycle.files import uploads
from runs.models import File
from runs.models.file import LONGEST_NAME

MESSAGE, UNIT_BYTES = 20, 64
"""Units of work for each piece of a body, and the bytes for each unit more: they are parsed, hashed
and stored."""
PACE_BYTES, PACE_SECONDS = 64 * 1024, 30.0
"""So many bytes must arrive in so many seconds of waiting, or the rest of the body."""
CLOSE = {"Connection": "close"}
"""The rest of a refused body is not read."""
FORM = "multipart/form-data"
UNNAMED = "file"
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of characters that a name must not have: control, format, surrogates, breaks."""


class FileTypeRefused(Invalid):
    """This host does not take files of this type."""

    code = "file_type_refused"


class FileTypeWrong(Invalid):
    """The file is not of the type that it is said to be."""

    code = "file_type_wrong"


@endpoint
async def upload(request: Request, send: Send) -> None:
    """Store the file: 201 with its description. Nothing is stored unless all of it is."""
    try:
        principal = await db(authentication.resolve, request.headers, request.cookies)
        arriving.refuse_foreign_page(principal, request, json_body=False)
        team = principal.team.pk
        refuse_work(team)
        if not places.places().has_room(str(team)):
            request.release()
        async with places.taken(team):
            file = await _stored(principal, request)
    except HostError as error:
        error.headers.update(CLOSE)
        raise
    await answer_json(send, 201, FileSerializer(file).data)


async def _stored(principal: Principal, request: Request) -> File:
    team = principal.team.pk
    upload = Upload(request, team)
    request.release()  # From here on it is the client's pace that counts.
    await upload.begin()
    async with request.readmitted(of_team(team), "write"):
        reserved = await db(files.reserve, principal, upload.name, upload.most)
    try:
        try:
            async with asyncio.timeout(settings.AGUI_UPLOAD_TIMEOUT):
                await file_store().put(reserved.key, upload.blocks())
        except TimeoutError:
            seconds = settings.AGUI_UPLOAD_TIMEOUT
            message = f"The file did not arrive within {seconds:g} seconds."
            raise RequestTimeout(message, details={"seconds": seconds}) from None
        except OSError as error:
            raise Unavailable("The file cannot be stored right now; try again later.") from error
        async with request.admitted(of_team(team), "write"):
            return await db(
                files.complete,
                principal,
                reserved,
                name=upload.name,
                media_type=upload.media_type,
                size=upload.size,
                sha256=upload.sha256,
            )
    except BaseException:
        await asyncio.shield(db(uploads.expire, reserved))
        raise


class Upload:
    """A body on its way: its blocks as they come, and their total. Charged to its team.

    ``most`` is how many bytes the file can have, by the request's declaration.
    """

    def __init__(self, request: Request, team: UUID) -> None:
        self._request, self._team = request, team
        self._hash = hashlib.sha256()
        self.size = 0
        self._waited, self._arrived = 0.0, 0
        header = Message()
        header["content-type"] = request.headers.get("content-type", "")
        self._form: Form | None = None
        if header.get_content_type() == FORM:
            boundary = header.get_boundary()
            if not boundary or len(boundary) > 200:
                raise BadRequest("The form names no boundary in its Content-Type.")
            self._form = Form(boundary.encode())
        self.name = _name(request.query.get("name", UNNAMED))
        self.media_type = request.headers.get("content-type", "")
        limit = settings.AGUI_FILE_MAX_BYTES
        length = request.headers.get("content-length", "")
        if (declared := whole(length, 0, LARGEST)) is None:
            declared = limit
        if declared > limit + (LONGEST_FIELDS if self._form else 0):
            raise _too_large()
        self.most = min(declared, limit)
        self._stream = self._pieces()
        self._ahead = b""

    @property
    def sha256(self) -> str:
        """Of the whole file, in hexadecimal."""
        return self._hash.hexdigest()

    async def begin(self) -> None:
        """Read until the file begins: a form without one costs no row. Raises HostError."""
        while not self._ahead:
            try:
                self._ahead = await anext(self._stream)
            except StopAsyncIteration:
                return

    async def blocks(self) -> AsyncIterator[bytes]:
        """The file in blocks, checked as they come. Raises HostError."""
        block, is_first = bytearray(), True
        async for piece in self._whole():
            self.size += len(piece)
            if self.size > self.most:
                raise _too_large()
            block += piece
            if len(block) >= BLOCK:
                yield await self._checked(bytes(block), is_first)
                block, is_first = bytearray(), False
        if not self.size:
            raise Invalid("The file is empty.", details={"path": "file"})
        if block:
            yield await self._checked(bytes(block), is_first)

    async def _message(self) -> Any:
        """The next message, once the team is below its share.

        Raises RequestTimeout for a client slower than the pace.
        """
        while seconds := work.debt(self._team):
            await asyncio.sleep(seconds)
        loop = asyncio.get_running_loop()
        since = loop.time()
        try:
            async with asyncio.timeout(PACE_SECONDS - self._waited):
                message = await self._request.receive()
        except TimeoutError:
            raise RequestTimeout(
                f"The file arrived too slowly: send {PACE_BYTES} bytes in {PACE_SECONDS:g} seconds."
            ) from None
        self._waited += loop.time() - since
        size = len(message.get("body", b""))
        work.charge(self._team, "upload", MESSAGE + size // UNIT_BYTES)
        self._arrived += size
        if self._arrived >= PACE_BYTES:
            self._waited, self._arrived = 0.0, 0
        return message

    async def _whole(self) -> AsyncIterator[bytes]:
        yield self._ahead
        self._ahead = b""
        async for piece in self._stream:
            yield piece

    async def _pieces(self) -> AsyncIterator[bytes]:
        while True:
            message = await self._message()
            if message["type"] == "http.disconnect":
                raise BadRequest("The request ended before its body did.")
            body = message.get("body", b"")
            yield self._form.feed(body) if self._form else body
            if not message.get("more_body"):
                break
        if self._form:
            self._form.finish()

    async def _checked(self, block: bytes, is_first: bool) -> bytes:
        if is_first:
            self._recognise(block[: media_types.HEAD])
        await asyncio.to_thread(self._hash.update, block)
        return block

    def _recognise(self, head: bytes) -> None:
        """Set name and type, of which the first bytes must be. Raises FileTypeRefused, -Wrong."""
        if self._form:
            self.name, self.media_type = _name(self._form.name or UNNAMED), self._form.media_type
        declared = media_types.normal(self.media_type) if self.media_type else None
        if self.media_type and declared is None:
            raise UnsupportedMediaType("The Content-Type of the file is not a media type.")
        if declared in (None, media_types.OPAQUE, media_types.URLENCODED):
            declared = media_types.guessed(self.name)
        kind = media_types.recognised(declared or media_types.OPAQUE, head)
        if kind is None:
            raise FileTypeWrong(
                f"The file does not begin as {declared} does.", details={"media_type": declared}
            )
        if not media_types.matches(kind, settings.AGUI_FILE_TYPES):
            raise FileTypeRefused(details={"media_type": kind, "allowed": settings.AGUI_FILE_TYPES})
        self.media_type = kind


def _name(text: str) -> str:
    """The last part of a path, without characters that confuse people or systems."""
    last = text.replace("\\", "/").rpartition("/")[2]
    clean = "".join(each for each in last if unicodedata.category(each) not in HIDDEN)
    return clean.strip()[-LONGEST_NAME:] or UNNAMED


def _too_large() -> TooLarge:
    limit = settings.AGUI_FILE_MAX_BYTES
    return TooLarge(f"A file can have at most {limit} bytes.", details={"limit": limit})
