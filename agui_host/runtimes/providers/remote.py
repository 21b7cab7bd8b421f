"""Providers that ask a server of the team's choice: bounded in seconds and in bytes.

Every request passes the outbound guard, follows no redirect and is not decompressed. Whatever the
server does, the provider ends in time; ``chain.gather`` makes a failure of it.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

import httpx
from pydantic import BaseModel, ConfigDict, Field, HttpUrl, SecretStr

from agui_host.backends import apart, work
from agui_host.protocol.strict_json import BadJson, dumps, loads
from agui_host.runtimes.providers.base import ContextEntry, Options, Provider, Query
from agui_host.security import outbound

T = TypeVar("T")

LARGEST = 1_000_000
LONGEST_DESCRIPTION = 500
MOST = 50
HEADERS = {"accept-encoding": "identity", "user-agent": "agui-run-host"}


class UnusableAnswer(ValueError):
    """The server's answer has not the documented form, or is too large."""


class StoredSecret(BaseModel):
    """Replaces a key that was stored as a secret."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    secret: str


class RemoteOptions(Options):
    """``api_key`` is sent as a bearer token and sealed at rest; ``seconds`` bounds all of it."""

    url: HttpUrl
    api_key: SecretStr | StoredSecret | None = None
    seconds: float = Field(default=5, gt=0, le=30)


class RemoteProvider(Provider):
    """Override ``ask``."""

    Options: ClassVar[type[Options]] = RemoteOptions
    of_team = True

    async def entries(self, query: Query) -> list[ContextEntry]:
        """The entries of ``ask``, within its seconds. Raises what ``ask`` raises, TimeoutError."""
        seconds, key, headers = self.options.seconds, self.options.api_key, dict(HEADERS)
        if isinstance(key, SecretStr):
            headers["authorization"] = f"Bearer {key.get_secret_value()}"
        async with (
            asyncio.timeout(seconds),
            outbound.client(timeout=seconds, headers=headers) as client,
        ):
            return await self.ask(client, query)

    async def ask(self, client: httpx.AsyncClient, query: Query) -> list[ContextEntry]:
        """The entries. Raises httpx.HTTPError, AddressRefused, UnusableAnswer."""
        raise NotImplementedError


async def post(
    client: httpx.AsyncClient, url: str, body: Any, headers: Mapping[str, str]
) -> tuple[httpx.Response, bytes]:
    """The answer to a JSON body, in at most ``LARGEST`` bytes."""
    content = dumps(body).encode()
    outgoing = {"content-type": "application/json", **headers}
    async with client.stream("POST", url, content=content, headers=outgoing) as response:
        response.raise_for_status()
        answer = bytearray()
        async for part in response.aiter_raw():
            answer += part
            if len(answer) > LARGEST:
                raise UnusableAnswer("the answer is too large")
    return response, bytes(answer)


async def read(payer: object, text: bytes, call: Callable[[bytes], T]) -> T:
    """``call`` of an answer; off the event loop, and charged to its team, if it is long."""

    def charged() -> T:
        work.charge(payer, "parse", work.of_json(text))
        return call(text)

    return call(text) if len(text) <= apart.SMALL else await apart.in_turn(payer, charged)


def parsed(text: bytes) -> Any:
    """The JSON of an answer, without anything that a run could not store. Raises UnusableAnswer."""
    try:
        return loads(text)
    except BadJson:
        raise UnusableAnswer("the answer is not JSON that can be stored") from None


def entry(description: Any, value: Any) -> ContextEntry:
    """An entry of two texts. Raises UnusableAnswer."""
    if not (isinstance(description, str) and isinstance(value, str)):
        raise UnusableAnswer("an entry needs a description and a value")
    return {"description": description[:LONGEST_DESCRIPTION], "value": value}
