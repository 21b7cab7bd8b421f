"""Certificates: one that is not trusted ends the tries at once, one that is named is trusted."""

import ssl
import time
from pathlib import Path

import httpx
import pytest

from agui_client import AGUIClient, ConnectionLost, Untrusted
from agui_client.reading import Transport, follow
from tests.security.test_outbound_tls import serving

PATIENCE = 60.0


@pytest.mark.parametrize("transport", ["sse", "websocket"])
async def test_a_certificate_that_nobody_signed_ends_the_tries_at_once(
    tmp_path: Path, transport: Transport
) -> None:
    async with serving(tmp_path, "localhost") as server:
        url = f"https://localhost:{server.port}"
        began = time.monotonic()
        async with AGUIClient(url, PATIENCE, transport=transport) as client:
            with pytest.raises(Untrusted, match="self-signed"):
                await client.send("hi")
            with pytest.raises(Untrusted):
                async for _ in client.connect():
                    pass
            log = f"{url}/api/v1/runs/1/events"
            reading = follow(client._http, log, 0, transport=transport, timeout=PATIENCE)
            with pytest.raises(Untrusted):
                await anext(reading)
        assert time.monotonic() - began < PATIENCE / 2
        assert not server.requests


async def test_a_context_of_ones_own_is_trusted(tmp_path: Path) -> None:
    async with serving(tmp_path, "localhost") as server:
        context = ssl.create_default_context(cafile=server.certificate)
        url = f"https://localhost:{server.port}"
        async with AGUIClient(url, 1.0, verify=context) as client:
            await client.send("hi")
        async with httpx.AsyncClient(verify=context, headers={"x-mine": "1"}) as http:
            async with AGUIClient(url, 1.0, http_client=http, api_key="secret") as client:
                await client.send("hi")
            assert not http.is_closed, "it is its owner's to close"
            assert "authorization" not in http.headers
        first, *_, last = server.requests
        assert first.startswith(b"POST / ")
        assert b"x-mine: 1" in last.lower()
        assert b"bearer secret" in last.lower()
        log = f"{url}/api/v1/runs/1/events"
        reading = follow(
            httpx.AsyncClient(), log, 0, transport="websocket", timeout=0.1, verify=context
        )
        with pytest.raises(ConnectionLost) as lost:
            await anext(reading)
        assert not isinstance(lost.value, Untrusted)
        assert b"GET /ws/runs/1/" in server.requests[-1]
