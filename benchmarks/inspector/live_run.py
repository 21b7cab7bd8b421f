"""Following a live run in Chromium: 200 events/s for SECONDS (300), 2,000/s for 10, 8 windows.

The promise: the page is never more than 0.5 s behind, takes less than 30 % of a core in its
renderer, and its heap grows by less than 20 MB; with eight live windows, none falls behind.
"""

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from benchmarks.inspector.open_run import renderers
from benchmarks.report import keep
from tests.acceptance.host import Host
from tests.acceptance.screenshots import signed_in
from tests.conftest import own_data_dir
from tests.needs import need

SECONDS = int(os.environ.get("SECONDS", "300"))
FAST_SECONDS = int(os.environ.get("FAST_SECONDS", "10"))
WINDOWS_SECONDS = int(os.environ.get("WINDOWS_SECONDS", "60"))
WINDOWS = int(os.environ.get("WINDOWS", "8"))
MESSAGE = 100  # deltas of one message
# What the page shows, ten times a second: [time, number of events].
WATCH = """
window.shown = [];
setInterval(() => {
  const count = document.getElementById("count-events");
  if (count) window.shown.push([Date.now(), Number(count.textContent.replace(/\\D/g, ""))]);
}, 100);
"""
PROMISES = {"behind_s": 0.5, "renderer": 0.3, "heap_growth_mb": 20}


class Load(NamedTuple):
    """A run of so many events per second, watched in so many windows of one browser."""

    name: str
    rate: int
    seconds: int
    windows: int = 1

    def begin(self, host: Host) -> str:
        """Start the run; its id."""
        messages = max(1, self.rate * self.seconds // MESSAGE)
        script: list[Mapping[str, Any]] = [
            {"sleep": 3},
            *[{"text": "", "n": MESSAGE, "rate": self.rate}] * messages,
        ]
        return str(host.begin(script=script)["id"])


def behind(samples: Sequence[tuple[float, int]], stamps: Sequence[float]) -> float:
    """The longest time, in seconds, for which an event was stored and not yet shown.

    ``samples``: moments and how many events a page showed; ``stamps``: when each event came. All in
    milliseconds.
    """
    late = (at - stamps[count] for at, count in samples if 0 < count < len(stamps))
    return max(0.0, *late, 0.0) / 1000


def _heap(page: Page) -> float:
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    used: float = session.send("Runtime.getHeapUsage")["usedSize"]
    session.detach()
    return used / 2**20


def _opened(context: BrowserContext, run: str) -> Page:
    page = context.new_page()
    page.goto(f"/runs/{run}/#messages", wait_until="commit")
    expect(page.locator("#count-events")).to_be_visible()
    return page


def _begun(page: Page) -> None:
    # Warm: code is compiled, and the table and the conversation are drawn.
    enough = "() => window.shown.length && window.shown.at(-1)[1] > 150"
    page.wait_for_function(enough, timeout=120_000)


def measure(browser: Browser, host: Host, load: Load) -> dict[str, Any]:
    """Follow one run to its end; the worst of all windows, by the names of PROMISES."""
    context = browser.new_context(base_url=host.url, storage_state=signed_in(browser, host))
    context.add_init_script(WATCH)
    run = load.begin(host)
    pages = [_opened(context, run) for _ in range(load.windows)]
    for page in pages:
        _begun(page)
        page.evaluate("window.shown = window.shown.slice(-1)")  # catching up does not count
    heaps, before = [_heap(page) for page in pages], renderers(browser)
    began = time.perf_counter()
    while host.run(run)["status"] in ("queued", "running"):
        pages[0].wait_for_timeout(500)
    took = time.perf_counter() - began
    cores = [(at - before.get(pid, 0)) / took for pid, at in renderers(browser).items()]
    head = host.run(run)["events"]
    for page in pages:
        shown_all = f"() => window.shown.at(-1)[1] >= {head}"
        page.wait_for_function(shown_all, timeout=120_000)
    growth = [_heap(page) - heap for page, heap in zip(pages, heaps, strict=True)]
    stamps = [entry["event"]["timestamp"] for entry in host.events(run)]
    lags = [behind(page.evaluate("window.shown"), stamps) for page in pages]
    context.close()
    return {
        "load": load.name,
        "events": head,
        "rate": round(len(stamps[1:]) / max(0.001, (stamps[-1] - stamps[2]) / 1000)),
        "windows": load.windows,
        "behind_s": round(max(lags), 2),
        "renderer": round(max(cores), 2),
        "heap_growth_mb": round(max(growth), 1),
    }


def main() -> None:
    """Each load in turn, against one host."""
    loads = (
        Load("steady", 200, SECONDS),
        Load("fast", 2_000, FAST_SECONDS),
        Load("windows", 200, WINDOWS_SECONDS, WINDOWS),
    )
    settings = {"AGUI_LIMIT_EVENTS_PER_SECOND": "0"}
    rows = []
    with own_data_dir() as data, sync_playwright() as playwright:
        host = Host(data, **settings)
        try:
            host.start()
            browser = playwright.chromium.launch(
                executable_path=str(need("chromium")), args=["--no-sandbox", "--disable-gpu"]
            )
            rows = [measure(browser, host, load) for load in loads]
            browser.close()
        finally:
            host.stop()
    lines = []
    for row in rows:
        lines.append(
            f"{row['load']}: {row['events']:,} events at {row['rate']}/s, {row['windows']} windows"
        )
        for name, promise in PROMISES.items():
            verdict = "kept" if row[name] <= promise else "BROKEN"
            lines.append(f"  {name:>16}: {row[name]} (promise {promise}) {verdict}")
    keep("live-run", lines, rows)


if __name__ == "__main__":
    main()
