"""Programs, each with fifty runs over one socket, while the web process is killed twice.

They are those of docs/examples/one-socket, of forty lines each, as a reader has them; the one in
JavaScript works in Node, and as a page in Chromium.
"""

import asyncio
import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import async_playwright

from benchmarks.report import keep
from tests.acceptance.host import ROOT, Host, wait_for
from tests.chromium import ARGS
from tests.clients.test_javascript import call_npm, copy
from tests.needs import need

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]
APPS = ROOT / "docs" / "examples" / "one-socket"
RUNS, STEPS, EVENTS_OF_A_STEP = 50, 30, 13
PAGE = """<!doctype html>
<script>globalThis.process = {process}</script>
<script type="importmap">{{"imports": {{
  "agui-host-client": "./node_modules/agui-host-client/dist/index.mjs",
  "#websocket": "./node_modules/agui-host-client/dist/no-websocket.mjs"
}}}}</script>
<script type="module" src="app.mjs"></script>
"""


@pytest.fixture
def programs(tmp_path: Path) -> dict[str, list[str]]:
    """Their commands, by language."""
    package = copy(tmp_path / "package")
    call_npm("run", "build", cwd=package)
    (tmp_path / "node_modules").mkdir()
    package.rename(tmp_path / "node_modules" / "agui-host-client")
    shutil.copy(APPS / "app.mjs", tmp_path)
    shutil.copy(APPS / "app.py", tmp_path)
    numbers = [str(RUNS), str(STEPS)]
    return {
        "python": [sys.executable, "app.py", *numbers],
        "javascript": [str(need("node")), "app.mjs", *numbers],
    }


async def played(command: list[str], host: Host, folder: Path) -> dict[str, Any]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "AGUI_URL": host.url, "AGUI_KEY": host.key}
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, env=env, limit=2**26,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        out, err = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        raise
    assert process.returncode == 0, err.decode()
    return dict(json.loads(out))


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server of these files; Chromium lets only local pages use a local host."""
    handler = partial(SimpleHTTPRequestHandler, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


async def played_in_chromium(host: Host, address: str, folder: Path) -> dict[str, Any]:
    """The program as a page of another origin."""
    program = {
        "argv": ["", "", str(RUNS), str(STEPS)],
        "env": {"AGUI_URL": host.url, "AGUI_KEY": host.key},
    }
    (folder / "index.html").write_text(PAGE.format(process=json.dumps(program)))
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(
            executable_path=str(need("chromium")), args=ARGS
        )
        page = await chromium.new_page()
        async with page.expect_console_message(
            lambda message: message.type == "log", timeout=400_000
        ) as printed:
            await page.goto(address)
        result: dict[str, Any] = json.loads((await printed.value).text)
        await chromium.close()
    return result


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    with served(tmp_path) as address:
        yield address


async def test_fifty_runs_through_two_kills(
    new_host: Callable[..., Host], programs: dict[str, list[str]], address: str, tmp_path: Path
) -> None:
    host = new_host(AGUI_ALLOWED_ORIGINS=address)
    playing = {"chromium": played_in_chromium(host, address, tmp_path)}
    playing |= {name: played(command, host, tmp_path) for name, command in programs.items()}
    working = [asyncio.create_task(each) for each in playing.values()]

    def kill_once(reached: Callable[[list[dict[str, Any]]], bool], what: str) -> None:
        wait_for(lambda: reached(newest_runs(host)), what)
        ended = [each.result()["sockets"] for each in working if each.done()]
        assert not ended, "a program ended before the kill"
        host.restart(host.web, signal_=signal.SIGKILL)

    def begun(runs: list[dict[str, Any]]) -> bool:
        return len(runs) > (len(playing) - 1) * (RUNS + 1)

    def half(runs: list[dict[str, Any]]) -> bool:
        total = len(playing) * RUNS * STEPS * EVENTS_OF_A_STEP
        return sum(row["events"] for row in runs) > total // 2

    await asyncio.to_thread(kill_once, begun, "a run of each program")
    await asyncio.to_thread(kill_once, half, "half of the events")
    async with asyncio.timeout(300):
        results = await asyncio.gather(*working)
    table = []
    for language, result in zip(playing, results, strict=True):
        # A kill may hit a program that is still coming back from the one before.
        assert 2 <= result["sockets"] <= 3, language
        assert len(result["logs"]) == RUNS + 1, "the answer is a run of its own"
        statuses = []
        for run, log in result["logs"].items():
            assert log == [[row["seq"], row["event"]] for row in host.events(run)]
            statuses.append(host.run(run)["status"])
        ended = {status: statuses.count(status) for status in statuses}
        assert ended == {"succeeded": RUNS - 1, "interrupted": 1, "cancelled": 1}
        events = sum(map(len, result["logs"].values()))
        table.append(
            f"{language}: {len(statuses)} runs, {events} events, each once and equal to the log,"
            f" over {result['sockets']} sockets and 2 SIGKILLs of the web process"
        )
    keep("programs", table)


def newest_runs(host: Host) -> list[dict[str, Any]]:
    with host.client() as client:
        return list(client.get("/api/v1/runs", params={"limit": 200}).json()["results"])
