"""The conformance suite of Durable Streams for servers: its part about reading.

The suite's own writes go through a small writer (``js/durable-conformance.test.mjs``), as a run is
opened and fed in another way; its reads go to the host.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.acceptance.host import Host
from tests.conformance.node import ready_packages, run_node
from tests.conftest import own_host

pytestmark = pytest.mark.timeout(700)
Json = dict[str, Any]
READING = (
    "Read Operations", "Long-Poll Operations", "Long-Poll Edge Cases", "Caching and ETag",
    "Browser Security Headers", "HEAD Metadata", "Offset Validation and Resumability",
    "Read-Your-Writes Consistency", "SSE Mode", "Stream Closure HEAD with Stream Closure",
    "Stream Closure Read Closed Streams", "Stream Closure Long-poll with Stream Closure",
    "Stream Closure SSE with Stream Closure", "Stream Closure Edge Cases offset-now",
    "HTTP Protocol should return empty body", "HTTP Protocol should read from offset",
    "Protocol Edge Cases should preserve data immutability",
    "Protocol Edge Cases should generate unique",
    "Protocol Edge Cases should reject empty offset parameter",
    "Protocol Edge Cases should reject multiple offset parameters",
    "Protocol Edge Cases should ignore unknown query parameters",
)  # fmt: skip
"""How the names of the tests about reading begin."""
PATIENCE = 90_000
"""Milliseconds for a test. vitest would give it five seconds, but one opens and closes a dozen
streams, which takes a busy machine longer, and two wait for the end of a long-poll. The suite
itself bounds each wait of a test."""
POLLS = "tests.conformance.products.agents.short_polls"
WRITES = ("nosniff on PUT responses", "nosniff on POST responses", "TTL metadata", "Expires-At")
"""About writing, which the suite does not do here, and streams that end by the clock."""
OTHER_TYPES = (
    "should return metadata without body", "base64", "Stream-SSE-Data-Encoding header for binary",
)  # fmt: skip
"""About texts and bytes: a run's messages are JSON."""
CORS = ("CORS preflight",)
"""Other origins are none's by default."""
LEFT_OUT = (*WRITES, *OTHER_TYPES, *CORS)


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    """A run whose producer is silent outlives a long-poll that waits for it in vain."""
    with own_host(AGUI_INGEST_LEASE="120", AGUI_AGENT_MODULES=POLLS) as host:
        yield host


@pytest.fixture(scope="module")
def results(packages: None, host: Host, tmp_path_factory: Any) -> list[Json]:
    """What became of each test of the suite."""
    report = tmp_path_factory.mktemp("vitest") / "report.json"
    with host.client() as client:
        external = {"slug": "conformance", "kind": "external"}
        answer = client.post("/api/v1/agents", json=external)
        assert answer.status_code in (201, 409), answer.text
    left_out, reading = ("|".join(map(re.escape, names)) for names in (LEFT_OUT, READING))
    vitest = ready_packages() / "node_modules" / "vitest" / "vitest.mjs"
    done = run_node(
        [
            str(vitest), "run", "durable-conformance", "--reporter=json", f"--outputFile={report}",
            f"--testTimeout={PATIENCE}", "--testNamePattern", f"^(?!.*({left_out}))({reading})",
        ],
        seconds=600, AGUI_URL=host.url, AGUI_KEY=host.key, AGUI_AGENT=external["slug"],
    )  # fmt: skip
    assert report.exists(), done.stderr
    (file,) = json.loads(report.read_text())["testResults"]
    return list(file["assertionResults"])


def test_the_part_about_reading(results: list[Json]) -> None:
    played = [each for each in results if each["status"] in ("passed", "failed")]
    failures = {
        each["fullName"]: each["failureMessages"] for each in played if each["status"] == "failed"
    }
    assert not failures
    assert len(played) > 60


def test_what_is_left_out_is_there(results: list[Json]) -> None:
    names = [each["fullName"] for each in results]
    assert [each for each in LEFT_OUT if not any(each in name for name in names)] == []
    assert [each for each in READING if not any(name.startswith(each) for name in names)] == []
