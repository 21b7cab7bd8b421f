"""The uploaded files that a run's messages refer to, as its agent reads them."""

import asyncio
import base64
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from typing import Any

from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.runtimes.context.attachments import decoded

INLINE = 5_000_000
"""Bytes of files that an agent elsewhere gets in its input."""


class UnknownFile(LookupError):
    """No message of this run refers to such a file."""


class RunFile:
    """One file: ``id``, ``name``, ``media_type``, ``size`` in bytes, ``sha256`` in hexadecimal."""

    def __init__(
        self,
        id: str,
        name: str,
        media_type: str,
        size: int,
        sha256: str,
        open: Callable[[], AsyncGenerator[bytes, None]],
    ) -> None:
        """``open`` gives the content; it is called on the event loop that is running now."""
        self.id = id
        self.name = name
        self.media_type = media_type
        self.size = size
        self.sha256 = sha256
        self._open = open
        self._loop = asyncio.get_running_loop()

    async def blocks(self) -> AsyncGenerator[bytes, None]:
        """The content piece by piece. Raises OSError if it cannot be read."""
        async with aclosing(self._open()) as blocks:
            async for block in blocks:
                yield block

    async def read(self) -> bytes:
        """The whole content. Raises OSError."""
        return b"".join([block async for block in self.blocks()])

    async def text(self) -> str:
        """The whole content as text, in UTF-8, UTF-16 or Windows' old encoding. Raises OSError."""
        return decoded(await self.read())

    def read_now(self) -> bytes:
        """``read`` for an agent that is a plain function, in its thread. Raises OSError."""
        return asyncio.run_coroutine_threadsafe(self.read(), self._loop).result()


async def inlined(
    messages: list[dict[str, Any]], files: list[RunFile], most: int = INLINE
) -> list[dict[str, Any]]:
    """The messages with contents in place of references: for agents that know no ``RunFile``.

    The newest come first, up to ``most`` bytes; other references stay. Raises RunFailed.
    """
    if not files:
        return messages
    whole = []
    for message in reversed(messages):
        if isinstance(content := message.get("content"), list):
            parts = []
            for part in content:
                file = _referred(files, part)
                if file is not None and file.size <= most:
                    most -= file.size
                    part = {**part, "source": await _as_data(file)}
                parts.append(part)
            message = {**message, "content": parts}
        whole.append(message)
    return whole[::-1]


async def _as_data(file: RunFile) -> dict[str, str]:
    try:
        content = await file.read()
    except OSError:
        raise RunFailed(
            RunErrorCode.AGENT_ERROR, "A file that a message refers to cannot be read right now."
        ) from None
    value = base64.b64encode(content).decode()
    return {"type": "data", "value": value, "mimeType": file.media_type}


def find(files: Iterable[RunFile], which: str | dict[str, Any]) -> RunFile:
    """A file by its id, or by the part or source that refers to it. Raises UnknownFile."""
    id = which if isinstance(which, str) else str(_value(which))
    if (file := _named(files, id)) is None:
        raise UnknownFile(f"No message of this run refers to the file {id}.")
    return file


def _referred(files: Iterable[RunFile], part: dict[str, Any]) -> RunFile | None:
    is_data = isinstance(source := part.get("source"), dict) and source.get("type") == "data"
    return None if is_data else _named(files, str(_value(part)))


def _named(files: Iterable[RunFile], id: str) -> RunFile | None:
    # An address of a file ends with its id, or with the id and one more step.
    steps = {id, *id.split("/")[-2:]}
    return next((file for file in files if file.id in steps), None)


def _value(part: dict[str, Any]) -> Any:
    source = part.get("source", part)
    return source.get("value") if isinstance(source, dict) else None
