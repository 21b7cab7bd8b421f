"""A page whose scripts and their answers come late, to see the moves of a slow machine.

Stylesheets come as usual, as a browser paints nothing before them.
"""

from typing import Any

from playwright.sync_api import Page, Request, Response, Route

LATE = {"script", "fetch", "xhr", "eventsource"}
"""The kinds of requests that wait until the page has been painted without their answers."""
PAINTED = """new Promise((done) => new PerformanceObserver((list) =>
  list.getEntriesByName("first-contentful-paint").length && done(),
).observe({ type: "paint", buffered: true }))"""
TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
CALM = 3
"""Paintings without a request in between, after which nothing more comes."""
MOST_ROUNDS = 1_000
MOST_SHIFTED = 0.05
SHIFTS = """
window.shifts = [];
const named = (node) => {
  const element = node?.nodeType === 1 ? node : node?.parentElement;
  if (!element) return "a removed part";
  return [element.localName + (element.id && `#${element.id}`), ...element.classList].join(".");
};
const placed = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(" ");
new PerformanceObserver((list) => {
  for (const { value, hadRecentInput, sources } of list.getEntries()) {
    if (hadRecentInput) continue;
    window.shifts.push([value, sources.map(({ node, previousRect, currentRect }) =>
      `${named(node)}: ${placed(previousRect)} → ${placed(currentRect)}`)]);
  }
}).observe({ type: "layout-shift", buffered: true });
"""


class LatePage:
    """A page that paints itself before each of its scripts, and before each answer to them."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.waiting: list[Route] = []
        self.open_requests: set[Request] = set()
        self.addresses: set[str] = set()
        page.add_init_script(SHIFTS)
        page.route("**/*", self.hold)
        page.on("request", lambda request: self.open_requests.add(request))
        page.on("response", self.answered)
        page.on("requestfinished", lambda request: self.open_requests.discard(request))
        page.on("requestfailed", lambda request: self.open_requests.discard(request))

    def hold(self, route: Route) -> None:
        if route.request.resource_type in LATE:
            self.waiting.append(route)
        else:
            route.continue_()

    def answered(self, response: Response) -> None:
        """A stream of a run that goes on has no end."""
        if "event-stream" in response.headers.get("content-type", ""):
            self.open_requests.discard(response.request)

    def goto(self, address: str) -> bool:
        """Open the address and wait until all has come and is painted.

        False if it leads to a page that has been open before, such as "/" for who has signed in.
        """
        self.waiting.clear()
        self.open_requests.clear()
        self.page.goto(address, wait_until="commit")
        if self.page.url in self.addresses:
            return False
        self.addresses.add(self.page.url)
        self.page.evaluate(PAINTED)
        calm = 0
        for _ in range(MOST_ROUNDS):
            routes, self.waiting = self.waiting, []
            for route in routes:
                route.continue_()
            self.page.evaluate(TWO_FRAMES)
            calm = 0 if self.waiting or self.open_requests else calm + 1
            if calm == CALM:
                return True
        raise AssertionError(f"{address}: {[each.url for each in self.open_requests]}")

    def moves(self) -> list[Any]:
        """The shifts of the page if their sum is too large: sizes, and places before and after."""
        shifts = self.page.evaluate("window.shifts")
        return list(shifts) if sum(size for size, _ in shifts) > MOST_SHIFTED else []
