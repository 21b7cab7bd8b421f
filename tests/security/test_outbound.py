"""The way out: only to addresses that were checked, whatever the name, the redirect or DNS says."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from agui_host.security import outbound
from agui_host.security.addresses import AddressRefused, Allowed, check_address, check_url

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nset-cookie: mine=1\r\n\r\nok"


class Server:
    """Answers every request with the same bytes, and remembers the requests."""

    def __init__(self, answer: bytes) -> None:
        self.answer, self.requests = answer, list[bytes]()
        self.port, self.handlers = 0, set[asyncio.Task[None] | None]()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.handlers.add(asyncio.current_task())
        try:
            while True:
                self.requests.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(self.answer.replace(b"PORT", str(self.port).encode()))
        except asyncio.IncompleteReadError:
            writer.close()
            await writer.wait_closed()


@asynccontextmanager
async def serving(answer: bytes = OK) -> AsyncIterator[Server]:
    server = Server(answer)
    listener = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    server.port = listener.sockets[0].getsockname()[1]
    async with listener:
        yield server
    await asyncio.gather(*(handler for handler in server.handlers if handler))


def names(**known: list[str]) -> tuple[outbound.Resolver, list[str]]:
    """A resolver that gives one answer after the other, the last for ever; and who was asked."""
    lookups: list[str] = []

    async def resolver(host: str, port: int) -> list[str]:
        lookups.append(host)
        answers = known[host.partition(".")[0]]
        return [answers.pop(0) if len(answers) > 1 else answers[0]]

    return resolver, lookups


REFUSED = [
    "127.0.0.1", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254",  # noqa: S104
    "100.64.0.1", "100.100.100.200", "192.0.0.192", "198.18.0.1", "224.0.0.1", "240.0.0.1",
    "255.255.255.255", "192.88.99.1", "168.63.129.16", "203.0.113.1",
    "::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1",
    "64:ff9b::808:808", "64:ff9b:1::1", "fe80::1", "fe80::1%eth0", "2606:4700::1%eth0", "fc00::1",
    "fd00:ec2::254", "ff02::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "fec0::1", "100::1",
]  # fmt: skip


@pytest.mark.parametrize("address", REFUSED)
def test_addresses_that_are_not_public_are_refused(address: str) -> None:
    with pytest.raises(AddressRefused):
        check_address(address)
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(AddressRefused):
        check_url(f"http://{host}/")


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111"])
def test_public_addresses_are_not(address: str) -> None:
    check_address(address)


@pytest.mark.parametrize(
    "url",
    [
        "http://0177.0.0.1/", "http://2130706433/", "http://0x7f000001/", "http://0x7f.1/",
        "http://127.1/", "http://127.0.0.1./", "http://8.8.8.8./", "http://010.8.8.8/",
        "http://localhost/", "http://LOCALHOST./", "http://[fe80::1%25eth0]/",
        "http://me:secret@example.com/", "http://example.com@127.0.0.1/", "ftp://example.com/",
        "file:///etc/passwd", "gopher://example.com/", "http:///x", "http://[::1", "//example.com/",
        "http://example.com:99999/", "http://example.com\\@127.0.0.1/", "http://exa mple.com/",
        "http://example.com/\r\nx: y", "", "http://ⓛocalhost/", "http://１２７.0.0.1/",
    ],
)  # fmt: skip
def test_odd_urls_are_refused_before_anything_is_called(url: str) -> None:
    with pytest.raises(AddressRefused):
        check_url(url)


@pytest.mark.parametrize("url", ["https://example.com/agui", "http://8.8.8.8:8000/x?y=1#z"])
def test_usual_urls_are_not(url: str) -> None:
    check_url(url)


async def test_the_address_behind_a_name_is_checked(settings: Any) -> None:
    resolver, _ = names(inside=["127.0.0.1"])
    async with serving() as server, outbound.client(resolver=resolver) as client:
        url = f"http://inside.example:{server.port}/"
        with pytest.raises(AddressRefused):
            await client.get(url)
        settings.AGUI_OUTBOUND_ALLOW = ["127.0.0.0/8"]
        assert (await client.get(url)).text == "ok"
        settings.AGUI_OUTBOUND_ALLOW = ["inside.example"]
        assert (await client.get(url)).text == "ok"
    assert f"inside.example:{server.port}".encode() in server.requests[0]


async def test_one_bad_address_among_good_ones_refuses_the_name() -> None:
    async def resolver(host: str, port: int) -> list[str]:
        return ["8.8.8.8", "127.0.0.1"]

    async with outbound.client(resolver=resolver) as client:
        with pytest.raises(AddressRefused):
            await client.get("http://half.example/")


async def test_the_address_that_was_checked_is_the_one_that_is_called() -> None:
    """DNS says something else each time: asked once per connection, there is no second answer."""
    resolver, lookups = names(rebinding=["192.0.2.1", "127.0.0.1"])
    async with serving() as server, outbound.client(resolver=resolver, timeout=2) as client:
        for _ in range(2):
            with pytest.raises(AddressRefused):
                await client.get(f"http://rebinding.example:{server.port}/")
    assert lookups == ["rebinding.example"] * 2
    assert server.requests == []


async def test_a_pooled_connection_stays_where_it_was_checked(settings: Any) -> None:
    settings.AGUI_OUTBOUND_ALLOW = ["127.0.0.1"]
    resolver, lookups = names(steady=["127.0.0.1", "10.0.0.1"])
    async with serving() as server, outbound.client(resolver=resolver) as client:
        for _ in range(3):
            assert (await client.get(f"http://steady.example:{server.port}/")).text == "ok"
    assert lookups == ["steady.example"]


@pytest.mark.parametrize(
    "target", ["http://127.0.0.1:PORT/", "http://2130706433:PORT/", "http://inside.example:PORT/"]
)
async def test_a_redirect_is_checked_like_a_request(settings: Any, target: str) -> None:
    settings.AGUI_OUTBOUND_ALLOW = ["outside.example"]
    resolver, _ = names(outside=["127.0.0.1"], inside=["127.0.0.1"])
    moved = f"HTTP/1.1 307 Moved\r\nlocation: {target}\r\ncontent-length: 0\r\n\r\n"
    async with (
        serving(moved.encode()) as server,
        outbound.client(resolver=resolver, follow_redirects=True) as client,
    ):
        with pytest.raises(AddressRefused):
            await client.post(f"http://outside.example:{server.port}/", content=b"{}")
    assert len(server.requests) == 1


async def test_nothing_of_the_environment_or_of_other_answers_goes_along(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.AGUI_OUTBOUND_ALLOW = ["localhost"]
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with serving() as server, outbound.client() as client:
        for _ in range(2):
            assert (await client.get(f"http://localhost:{server.port}/")).text == "ok"
    assert b"cookie" not in server.requests[1].lower()


async def test_a_name_that_does_not_exist_and_a_resolver_that_hangs() -> None:
    async def lost(host: str, port: int) -> list[str]:
        raise OSError("no such name")

    async def slow(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    async with outbound.client(resolver=lost) as client:
        with pytest.raises(httpx.ConnectError):
            await client.get("http://nowhere.example/")
    async with outbound.client(resolver=slow, timeout=0.2) as client:
        with pytest.raises(httpx.ConnectTimeout):
            await client.get("http://slow.example/")


@pytest.mark.parametrize("entry", ["http://x", "a b", "10.0.0.1:80", "2130706433", "*"])
def test_an_entry_that_cannot_be_read_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match=re.escape(entry)):
        Allowed([entry])


def test_entries_are_names_addresses_and_networks() -> None:
    Allowed(["localhost", "agents.internal", "10.0.0.0/8", "10.1.2.3", "[::1]", "fd00::/8"])
