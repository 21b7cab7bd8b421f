"""HostClient: many runs over one socket, which breaks; questions, the feed, lists and cursors."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agui_client import ConnectionLost, Cursors, HostClient, Refused, Reset
from agui_client.backoff import Backoff
from tests.acceptance.host import Host, free_port
from tests.proxy import Proxy

NOTHING = "0190a000-0000-7000-8000-000000000000"
RUNS, DELTAS = 10, 40


@pytest.fixture
async def client(host: Host) -> AsyncIterator[HostClient]:
    async with HostClient(host.url, api_key=host.key) as client:
        yield client


def script(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"script": list(steps)}


async def stored(host: Host, run: str) -> list[Any]:
    return [(row["seq"], row["event"]) for row in await asyncio.to_thread(host.events, run)]


async def test_runs_side_by_side_through_a_socket_that_breaks(host: Host) -> None:
    text = script({"text": "x", "n": DELTAS, "rate": 40})
    progress: Counter[str] = Counter()
    half = asyncio.Event()
    with Proxy(("127.0.0.1", host.port)) as proxy:
        url = f"http://127.0.0.1:{proxy.port}"
        async with HostClient(url, api_key=host.key, window=8) as client:

            async def read() -> None:
                run = await client.start("scripted", forwardedProps=text)
                log = []
                async for seq, event in client.follow(run["id"]):
                    log.append((seq, event))
                    progress["events"] += 1
                    if progress["events"] == RUNS * DELTAS // 2:
                        half.set()
                assert log == await stored(host, run["id"])
                assert (await client.wait(run["id"]))["status"] == "succeeded"

            async def cut() -> None:
                await half.wait()
                await asyncio.to_thread(proxy.cut_all)

            async with asyncio.timeout(60), asyncio.TaskGroup() as group:
                for each in (*(read() for _ in range(RUNS)), cut()):
                    group.create_task(each)
            assert client.sockets_opened == 2


async def test_questions_cancels_lists_and_the_feed(host: Host, client: HostClient) -> None:
    ask = script({"interrupt": {"reason": "ok?"}})
    asking = await client.start("scripted", "go", forwardedProps=ask)
    assert (await client.wait(asking["id"]))["status"] == "interrupted"
    (question,) = [each async for each in client.inbox(run=asking["id"])]
    answered = await client.answer(question["id"], {"approved": True})
    assert answered is not None
    endless = await client.start("scripted", forwardedProps=script({"forever": 1}))
    thread = client.follow_thread(endless["thread_id"], 0)
    async with aclosing(thread):
        assert (await anext(thread))[:2] == (endless["id"], 1)
        await client.cancel(endless["id"])
        async for run, seq, event in thread:
            if event["type"] == "RUN_FINISHED":
                assert (run, seq) == (endless["id"], (await stored(host, run))[-1][0])
                break
    assert (await client.wait(endless["id"]))["status"] == "cancelled"
    listed = [run["id"] async for run in client.list(thread_id=endless["thread_id"], limit=1)]
    assert listed == [endless["id"]]
    news = client.feed(0)
    async with aclosing(news), asyncio.timeout(30):
        async for entry in news:
            if entry["run"] == endless["id"] and entry["type"] == "run.cancelled":
                break
    assert client.sockets_opened == 1


async def test_the_same_key_is_the_same_run(client: HostClient) -> None:
    again = {"key": "twice", "forwardedProps": script()}
    pair = [client.start("scripted", "go", **again) for _ in range(2)]
    first, second = await asyncio.gather(*pair)
    assert first["id"] == second["id"]


async def test_cursors_outlive_the_program(host: Host, tmp_path: Path) -> None:
    """What the program was at work on when it was cut off comes again, what was done does not."""
    text = script({"text": "x", "n": 20})
    path, done = tmp_path / "cursors", 7
    cursors = Cursors(path)
    async with HostClient(host.url, api_key=host.key, cursors=cursors) as client:
        run = (await client.start("scripted", forwardedProps=text))["id"]
        reading = client.follow(run)
        async with aclosing(reading):
            async for seq, _ in reading:
                if seq == done + 1:
                    break  # in the middle of this one
        assert Cursors(path).get(run) == done
    async with HostClient(host.url, api_key=host.key, cursors=Cursors(path)) as client:
        rest = [(seq, event) async for seq, event in client.follow(run)]
        assert rest == (await stored(host, run))[done:]
        assert [each async for each in client.follow(run)] == []
        assert (await anext(client.follow(run, 0)))[0] == 1
    cursors.save(run, 1)
    assert Cursors(path).get(run) == rest[-1][0], "never back"
    cursors.forget(run)
    assert cursors.get(run) is None


async def test_a_saved_cursor_that_the_host_refuses_was_lost(host: Host, tmp_path: Path) -> None:
    """A backup was restored, and the host was not told: it takes its own cursor for a mistake."""
    cursors, resets = Cursors(tmp_path / "cursors"), list[Reset]()
    options: dict[str, Any] = {"api_key": host.key, "cursors": cursors}
    async with (
        HostClient(host.url, **options) as strict,
        HostClient(host.url, **options, on_reset=resets.append) as client,
    ):
        run = (await strict.start("scripted", forwardedProps=script({"text": "x"})))["id"]
        whole = [each async for each in strict.follow(run)]
        cursors.save(run, 1_000_000)
        with pytest.raises(Reset) as raised:
            await anext(strict.follow(run))
        assert (raised.value.status, raised.value.log) == (410, {"run": run})
        assert [each async for each in strict.follow(run)] == whole
        cursors.save(run, 1_000_000)
        assert [each async for each in client.follow(run)] == whole
        assert [each.log for each in resets] == [{"run": run}]
        cursors.save("feed", 10**9)
        with pytest.raises(Reset):
            await anext(strict.feed())


async def test_refusals_have_the_codes_of_the_api(host: Host, client: HostClient) -> None:
    with pytest.raises(Refused) as unknown:
        await client.cancel(NOTHING)
    assert (unknown.value.status, unknown.value.code) == (404, "not_found")
    with pytest.raises(Refused):
        await anext(client.follow(NOTHING))
    run = await client.start("scripted", forwardedProps=script())
    await client.wait(run["id"])
    with pytest.raises(Refused) as early:
        await anext(client.follow(run["id"], 1_000_000))
    assert early.value.code == "bad_cursor"
    async with HostClient(host.url, api_key="agui_wrong") as stranger:
        with pytest.raises(Refused) as closed:
            await stranger.cancel(NOTHING)
    assert closed.value.status == 4401


async def test_a_host_that_is_away_ends_all_that_waits() -> None:
    async with HostClient(f"http://127.0.0.1:{free_port()}", 0.2, api_key="x") as client:
        reads = [anext(client.follow(NOTHING)), client.cancel(NOTHING), client.get(NOTHING)]
        lost = await asyncio.gather(*reads, return_exceptions=True)
    assert [type(each) for each in lost] == [ConnectionLost] * 3


async def test_a_connection_that_was_fine_for_hours_gets_the_whole_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = 0.0
    # Not the function itself: the event loop reads it, too.
    monkeypatch.setattr("agui_client.backoff.time", SimpleNamespace(monotonic=lambda: clock))
    backoff = Backoff(60.0)
    backoff.succeeded()
    clock = 10_000.0
    await backoff.again(OSError("a restart"))
    clock += 60.0
    with pytest.raises(ConnectionLost):
        await backoff.again(OSError("still away"))
