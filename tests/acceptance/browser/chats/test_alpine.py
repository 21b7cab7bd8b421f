"""docs/examples/alpine.md in a real browser: its code as it stands there, a native EventSource."""

import json
import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.acceptance.browser.test_pages import Open, open_page, session
from tests.acceptance.host import ROOT, Host
from tests.conformance.node import bundled

__all__ = ["open_page", "session"]

EXAMPLE = (ROOT / "docs" / "examples" / "alpine.md").read_text("utf-8")
(JAVASCRIPT,), (REACT,) = (
    re.findall(rf"^```{language}\n(.*?)^```$", EXAMPLE, re.MULTILINE | re.DOTALL)
    for language in ("js", "jsx")
)
WATCH = """new Promise((resolve) => {
  const seen = { types: [], text: "", unnamed: 0 };
  const source = watchWorkflow(url, (event) => {
    seen.types.push(event.type);
    seen.text += lineOf(event);
    if (event.type === "run_finished") resolve({ ...seen, state: source.readyState });
  });
  source.onmessage = () => { seen.unnamed += 1; };
})"""
# What an application does with the component: show a run, and later another one, in StrictMode.
APPLICATION = """
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

const root = createRoot(document.querySelector("main"));
window.show = (runId) => root.render(<StrictMode><WorkflowMonitor runId={runId} /></StrictMode>);
"""
PAGE = "<!doctype html><title>An application</title><main></main><script src=/app.js></script>"


def test_the_javascript_example(open_page: Open) -> None:
    page = open_page("/runs/")
    body = f"const url = await startWorkflow({{ task, agent: 'docs' }});\nreturn await {WATCH};"
    outcome = page.evaluate(f"async (task) => {{ {JAVASCRIPT}\n{body} }}", "What is a journal?")
    assert (outcome["types"][0], outcome["types"][-1]) == ("run_started", "run_finished")
    assert "text_message_content" in outcome["types"]
    assert outcome["text"].startswith("Workflow started: What is a journal?\n")
    assert re.search(r"\nWorkflow completed in [\d.]+m?s\n$", outcome["text"])
    assert (outcome["unnamed"], outcome["state"]) == (0, 2), "no onmessage, and closed"


def test_a_question_is_answered_by_the_event_that_asked_it(open_page: Open) -> None:
    page = open_page("/runs/")
    script = """async (task) => {
      const watch = (url) => new Promise((resolve) => {
        const events = [];
        watchWorkflow(url, (event) => {
          events.push(event);
          if (event.type === "run_finished") resolve(events);
        });
      });
      const before = await watch(await startWorkflow({ task, agent: "approval" }));
      const question = before.find((event) => event.requestId);
      const after = await watch(await answerRequest(question, { approved: true }));
      return { message: question.message, status: before.at(-1).result.status,
        text: after.map(lineOf).join("") };
    }"""
    outcome = page.evaluate(script.replace("{", f"{{ {JAVASCRIPT}", 1), "delete report.txt")
    assert (outcome["message"], outcome["status"]) == ("Approve: delete report.txt", "interrupted")
    assert "Done, in the ledger: delete report.txt." in outcome["text"]


@pytest.fixture
def application(open_page: Open) -> Page:
    """A page of the host's own origin with the component on it."""
    script = bundled(REACT.replace("import", f"{JAVASCRIPT}\nimport", 1) + APPLICATION)
    page = open_page("/runs/")

    def serve(route: Route) -> None:
        code = route.request.url.endswith("/app.js")
        kind = "text/javascript" if code else "text/html"
        route.fulfill(body=script if code else PAGE, content_type=kind)

    page.route(re.compile(r"/(application|app\.js)$"), serve)
    page.goto("/application")
    return page


def test_the_react_component(application: Page, host: Host) -> None:
    """A live run, another one that is over, and the way back; no stream is left open."""
    live = host.begin("slow", forwardedProps={"steps": 600, "seconds": 0.1})["id"]
    over = host.begin(script=[{"text": "Nine times five. "}, {"text": "Done."}])["id"]
    host.wait_status(over, "succeeded")
    status, output = application.locator(".status"), application.locator(".workflow-monitor pre")

    application.evaluate(f"window.show({json.dumps(live)})")
    expect(status).to_have_text("Status: running")
    expect(output).to_contain_text("Workflow started: ")
    application.evaluate(f"window.show({json.dumps(over)})")
    expect(status).to_have_text("Status: completed")
    expect(output).to_contain_text("Nine times five. Done.")
    assert output.inner_text().count("Workflow started: ") == 1
    assert re.search(r"\nWorkflow completed in [\d.]+m?s\n?$", output.inner_text())

    application.evaluate(f"window.show({json.dumps(live)})")
    expect(status).to_have_text("Status: running")
    with host.client() as client:
        client.post(f"/api/v1/runs/{live}/cancel")
    expect(status).to_have_text("Status: error")
    expect(output).to_contain_text("Workflow failed: ")
