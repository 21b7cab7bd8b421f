"""The MCP project's own conformance suite against ``/mcp``: all of its scenarios for servers.

It knows tools by the names that it gives them, so the team has agents with those names. What the
host does not offer is expected to fail: the suite's own list, which it refuses when it is outdated.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.host import Host
from tests.conformance.node import ready_packages, run_node
from tests.house.repository import ROOT

Json = dict[str, Any]
PROGRESS_SECONDS = 4.5
"""Three notifications that are at most two seconds apart."""
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"type": "object", "properties": {"city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}
TOOLS: dict[str, Json] = {
    "test_simple_text": {"script": [{"text": "This is a simple text response for testing."}]},
    "test_error_handling": {"script": [{"raise": "always"}]},
    "test_tool_with_progress": {"script": [{"sleep": PROGRESS_SECONDS}, {"text": "Done."}]},
    "json_schema_2020_12_tool": {"script": [], "input_schema": SCHEMA},
}
PASSED = (
    "server-initialize", "ping", "tools-list", "tools-call-simple-text", "tools-call-error",
    "tools-call-with-progress", "json-schema-2020-12", "resources-list", "prompts-list",
    "dns-rebinding-protection",
)  # fmt: skip
NOT_OFFERED = (
    "logging-set-level", "tools-call-with-logging", "completion-complete", "tools-call-image",
    "tools-call-audio", "tools-call-embedded-resource", "tools-call-mixed-content",
    "tools-call-sampling", "tools-call-elicitation", "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums", "resources-read-text", "resources-read-binary",
    "resources-templates-read", "resources-subscribe", "resources-unsubscribe",
    "prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource",
    "prompts-get-with-image", "server-sse-polling", "server-sse-multiple-streams",
)  # fmt: skip
"""``docs/clients.md`` has the reasons."""
AGENTS = """
from agui_host.runtimes.models import Agent
from agui_host.teams.models import Team
for slug, settings in {tools!r}.items():
    row = {{"name": slug, "target": "scripted", "settings": settings, "is_tool": True}}
    Agent.objects.update_or_create(team=Team.objects.get(slug="demo"), slug=slug, defaults=row)
"""


@pytest.fixture(scope="module")
def checks(packages: None, host: Host, tmp_path_factory: Any) -> dict[str, list[Json]]:
    """The checks of each scenario."""
    folder = tmp_path_factory.mktemp("scenarios")
    no_arguments = {"input_schema": {"type": "object"}}
    host.python(AGENTS.format(tools={name: no_arguments | own for name, own in TOOLS.items()}))
    expected = folder / "expected.yml"
    expected.write_text(json.dumps({"server": NOT_OFFERED}))
    js = ready_packages()
    suite = js / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    done = run_node(
        [
            "--import", str(js / "with-key.mjs"), str(suite), "server", "--url", f"{host.url}/mcp",
            "--suite", "all", "--output-dir", str(folder), "--expected-failures", str(expected),
        ],
        node="node 22", AGUI_KEY=host.key,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    return {scenario_of(path): json.loads(path.read_text()) for path in folder.rglob("*.json")}


def scenario_of(checks: Path) -> str:
    """Its folder is ``server-NAME-TIME``."""
    name = re.fullmatch(r"server-(.+)-\d{4}-\d\d-\d\dT.+", checks.parent.name)
    assert name, checks
    return name[1]


@pytest.mark.parametrize("scenario", PASSED)
def test_a_scenario(checks: dict[str, list[Json]], scenario: str) -> None:
    failures = [each for each in checks[scenario] if each["status"] == "FAILURE"]
    assert not failures, failures


def test_every_other_scenario_has_a_reason(checks: dict[str, list[Json]]) -> None:
    assert checks.keys() == {*PASSED, *NOT_OFFERED}
    page = (ROOT / "docs" / "clients.md").read_text()
    assert {name for name in NOT_OFFERED if f"`{name}`" not in page} == set()
