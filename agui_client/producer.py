"""Producer: hands in the events of a run that this program executes itself.

A batch is sent until the host has answered it, and stored once, thanks to its number. While there
is nothing to send, the newest one is repeated without its events, so that the host sees that this
program is alive, and this program sees whether its run was cancelled.
"""

import asyncio
import ssl
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Self
from urllib.parse import urljoin
from uuid import uuid4

import httpx

from agui_client.errors import ConnectionLost, Refused
from agui_client.reading import Event, request

HEARTBEAT = 5.0
CLOSED = "Stream-Closed"


class Producer:
    """Feeds one run of an external agent: ``async with await Producer.open(…) as run``.

    Leaving the block ends the run; by an exception, with RUN_ERROR. ``ended`` is set when the run
    has ended in any way, as by a cancel. One batch at a time: ``send`` can be called by several
    tasks.
    """

    def __init__(
        self,
        stream_url: str,
        timeout: float = 60.0,
        *,
        api_key: str | None = None,
        name: str | None = None,
        epoch: int = 0,
        heartbeat: float = HEARTBEAT,
        verify: ssl.SSLContext | bool = True,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        """``stream_url`` is the run's. To continue what another process began, give it the next
        ``epoch``. ``timeout``: seconds without an answer before ConnectionLost."""
        self.stream_url = stream_url
        self.name = name or f"agui-client-{uuid4()}"
        self.epoch = epoch
        self.ended = asyncio.Event()
        self._seq = -1
        self._timeout = timeout
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._owned = http_client is None
        self._http = http_client or httpx.AsyncClient(
            timeout=timeout, trust_env=False, verify=verify
        )
        self._turn = asyncio.Lock()
        self._beating = asyncio.create_task(self._beat(heartbeat), name="agui-producer")

    @classmethod
    async def open(
        cls, host: str, agent: str, input: Mapping[str, Any] | None = None, **options: Any
    ) -> Self:
        """Open a run of the external ``agent`` on ``host``, such as ``https://host``."""
        producer = cls(host, **options)
        try:
            body = {"agent": agent, "input": dict(input or {})}
            url = urljoin(host, "/api/v1/runs")
            answer = await producer._post(url, body, {"Idempotency-Key": str(uuid4())})
            run = answer.json()
            producer.stream_url = urljoin(host, run["stream_url"])
            # It is in the log already; from here on heartbeats can repeat this batch.
            ids = {"threadId": run["thread_id"], "runId": run["run_id"]}
            await producer.send({"type": "RUN_STARTED", **ids})
        except BaseException:
            await producer.leave()
            raise
        return producer

    async def send(self, *events: Event) -> None:
        """Store events as one batch. Raises Refused (an event breaks AG-UI, or the run has ended),
        ConnectionLost."""
        if events:
            await self._feed(list(events))

    async def close(self, *events: Event) -> None:
        """Store the last events, if any, and end the run; then ``leave``."""
        try:
            if not self.ended.is_set():
                await self._feed(list(events), {CLOSED: "true"})
        finally:
            await self.leave()

    async def leave(self) -> None:
        """Stop without ending the run; another producer can continue it with the next epoch."""
        self._beating.cancel()
        with suppress(asyncio.CancelledError):
            await self._beating
        if self._owned:
            await self._http.aclose()

    async def _feed(self, events: list[Event], more: Mapping[str, str] | None = None) -> None:
        async with self._turn:
            place = self._place(self._seq + 1)
            answer = await self._post(self.stream_url, events or None, {**place, **(more or {})})
            self._seq += 1
        self._note(answer)

    def _place(self, seq: int) -> dict[str, str]:
        return {
            "Producer-Id": self.name,
            "Producer-Epoch": str(self.epoch),
            "Producer-Seq": str(seq),
        }

    async def _post(self, url: str, body: Any, headers: Mapping[str, str]) -> httpx.Response:
        headers = {**self._headers, **headers}
        try:
            return await request(self._http, "POST", url, self._timeout, headers=headers, json=body)
        except Refused as error:
            if error.code == "stream_closed":
                self.ended.set()
            raise

    async def _beat(self, every: float) -> None:
        while not self.ended.is_set():
            await asyncio.sleep(every)
            async with self._turn:
                if self._seq < 0:
                    continue
                with suppress(Refused, ConnectionLost):
                    self._note(await self._post(self.stream_url, None, self._place(self._seq)))

    def _note(self, answer: httpx.Response) -> None:
        if answer.headers.get(CLOSED) == "true":
            self.ended.set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if error is None:
            await self.close()
            return
        try:
            message = str(error) or type(error).__name__
            await self.close({"type": "RUN_ERROR", "message": message, "code": "agent_error"})
        except (Refused, ConnectionLost):
            await self.leave()  # the first error is the one to raise
