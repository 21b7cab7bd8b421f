"""``ag-ui-validate`` judges the agents that are shipped: no error, no warning, no hint.

Each is called with a request of ours and with the validator's own, and its stored log is judged.
"""

import asyncio
from typing import Any

import pytest
from ag_ui_validate.pytest_plugin import validate_agui
from ag_ui_validate.transport import (
    TransportOptions,
    default_run_agent_input,
    validate_endpoint,
)
from ag_ui_validate.types import Report

from tests.acceptance.host import Host

ASKS = {
    "docs": "What is a journal?",
    "table": "regions",
    "slow": "go",
    "approval": "delete report.txt",
    "default": "What is a journal?",
}
"""The agents that everybody has, and the words that make each of them do something."""

QUICK = {"forwardedProps": {"steps": 2, "seconds": 0.2}}
"""By itself the slow agent takes a minute."""


def findings(report: Report) -> list[tuple[str, str, str]]:
    assert report.event_count > 0
    return [(each.severity, each.rule, each.message) for each in report.diagnostics]


def call(host: Host, slug: str, body: dict[str, Any]) -> list[tuple[str, str, str]]:
    options = TransportOptions(headers=dict(host.headers), input=body)
    result = asyncio.run(validate_endpoint(f"{host.url}/agui/agent/{slug}/run", options))
    assert (result.status, result.transport_error) == (200, None)
    return findings(result.report)


@pytest.mark.parametrize("slug", ASKS)
def test_an_agent_that_is_shipped(host: Host, slug: str) -> None:
    message = {"id": "u", "role": "user", "content": ASKS[slug]}
    thread = f"validated-{slug}"
    body = {
        "threadId": thread,
        "runId": "r",
        "messages": [message],
        "state": {},
        "tools": [],
        "context": [],
        **QUICK,
    }
    assert call(host, slug, body) == [], "by our request"
    assert call(host, slug, {**default_run_agent_input(), **QUICK}) == [], "by its own"
    with host.client() as client:
        (row,) = client.get("/api/v1/runs", params={"thread_id": thread}).json()["results"]
    log = [each["event"] for each in host.events(row["id"])]
    assert findings(validate_agui(log)) == [], "the stored log"
