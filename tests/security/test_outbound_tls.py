"""TLS on the way out: the address is pinned, and still the certificate must carry the name."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from agui_host.protocol.errors import RunFailed
from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.kinds import http
from agui_host.runtimes.kinds.http import HttpRuntime
from agui_host.security import outbound

NAME = "agents.example"
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
CONTEXT = {"threadId": "t", "runId": "r", "messages": []}


@dataclass
class Server:
    """What asked it: the names in the TLS greeting, and what was said behind it."""

    port: int = 0
    certificate: str = ""
    greeted: list[str | None] = field(default_factory=list)
    requests: list[bytes] = field(default_factory=list)


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate for ``name`` that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public, private = folder / f"{name}.pem", folder / f"{name}.key"
    public.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    private.write_bytes(key.private_bytes(*form, serialization.NoEncryption()))
    return public, private


@asynccontextmanager
async def serving(folder: Path, name: str = NAME) -> AsyncIterator[Server]:
    server = Server()
    public, private = certificate(folder, name)
    server.certificate = str(public)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)
    context.sni_callback = lambda _, host_name, __: server.greeted.append(host_name)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.requests.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(OK)
        await writer.drain()
        writer.close()

    listener = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=context)
    server.port = listener.sockets[0].getsockname()[1]
    async with listener:
        yield server


async def here(host: str, port: int) -> list[str]:
    """Every name leads to this machine."""
    return ["127.0.0.1"]


@pytest.fixture(autouse=True)
def allowed(settings: pytest.FixtureRequest) -> None:
    settings.AGUI_OUTBOUND_ALLOW = ["127.0.0.1", NAME]


async def get(server: Server, *, trusted: bool, monkeypatch: pytest.MonkeyPatch) -> str:
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", server.certificate)
    async with outbound.client(resolver=here) as client:
        return (await client.get(f"https://{NAME}:{server.port}/")).text


async def test_the_name_is_greeted_and_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path) as server:
        assert await get(server, trusted=True, monkeypatch=monkeypatch) == "ok"
    assert server.greeted == [NAME]
    assert f"Host: {NAME}:{server.port}".encode() in server.requests[0]


async def test_a_certificate_that_nobody_vouches_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path) as server:
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            await get(server, trusted=False, monkeypatch=monkeypatch)
    assert server.requests == []


async def test_a_certificate_of_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path, "elsewhere.example") as server:
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            await get(server, trusted=True, monkeypatch=monkeypatch)
    assert server.requests == []


async def test_an_agent_with_such_a_certificate_is_asked_once_and_the_run_says_why(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as server:
        runtime = HttpRuntime(f"https://127.0.0.1:{server.port}/", {"X-Key": "secret"})
        with pytest.raises(RunFailed, match="certificate") as failed:
            await anext(runtime.run(RunContext(CONTEXT)))
        await http.close()
    assert failed.value.reason == "upstream_http"
    assert server.greeted == [None]
    assert server.requests == []
