"""Producer: a program feeds a run of its own, through lost answers, and learns of a cancel."""

import asyncio

import httpx
import pytest

from agui_client import Producer, Refused
from tests.acceptance.host import Host
from tests.conformance.dialects.test_durable_streams import log_of
from tests.conformance.dialects.test_ingest import make_agent

START = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}


def delta(text: str) -> dict[str, str]:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": text}


class Losing(httpx.AsyncHTTPTransport):
    """Loses every second answer, after the host has sent it."""

    lost = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await super().handle_async_request(request)
        self.lost += 1
        if self.lost % 2:
            await answer.aclose()
            raise httpx.ReadError("the answer was lost")
        return answer


def run_of(host: Host, producer: Producer) -> dict[str, object]:
    return host.run(producer.stream_url.split("/")[-2])


async def test_each_event_once_though_answers_are_lost(host: Host) -> None:
    make_agent(host)
    transport = Losing()
    async with (
        httpx.AsyncClient(transport=transport, timeout=60) as http,
        await Producer.open(host.url, "ext", api_key=host.key, http_client=http) as producer,
    ):
        await producer.send(START)
        for text in "abc":
            await producer.send(delta(text))
        await producer.send()
    run = run_of(host, producer)
    assert run["status"] == "succeeded"
    texts = [event["delta"] for event in log_of(host, run) if "delta" in event]
    assert texts == ["a", "b", "c"]
    assert transport.lost >= 10


async def test_an_exception_is_the_runs_error(host: Host) -> None:
    make_agent(host)
    producer = await Producer.open(host.url, "ext", api_key=host.key)

    async def work() -> None:
        async with producer:
            await producer.send(START)
            1 / 0  # noqa: B018

    with pytest.raises(ZeroDivisionError):
        await work()
    error = {"code": "agent_error", "message": "division by zero"}
    assert run_of(host, producer)["error"] == error


async def test_it_learns_of_a_cancel_while_it_is_silent(host: Host) -> None:
    make_agent(host)
    producer = await Producer.open(host.url, "ext", api_key=host.key, heartbeat=0.1)
    with host.client() as client:
        client.post(f"/api/v1/runs/{run_of(host, producer)['id']}/cancel")
    async with asyncio.timeout(30):
        await producer.ended.wait()
    with pytest.raises(Refused) as refused:
        await producer.send(START)
    assert refused.value.code == "stream_closed"
    await producer.close()


async def test_the_next_epoch_takes_over(host: Host) -> None:
    make_agent(host)
    first = await Producer.open(host.url, "ext", api_key=host.key, name="p")
    await first.send(START)
    async with Producer(first.stream_url, api_key=host.key, name="p", epoch=1) as second:
        await second.send(delta("a"))
        with pytest.raises(Refused) as refused:
            await first.send(delta("b"))
        assert refused.value.code == "stale_epoch"
        await first.leave()
    assert run_of(host, second)["status"] == "succeeded"
