"""A host's history goes back under its readers: each starts again, and its program learns of it."""

import asyncio
import json
import subprocess
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx
import pytest

from agui_client import AGUIClient, Cursors, HostClient, Reset
from agui_client.reading import Transport, follow
from tests.acceptance.host import Host
from tests.clients.test_javascript import call_npm, copy
from tests.needs import need

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

DELTAS, HEAD = 8, 4
"""How much a run says, and what is left of that."""
LAST = DELTAS + 3
"""RUN_STARTED, TEXT_MESSAGE_START, the deltas, TEXT_MESSAGE_END."""


def script(path: Path) -> dict[str, Any]:
    """A run that says something, then waits for ever."""
    return {"script": [{"text": "x", "n": DELTAS}, {"until": str(path / "never")}]}


async def rewound(host: Host, run: str) -> None:
    await asyncio.to_thread(host.rewind, run, HEAD)


@pytest.mark.parametrize("transport", ["sse", "websocket"])
async def test_a_conversation_starts_again(
    tough_host: Host, tmp_path: Path, transport: Transport
) -> None:
    host, resets = tough_host, list[Reset]()
    url = f"{host.url}/agui/agent/scripted/run"
    async with AGUIClient(
        url, api_key=host.key, transport=transport, on_reset=resets.append
    ) as client:
        before, after = list[Any](), list[Any]()
        async for event in client.run("go", forwardedProps=script(tmp_path)):
            (after if resets else before).append(event)
            if len(before) == LAST and not after and not resets:
                await rewound(host, await newest(host))
        assert len(before) == LAST
        assert after[:HEAD] == before[:HEAD]
        assert after[-1]["type"] == "RUN_ERROR"
        (reset,) = resets
        if transport == "sse":
            assert reset.epoch == host.ready()["epoch"] > 1
            assert reset.head == HEAD
        texts = [each["delta"] for each in after if each["type"] == "TEXT_MESSAGE_CONTENT"]
        assert client._talk.answer == "".join(texts), "what the log has now"


async def newest(host: Host) -> str:
    """The run that began last."""
    async with HostClient(host.url, api_key=host.key) as client, aclosing(client.list()) as runs:
        return str((await anext(runs))["id"])


async def test_subscriptions_start_again(tough_host: Host, tmp_path: Path) -> None:
    """Of a run and a thread, also when a program comes back with a cursor that it has saved."""
    host, resets = tough_host, list[Reset]()
    cursors = Cursors(tmp_path / "cursors")
    options: dict[str, Any] = {"api_key": host.key, "cursors": cursors}
    async with (
        HostClient(host.url, **options, on_reset=resets.append) as client,
        HostClient(host.url, **options) as strict,
    ):
        run = await client.start("scripted", forwardedProps=script(tmp_path))
        waiting = asyncio.create_task(client.wait(run["id"]))
        reading, thread = client.follow(run["id"]), client.follow_thread(run["thread_id"], 0)
        async with aclosing(reading), aclosing(thread):
            for expected in range(1, LAST + 1):
                assert (await anext(reading))[0] == expected
                assert (await anext(thread))[:2] == (run["id"], expected)
            cursors.save(run["id"], LAST)
            await rewound(host, run["id"])
            assert (await anext(reading))[0] == (await anext(thread))[1] == 1
            logs = [each.log for each in resets]
            assert {"run": run["id"]} in logs
            assert {"thread_id": run["thread_id"]} in logs
            rest = [seq async for seq, _ in reading]
            assert rest == list(range(2, len(rest) + 2)), "each once, in order"
            assert str(cursors.get(run["id"])).endswith(f"-{rest[-1]}")
        assert (await waiting)["status"] == "failed"
        cursors.restart(run["id"])
        cursors.save(run["id"], LAST + 10)
        with pytest.raises(Reset) as refused:
            await anext(strict.follow(run["id"]))
        assert (refused.value.status, refused.value.code) == (410, "reset")
        assert refused.value.head == rest[-1]
        assert cursors.get(run["id"]) == 0
        assert [seq async for seq, _ in strict.follow(run["id"])] == [1, *rest]
        async with httpx.AsyncClient(headers=host.headers) as http:
            for transport in ("sse", "websocket"):
                url = f"{host.url}/api/v1/runs/{run['id']}/events"
                with pytest.raises(Reset):
                    await anext(follow(http, url, LAST + 10, transport=transport, timeout=30))  # type: ignore[arg-type]


def test_in_javascript(tough_host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HostClient, which starts again or throws, and HostAgent, which fails and connects again."""
    package = copy(tmp_path / "js")
    call_npm("run", "build", cwd=package)
    (package / "resets.mjs").write_text((Path(__file__).parent / "resets.mjs").read_text())
    host = tough_host
    monkeypatch.setenv("AGUI_URL", host.url)
    monkeypatch.setenv("AGUI_KEY", host.key)
    run = host.begin(**script(tmp_path))
    what = {"run": run["id"], "thread": run["thread_id"], "last": LAST}
    node = [need("node"), "resets.mjs", json.dumps(what)]
    with subprocess.Popen(node, cwd=package, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout
            assert program.stdout.readline() == "ready\n"
            host.rewind(run["id"], HEAD)
            report = json.loads(program.stdout.readline())
        finally:
            program.kill()
    epoch = host.ready()["epoch"]
    assert report["agent"] == {"code": "reset", "epoch": epoch, "head": HEAD}
    whole = [row["seq"] for row in host.events(run["id"])]
    for name in ("follow", "threads"):
        assert report[name][:LAST] == list(range(1, LAST + 1)), "what it had"
        assert report[name][LAST:] == whole, "and the log as it is now"
    reset = {"epoch": epoch, "head": HEAD, "status": 410, "log": {"run": run["id"]}}
    assert report["strict"] == reset
    assert report["logs"][:2] in (
        [{"run": run["id"]}, {"thread_id": run["thread_id"]}],
        [{"thread_id": run["thread_id"]}, {"run": run["id"]}],
    )
    assert report["late"] == whole, "a cursor that came back"
    assert report["status"] == "failed"
    assert report["messages"] >= 1
    assert report["silent"] == [1, {"status": 410, "log": {"run": run["id"]}}, 3]
    assert report["mistaken"] == "bad_cursor", "that number was the program's own"
    assert report["cut"] == {"code": "reset", "status": 410}
