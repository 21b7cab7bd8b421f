"""Pictures of every page with nasty data.

``python -m tests.acceptance.screenshots FOLDER [WIDTH …]``, or ``make screenshots``: it starts a
host of its own, seeds it with ``seed_demo --nasty``, and takes the pages at 390, 1280 and 1920
pixels, light and dark, for people to look at. Then it takes each route of the dashboard, as
``every_page`` names it, with the data of a second team; these names begin with ``route-``. It
prints where a page is wider than its window.
"""

import re
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.acceptance.browser.pages.every_page import MORE_STATES, PAGES, seeded
from tests.acceptance.host import Host
from tests.conftest import own_data_dir
from tests.needs import need

WIDTHS = (390, 1280, 1920)
SCHEMES = ("light", "dark")
THREADS = ("yesterday", "w" * 20, "tools", "markdown", "long", "state", "question-0", "talk")
SETTLED = 600
"""Milliseconds in which a page draws what its stream has brought."""


def pages(page: Page, host: Host, runs: dict[str, str]) -> Iterator[str]:
    """Each page, by a name for its file."""
    page.goto("/")
    yield "overview"
    for name in (
        "runs", "inbox", "issues", "tool-calls", "usage", "budgets", "alerts", "datasets", "team",
        "team/keys", "agents", "agents/docs",
    ):  # fmt: skip
        page.goto(f"/{name}/")
        yield name.replace("/", "-")
    for name in ("runs/import", "agents/connect", "agents/docs/change"):
        page.goto(f"/{name}")
        yield name.replace("/", "-")
    for thread, run in runs.items():
        page.goto(f"/runs/{run}/")
        yield thread
        for key, tab in {"t": "timeline", "m": "conversation", "e": "events", "s": "state"}.items():
            page.keyboard.press(key)
            yield f"{thread}-{tab}"
    with host.client() as client:
        threads = {
            run: client.get(f"/api/v1/runs/{run}").json()["thread_id"] for run in runs.values()
        }
        for thread, run in runs.items():
            listed = client.get("/api/v1/threads", params={"thread_id": threads[run]}).json()
            page.goto(f"/threads/{listed['results'][0]['id']}/")
            yield f"thread-{thread}"
    for name in ("compare", "change"):
        page.goto(f"/runs/{runs['tools']}/{name}")
        yield name


def routes(page: Page, host: Host, seed: dict[str, object]) -> Iterator[str]:
    """Each route of the dashboard; a page that answers with another one is taken once."""
    session = {"name": "sessionid", "value": str(seed["session"]), "url": host.url}
    page.context.add_cookies([session])  # type: ignore[list-item]
    urls = set()
    for route in (*PAGES.values(), *MORE_STATES):
        page.goto(route.format(**seed))
        if page.url not in urls:
            urls.add(page.url)
            yield "route-" + re.sub(r"[^a-z]+", "-", route).strip("-")


def take(browser: Browser, host: Host, folder: Path, widths: tuple[int, ...]) -> None:
    """All pictures, and a line for each page that scrolls sideways."""
    with host.client() as client:
        rows = client.get("/api/v1/runs", params={"limit": 100}).json()["results"]
    runs = {
        each: row["id"] for each in THREADS for row in rows if row["thread_id"].startswith(each)
    }
    state, seed = signed_in(browser, host), seeded(host)
    for width in widths:
        for scheme in SCHEMES:
            context = browser.new_context(
                base_url=host.url,
                storage_state=state,
                color_scheme="dark" if scheme == "dark" else "light",
                viewport={"width": width, "height": 900},
            )
            page = context.new_page()
            for name in chain(pages(page, host, runs), routes(page, host, seed)):
                page.wait_for_timeout(SETTLED)
                if (real := page.evaluate("document.documentElement.scrollWidth")) > width:
                    print(f"{name} at {width} {scheme}: {real} pixels wide")
                page.screenshot(path=folder / f"{name}-{width}-{scheme}.png")
            context.close()


def signed_in(browser: Browser, host: Host) -> dict[str, object]:
    """The cookies of the demo user."""
    page = browser.new_page(base_url=host.url)
    page.goto("/login/")
    page.get_by_label("Username").fill(host.login)
    page.get_by_label("Password").fill(host.password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("/")
    state = dict(page.context.storage_state())
    page.close()  # it would go on drawing beside the pages that somebody measures
    return state


def main() -> None:
    """Take them all."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    widths = tuple(int(each) for each in sys.argv[2:]) or WIDTHS
    with own_data_dir() as data, sync_playwright() as playwright:
        host = Host(data)
        try:
            host.start()
            host.manage("seed_demo", "--nasty")
            browser = playwright.chromium.launch(
                executable_path=str(need("chromium")), args=["--no-sandbox", "--disable-gpu"]
            )
            take(browser, host, folder, widths)
            browser.close()
        finally:
            host.stop()


if __name__ == "__main__":
    main()
