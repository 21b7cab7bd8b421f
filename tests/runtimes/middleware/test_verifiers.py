"""Checking citations: in the run's own sources, and by a service."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from pytest_django import Settings

from agui_host import RunContext
from agui_host.runtimes.middleware.citing.extract import Citation
from agui_host.runtimes.middleware.citing.local import LocalVerifier
from agui_host.runtimes.middleware.citing.remote import HttpOptions, HttpVerifier
from agui_host.runtimes.middleware.citing.verifiers import LocalOptions
from agui_host.security.addresses import AddressRefused

LEASE = "The term is twelve months. The tenant shall not keep animals in the flat without consent."
RULES = "Quiet hours are from ten in the evening until seven in the morning."


def document(text: str, name: str, mime: str = "text/plain") -> dict[str, Any]:
    data = base64.b64encode(text.encode()).decode()
    source = {"type": "data", "value": data, "mimeType": mime}
    return {"type": "document", "source": source, "metadata": {"filename": name}}


BODY: dict[str, Any] = {
    "context": [{"description": "Lease", "value": LEASE}],
    "messages": [{"id": "u", "role": "user", "content": [document(RULES, "rules.txt")]}],
}


async def judged(quote: str, source: str | None = None, **body: Any) -> dict[str, Any]:
    verifier = LocalVerifier(LocalOptions(), RunContext({**BODY, **body}))
    try:
        return await verifier.verify(Citation("k" * 16, quote, source))
    finally:
        await verifier.aclose()


@pytest.mark.parametrize(
    ("quote", "source", "status", "where"),
    [
        ("The term is twelve months", "1", "verified", 1),
        ("the TERM  is “twelve” months".replace("“", "").replace("”", ""), "lease", "verified", 1),
        ("Quiet hours are from ten", "2", "verified", 2),
        ("Quiet hours are from ten", "rules.txt", "verified", 2),
        ("Quiet hours are from ten", None, "verified", 2),
        ("Quiet hours are from ten", "1", "partial", 2),
        ("Quiet hours are from ten", "9", "partial", 2),
        ("shall not keep any animals in this flat without consent", "1", "partial", 1),
        ("rent is due on the first working day of each month", "1", "missed", None),
        (LEASE + " " + "And so on and so forth. " * 40, "1", "missed", None),
    ],
)
async def test_quotes_are_looked_for_in_documents_and_context(
    quote: str, source: str | None, status: str, where: int | None
) -> None:
    result = await judged(quote, source)
    assert (result["status"], result.get("source")) == (status, where)


async def test_without_sources_nothing_can_be_told() -> None:
    assert await judged("anything", context=[], messages=[]) == {"status": "pending"}
    picture = {"type": "document", "source": {"type": "url", "value": "https://x/y"}}
    messages = [
        {"role": "user", "content": [picture, document("anything", "x", "application/pdf")]}
    ]
    assert (await judged("anything", context=[], messages=messages))["status"] == "pending"


async def test_a_quote_at_the_end_of_a_long_source_is_found() -> None:
    context = [{"description": "long", "value": "lorem ipsum dolor " * 20_000 + LEASE}]
    near = "shall not keep any animals in this flat without consent"
    assert (await judged(near, "1", context=context))["status"] == "partial"


# --- a service

Answer = Callable[[dict[str, Any]], tuple[int, Any]]


class Service:
    """A verification service over HTTP; notes what it is asked."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.url = ""

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if line)
        body = json.loads(await reader.readexactly(int(fields["content-length"])))
        self.requests.append((fields.get("authorization", ""), body))
        status, answer = self._answer(body)
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(data)}\r\n".encode())
        writer.write(b"Connection: close\r\n\r\n" + data)
        await writer.drain()
        writer.close()
        await writer.wait_closed()


@asynccontextmanager
async def service(answer: Answer) -> AsyncIterator[Service]:
    server = Service(answer)
    listener = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/verify"
    async with listener:
        yield server


async def requests(answer: Answer, **options: Any) -> tuple[dict[str, Any], Service]:
    async with service(answer) as server:
        chosen = HttpOptions.model_validate({"kind": "http", "url": server.url, **options})
        verifier = HttpVerifier(chosen, RunContext({}))
        try:
            return await verifier.verify(Citation("0" * 16, "q", "1")), server
        finally:
            await verifier.aclose()


def says(**verification: Any) -> Answer:
    return lambda body: (200, {"verifications": {"0" * 16: verification}})


@pytest.fixture
def _allowed(settings: Settings) -> None:
    settings.AGUI_OUTBOUND_ALLOW = ["127.0.0.0/8"]


@pytest.mark.usefixtures("_allowed")
class TestService:
    async def test_it_gets_the_citation_the_options_and_the_key(self) -> None:
        options = {"outputImageFormat": "avif", "generateProofUrls": True}
        answer = says(status="verified", score=0.9, proofUrl="https://proof/1", secret="x")
        result, verifier_service = await requests(answer, api_key="Dc-Key", verify_options=options)
        assert result == {"status": "verified", "score": 0.9, "proofUrl": "https://proof/1"}
        ((authorization, body),) = verifier_service.requests
        assert authorization == "bearer dc-key"
        assert body["options"] == options
        assert body["citations"] == {"0" * 16: {"key": "0" * 16, "quote": "q", "source": "1"}}

    @pytest.mark.parametrize(
        ("flag", "status"),
        [
            ("isVerified", "verified"), ("isPartialMatch", "partial"), ("isMiss", "missed"),
            ("isPending", "pending"),
        ],
    )  # fmt: skip
    async def test_flags_are_understood(self, flag: str, status: str) -> None:
        assert (await requests(says(**{flag: True})))[0] == {"status": status}

    @pytest.mark.parametrize(
        "answer",
        [
            (200, {"verifications": {}}), (200, []), (200, b"<html>"), (200, b"x" * 1_100_000),
            (200, {"verifications": {"0" * 16: {"status": "perfect"}}}),
            (200, {"verifications": {"0" * 16: {"status": ["verified"]}}}),
            (301, {}), (401, {}), (500, {}),
        ],
        ids=lambda answer: str(answer)[:30],
    )  # fmt: skip
    async def test_no_answer_is_an_error(self, answer: tuple[int, Any]) -> None:
        with pytest.raises((ValueError, httpx.HTTPError)):
            await requests(lambda body: answer)


async def test_it_is_called_through_the_guard() -> None:
    with pytest.raises(AddressRefused):
        await requests(says(status="verified"))
