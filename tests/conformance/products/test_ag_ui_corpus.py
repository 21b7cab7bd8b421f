"""The conformance corpus of AG-UI that ``ag-ui-validate`` ships: its streams come from an agent.

A valid stream becomes the log as it is. The log of an invalid one is valid all the same, and a
finding or a failed run reports each error.
"""

import json
from collections.abc import Iterator
from importlib.resources.abc import Traversable
from typing import Any

import pytest
from ag_ui_validate.pytest_plugin import validate_agui

from tests.acceptance.host import Host
from tests.conformance.products.conftest import served
from tests.conformance.products.corpus import CORPUS, lines

Json = dict[str, Any]
ENDED = ("succeeded", "failed", "interrupted")
OWN = ("timestamp", "threadId", "runId", "input", "protocolVersion")
"""Members that the host gives, or compares with the request."""


def names(folder: Traversable, suffix: str) -> list[str]:
    return sorted(each.name for each in folder.iterdir() if each.name.endswith(suffix))


LEGAL = {
    "AGUI104": {"AGUI104", "AGUI102"},  # A message can be streamed again under its id.
    "AGUI204": {"AGUI204"},  # Clients keep arguments that are no JSON as a text.
    "AGUI205": {"AGUI205", "AGUI202"},  # A call without a result can be streamed again.
    "AGUI207": {"AGUI207"},  # The history of later runs leaves out a result without its call.
}
"""The errors for the corpus that AG-UI 1.0 and its own client accept: they stay in the log."""
SILENT = frozenset({
    *LEGAL,
    "AGUI001",  # The host itself begins a run.
    "AGUI004", "AGUI005",  # Nothing is read after the end of a run.
    "AGUI501",  # Server-sent events: a line without a known field is ignored.
    "AGUI303",  # AG-UI 1.0 leaves out operations of an unknown kind.
})  # fmt: skip
"""They need no finding."""
VALID = names(CORPUS / "valid", ".jsonl")
INVALID = names(CORPUS / "invalid", "")


@pytest.fixture(scope="module")
def corpus(desk: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """The host with the agent ``corpus``."""
    app = "tests.conformance.products.corpus:app"
    with served(desk, app, tmp_path_factory.mktemp("corpus"), {"corpus": "/agent"}):
        yield desk


def play(host: Host, fixture: str) -> tuple[Json, list[Json]]:
    """The run of a stream, when it has ended, and its log."""
    run = host.begin("corpus", forwardedProps={"fixture": fixture})
    ended = host.wait_status(run["id"], *ENDED)
    return ended, [each["event"] for each in host.events(run["id"])]


def bare(event: Json) -> Json:
    """An event without what the host gives."""
    if isinstance(event.get("outcome"), dict):
        outcome = {k: v for k, v in event["outcome"].items() if k != "pendingToolCallIds"}
        event = event | {"outcome": outcome}
    return {name: value for name, value in event.items() if name not in OWN}


def first_run(events: list[Json]) -> list[Json]:
    """The events up to the first end: each run of the host asks the agent for itself."""
    ends = [n for n, event in enumerate(events) if event["type"] in ("RUN_FINISHED", "RUN_ERROR")]
    return events[: ends[0] + 1]


def texts(events: list[Json]) -> dict[str, str]:
    """The texts of the messages, by their ids; a chunk without one continues the chunk before."""
    by_id: dict[str, str] = {}
    key = ""
    for event in events:
        if event["type"] in ("TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CHUNK"):
            key = event.get("messageId", key)
            by_id[key] = by_id.get(key, "") + event.get("delta", "")
    return by_id


def findings(host: Host, run: Json) -> list[str]:
    """The rules that the agent broke; the corpus is of 2025, so its times are replaced."""
    with host.client() as client:
        rows = client.get(f"/api/v1/runs/{run['id']}/findings").json()["findings"]
    return [row["rule"] for row in rows if row["rule"] != "timestamp"]


@pytest.mark.parametrize("name", VALID)
def test_a_valid_stream_is_the_log(corpus: Host, name: str) -> None:
    stream = first_run([json.loads(line) for line in lines(f"valid/{name}")])
    run, log = play(corpus, f"valid/{name}")
    chunks = [event for event in stream if event["type"] == "TEXT_MESSAGE_CHUNK"]
    chunked = texts(chunks)
    whole, plain = (
        [bare(e) for e in events if e not in chunks and e.get("messageId") not in chunked]
        for events in (log, stream)
    )
    assert whole == plain
    assert texts(log) == texts(stream)
    assert findings(corpus, run) == []


@pytest.mark.parametrize("name", INVALID)
def test_the_log_of_an_invalid_stream_is_valid(corpus: Host, name: str) -> None:
    rule, folder = name.split("-")[0], CORPUS / "invalid" / name
    kind = "stream.jsonl" if (folder / "stream.jsonl").is_file() else "scenario.json"
    run, log = play(corpus, f"invalid/{name}/{kind}")
    errors = {each.rule for each in validate_agui(log).diagnostics if each.severity == "error"}
    assert errors <= LEGAL.get(rule, set())
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    if rule not in SILENT and any(each["severity"] == "error" for each in expected):
        assert findings(corpus, run) or run["status"] == "failed"
