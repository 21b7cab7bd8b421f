"""More starts than the host can take: those refused know it at once, those accepted run."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable

import httpx
import pytest

from tests.acceptance.host import Host

pytestmark = pytest.mark.slow
STARTS = 200
DISPLACING = 100
AT_ONCE = 5.0
"""Seconds until the first refusal: each request used to wait 10 s for a connection before it."""
SOON = 25.0
"""Seconds for all answers, on a machine that runs other tests, too."""


async def test_a_burst_is_answered_and_others_are_served(new_host: Callable[..., Host]) -> None:
    host = await asyncio.to_thread(new_host, AGUI_REQUEST_SLOTS="2", AGUI_REQUEST_WAIT="0.5")
    limits = httpx.Limits(max_connections=STARTS + 1)
    refusals: list[float] = []
    async with httpx.AsyncClient(base_url=host.url, timeout=60, limits=limits) as client:

        async def start() -> httpx.Response:
            body = {"agent": "scripted", "input": {"forwardedProps": {"script": [{"text": "a"}]}}}
            began = time.monotonic()
            answer = await client.post("/api/v1/runs", json=body, headers=host.headers)
            if answer.status_code == 503:
                refusals.append(time.monotonic() - began)
            return answer

        (await client.get("/health")).raise_for_status()
        first = await start()  # after it the host knows whose key this is
        assert first.status_code == 202
        began = time.monotonic()
        burst = [asyncio.create_task(start()) for _ in range(STARTS)]
        stranger = await client.get("/login/")
        assert stranger.status_code == 200, "another caller is served meanwhile"
        answers = await asyncio.gather(*burst)
        seconds = time.monotonic() - began
    statuses = Counter(answer.status_code for answer in answers)
    print(f"{dict(statuses)} in {seconds:.1f} s, refusals {min(refusals):.3f} s and more")
    assert set(statuses) == {202, 503}
    assert min(refusals) < AT_ONCE
    assert seconds < SOON
    for answer in answers:
        if answer.status_code == 503:
            assert answer.json()["error"]["code"] == "overloaded"
            assert int(answer.headers["Retry-After"]) >= 1
    accepted = [answer.json()["id"] for answer in answers if answer.status_code == 202]
    for run in accepted[:3] + accepted[-3:]:
        await asyncio.to_thread(host.wait_status, run, "succeeded")
    lines = [line for line in host.log_of(host.web).splitlines() if "request.refused" in line]
    assert 1 <= len(lines) <= seconds + 1, lines


async def test_a_hundred_that_displace_each_other_are_all_answered(host: Host) -> None:
    """They wait for one busy thread, and all that is done then is to cancel a run that waits."""
    script = [{"text": "a", "n": 2000, "rate": 20}]
    body = {
        "agent": "scripted",
        "on_busy": "cancel_running",
        "input": {"threadId": "displaced", "forwardedProps": {"script": script}},
    }
    limits = httpx.Limits(max_connections=DISPLACING)
    url, headers = f"{host.url}/api/v1/runs", host.headers
    async with httpx.AsyncClient(timeout=120, limits=limits) as client:
        answers = await asyncio.gather(
            *(client.post(url, json=body, headers=headers) for _ in range(DISPLACING))
        )
    assert {answer.status_code for answer in answers} == {202}, answers[0].text
    runs = [answer.json()["id"] for answer in answers]
    statuses = await asyncio.to_thread(lambda: {run: host.run(run)["status"] for run in runs})
    going_on = [run for run in runs if statuses[run] not in ("cancelled", "cancelling")]
    assert len(going_on) <= 1, statuses
    for run in going_on:  # on a host that others use, it would speak for 100 s more
        cancelled = httpx.post(f"{url}/{run}/cancel", headers=headers, timeout=60)
        assert cancelled.status_code == 202
