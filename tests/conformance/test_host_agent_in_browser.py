"""HostAgent in a real browser: the packages' own modules and an import map, no bundler."""

import mimetypes
from pathlib import Path

from playwright.sync_api import Browser, Page, Route

from tests.acceptance.host import Host
from tests.conformance.node import ready_packages
from tests.conformance.scenarios.parts import assistant, text
from tests.conformance.scenarios.plan import go

PAGE = """<!doctype html><title>An application</title>
<script type="importmap">{"imports": {
  "@ag-ui/client": "/vendor/@ag-ui/client/dist/index.mjs",
  "@ag-ui/core": "/vendor/@ag-ui/core/dist/index.mjs",
  "@ag-ui/core/schemas": "/vendor/@ag-ui/core/dist/schemas.mjs",
  "@ag-ui/proto": "/vendor/@ag-ui/proto/dist/index.mjs",
  "@bufbuild/protobuf/wire": "/vendor/@bufbuild/protobuf/dist/esm/wire/index.js",
  "compare-versions": "/vendor/compare-versions/lib/esm/index.js",
  "fast-json-patch": "/vendor/fast-json-patch/index.mjs",
  "rxjs": "/vendor/rxjs/dist/esm/index.js",
  "rxjs/operators": "/vendor/rxjs/dist/esm/operators/index.js",
  "tslib": "/vendor/tslib/tslib.es6.mjs",
  "untruncate-json": "/vendor/untruncate-json/dist/esm/index.js",
  "uuid": "/vendor/uuid/dist/esm-browser/index.js",
  "zod/v4": "/vendor/zod/v4/index.js"
}}</script>"""
PLAY = """async ({ headers, script, message }) => {
  const { HostAgent } = await import("/static/js/host-agent.mjs");
  let dials = 0;
  const breaking = async (url, init) => {
    const answer = await fetch(url, init);
    if (dials++ || !String(url).includes("/run")) return answer;
    let size = 0;
    const cut = new TransformStream({
      transform(bytes, controller) {
        size += bytes.length;
        controller.enqueue(bytes);
        if (size > 20_000) controller.error(new TypeError("network error"));
      },
    });
    return new Response(answer.body.pipeThrough(cut), answer);
  };
  const url = "/agui/agent/scripted/run";
  const reader = new HostAgent({ url, headers, threadId: "browser", fetch: breaking });
  reader.addMessage(message);
  await reader.runAgent({ forwardedProps: { script } });
  const late = new HostAgent({ url, headers, threadId: "browser" });
  await late.connectAgent();
  return { dials, read: reader.messages, late: late.messages, stopped: await late.cancel() };
}"""


def serve(page: Page) -> None:
    """An application of the host's own origin, with its packages."""
    packages = ready_packages() / "node_modules"

    def vendor(route: Route) -> None:
        module = packages / route.request.url.partition("/vendor/")[2]
        candidates = [module, Path(f"{module}.js"), module / "index.js"]
        file = next(path for path in candidates if path.is_file())
        kind = mimetypes.guess_type("module.js")[0]
        route.fulfill(body=file.read_text(), content_type=kind)

    page.route("**/vendor/**", vendor)
    page.route("**/application", lambda route: route.fulfill(body=PAGE, content_type="text/html"))


def test_in_a_browser_without_a_bundler(packages: None, host: Host, browser: Browser) -> None:
    page = browser.new_page(base_url=host.url)
    complaints: list[str] = []
    page.on("console", lambda line: complaints.append(line.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    serve(page)
    page.goto("/application")
    script = text("m1", *["word "] * 1000)
    report = page.evaluate(PLAY, {"headers": host.headers, "script": script, "message": go()})
    page.close()
    assert report["dials"] > 1, "the connection never broke"
    assert report["read"] == report["late"] == [go(), assistant("m1", "word " * 1000)]
    assert report["stopped"] is None
    assert complaints == []
