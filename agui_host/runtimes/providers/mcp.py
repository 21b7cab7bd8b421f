"""``mcp``: resources of an MCP server, read over streamable HTTP."""

import asyncio
from contextlib import suppress
from typing import Annotated, Any

import httpx
from pydantic import Field

from agui_host.runtimes.providers import remote
from agui_host.runtimes.providers.base import ContextEntry, Query
from agui_host.runtimes.providers.remote import RemoteOptions, RemoteProvider, UnusableAnswer

VERSION = "2025-06-18"
SESSION = "mcp-session-id"
CLOSING = 1.0
"""Seconds for the end of a session."""
ACCEPT = "application/json, text/event-stream"
Uri = Annotated[str, Field(min_length=1, max_length=2_000)]


class McpOptions(RemoteOptions):
    """``resources``: the URIs to read, in order."""

    resources: list[Uri] = Field(min_length=1, max_length=10)


class McpProvider(RemoteProvider):
    """An entry for each text of the resources, described by its URI."""

    Options = McpOptions

    async def ask(self, client: httpx.AsyncClient, query: Query) -> list[ContextEntry]:
        """The texts; binary contents are left out. A session that was opened is closed."""
        server = _Server(client, str(self.options.url), query.team.pk)
        await server.open()
        try:
            return [
                remote.entry(content.get("uri") or uri, content["text"])
                for uri in self.options.resources
                for content in _contents(await server.call("resources/read", {"uri": uri}))
                if "text" in content
            ]
        finally:
            await server.close()


class _Server:
    """One session with a server."""

    def __init__(self, client: httpx.AsyncClient, url: str, payer: object) -> None:
        self._client, self._url, self._payer, self._number = client, url, payer, 0
        self._headers = {"accept": ACCEPT}

    async def open(self) -> None:
        """Agree on a version of MCP."""
        about = {"name": "agui-run-host", "version": "1"}
        result = await self.call(
            "initialize", {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": about}
        )
        self._headers["mcp-protocol-version"] = str(result.get("protocolVersion", VERSION))[:40]
        await self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a request. Raises UnusableAnswer, also for the server's error."""
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        response, text = await self._post(request)
        if method == "initialize" and (session := response.headers.get(SESSION)):
            self._headers[SESSION] = session
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        for message in await remote.read(self._payer, text, _streamed if is_stream else _single):
            if isinstance(message, dict) and message.get("id") == self._number:
                if isinstance(result := message.get("result"), dict):
                    return result
                raise UnusableAnswer("the server refused the request")
        raise UnusableAnswer("the server did not answer the request")

    async def close(self) -> None:
        """End the session, if the server has begun one."""
        if SESSION not in self._headers:
            return
        # The provider's own bound can have passed already, and the answer is not read.
        with suppress(httpx.HTTPError, TimeoutError):
            async with (
                asyncio.timeout(CLOSING),
                self._client.stream("DELETE", self._url, headers=self._headers),
            ):
                pass

    async def _post(self, message: dict[str, Any]) -> tuple[httpx.Response, bytes]:
        return await remote.post(self._client, self._url, message, self._headers)


def _single(text: bytes) -> list[Any]:
    return [remote.parsed(text)]


def _streamed(text: bytes) -> list[Any]:
    messages = []
    for frame in text.replace(b"\r\n", b"\n").split(b"\n\n"):
        lines = [line[5:].removeprefix(b" ") for line in frame.split(b"\n") if line[:5] == b"data:"]
        if lines:
            messages.append(remote.parsed(b"\n".join(lines)))
    return messages


def _contents(result: dict[str, Any]) -> list[dict[str, Any]]:
    contents = result.get("contents")
    if not isinstance(contents, list) or not all(isinstance(part, dict) for part in contents):
        raise UnusableAnswer("the resource has no contents")
    return contents[: remote.MOST]
