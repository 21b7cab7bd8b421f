"""What a visitor feels of a page: shifts, the slowest answer to a key or click, warm requests.

On a host with the runs of ``seed_demo --nasty``, each page is opened twice in Chromium; the second
visit counts. Then it gets its keys, a text in each of its fields, and a click on each of its
folded parts. The promise: layout shifts of less than 0.05, less than 200 ms from an input to the
next painted frame (INP; with fewer than 50 inputs the slowest), and at most 10 requests of a warm
visit that the browser's cache does not answer.
"""

import contextlib
from typing import Any

from playwright.sync_api import Error, Page, sync_playwright

from benchmarks.inspector.lighthouse import addresses
from benchmarks.report import keep
from tests.acceptance.host import Host
from tests.acceptance.screenshots import signed_in
from tests.conftest import own_data_dir
from tests.needs import need

SHIFTED, SLOWEST, REQUESTS = 0.05, 200, 10
MORE = ("agents", "issues", "tool-calls", "usage", "budgets", "alerts", "team", "team/keys")
KEYS = {"list": "jkxjx", "run": "tmesjjkt"}
FIELDS = "main :is(textarea, input[type=search], input[type=text], input:not([type])):visible"
FOLDED = "main details:not([open]) > summary:visible"
MOST = 6
"""Fields and folded parts of a page."""
SETTLED = 1_500
WATCH = """
window.felt = { shifted: 0, inputs: {} };
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) felt.shifted += entry.value;
}).observe({ type: "layout-shift", buffered: true });
new PerformanceObserver((list) => {
  for (const { interactionId, duration, name } of list.getEntries()) {
    if (interactionId && !(felt.inputs[interactionId]?.[0] >= duration))
      felt.inputs[interactionId] = [duration, name];
  }
}).observe({ type: "event", durationThreshold: 16, buffered: true });
"""


class Wire:
    """The requests of a page that reach the host."""

    def __init__(self, page: Page) -> None:
        self.requests: dict[str, str] = {}
        session = page.context.new_cdp_session(page)
        session.on("Network.requestWillBeSent", self._begin)
        session.on("Network.requestServedFromCache", self._cached)
        session.on("Network.responseReceived", self._received)
        session.send("Network.enable")

    def _begin(self, event: dict[str, Any]) -> None:
        if event["request"]["url"].startswith("http"):
            self.requests[event["requestId"]] = event["request"]["url"]

    def _cached(self, event: dict[str, Any]) -> None:
        self.requests.pop(event["requestId"], None)

    def _received(self, event: dict[str, Any]) -> None:
        if event["response"].get("fromDiskCache"):
            self.requests.pop(event["requestId"], None)


def use(page: Page, name: str) -> int:
    """Press, type and click as a visitor does; how often."""
    inputs = 0
    for key in KEYS.get(name, ""):
        page.keyboard.press(key)
        page.wait_for_timeout(100)
        inputs += 1
    for field in page.locator(FIELDS).all()[:MOST]:
        with contextlib.suppress(Error):  # a script may have taken it away
            field.press_sequentially("word", timeout=2_000)
            inputs += 4
    for summary in page.locator(FOLDED).all()[:MOST]:
        with contextlib.suppress(Error):
            summary.click(timeout=2_000)
            inputs += 1
    page.wait_for_timeout(500)
    return inputs


def visit(page: Page, name: str, path: str) -> dict[str, Any]:
    """The figures of a second visit."""
    page.goto(path)
    page.wait_for_timeout(SETTLED)
    page.goto("about:blank")
    wire = Wire(page)
    page.goto(path)
    page.wait_for_timeout(SETTLED)
    requests = len(wire.requests)
    inputs = use(page, name)
    felt = page.evaluate("felt")
    slowest = max(felt["inputs"].values(), default=[0, "none of 16 ms"])
    return {
        "page": name, "shifted": round(felt["shifted"], 3), "requests": requests,
        "inputs": inputs, "slowest_ms": slowest[0], "slowest": slowest[1],
    }  # fmt: skip


def main() -> None:
    with own_data_dir() as data, sync_playwright() as playwright:
        host = Host(data)
        try:
            host.start()
            host.manage("seed_demo", "--nasty")
            browser = playwright.chromium.launch(
                executable_path=str(need("chromium")), args=["--no-sandbox", "--disable-gpu"]
            )
            context = browser.new_context(base_url=host.url, storage_state=signed_in(browser, host))
            context.add_init_script(WATCH)
            pages = addresses(host) | {name: f"/{name}/" for name in MORE}
            rows = [visit(context.new_page(), name, path) for name, path in pages.items()]
            browser.close()
        finally:
            host.stop()
    lines = []
    for row in rows:
        steady = row["shifted"] < SHIFTED and row["slowest_ms"] < SLOWEST
        verdict = "kept" if steady and row["requests"] <= REQUESTS else "MISSED"
        inputs = f"{row['inputs']:>2} inputs {row['slowest_ms']:>4} ms ({row['slowest']})"
        lines.append(
            f"{row['page']:<11} shifts {row['shifted']:<6} requests {row['requests']:>3}"
            f"   slowest of {inputs}   {verdict}"
        )
    keep("felt", lines, rows)


if __name__ == "__main__":
    main()
