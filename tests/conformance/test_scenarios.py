"""The committed scenarios, played by stock clients of both generations against a running host.

Each is read five ways: by the client that started its runs, by those that join in the middle, by
one that gets the thread back when all is over, and by one that reads the raw logs from the start.
All of them hold the same messages, state and open questions, and nobody had to complain.
"""

import json
from typing import Any

import pytest

from tests.acceptance.host import Host
from tests.conformance.node import ready_packages, run_node
from tests.conformance.scenarios import SCENARIOS
from tests.conformance.scenarios.plan import CLIENTS, Older, Scenario, Turn

AT_ONCE = 6
SECONDS = 500
"""For all of them, which the first test waits for; a busy machine needs more than 180."""
pytestmark = pytest.mark.timeout(SECONDS + 60)
JOINING = ("connect", "reconnect", "get", "repeat")
CASES = [
    (scenario, client)
    for scenario in SCENARIOS
    for client in CLIENTS
    if not (client == "0" and scenario.newer)
]
Seen = dict[tuple[str, str], dict[str, Any]]

cases = pytest.mark.parametrize(
    ("scenario", "client"),
    CASES,
    ids=[f"{scenario.name}-client {client}" for scenario, client in CASES],
)


@pytest.fixture(scope="module")
def played(
    packages: None, host: Host, request: pytest.FixtureRequest, tmp_path_factory: Any
) -> Seen:
    """What came of all scenarios that are asked for, played in one process of Node."""
    gates = str(tmp_path_factory.mktemp("gates"))
    jobs = {
        (item.callspec.params["scenario"].name, item.callspec.params["client"]): item
        for item in request.session.items
        if item.path == request.path and hasattr(item, "callspec")
    }
    plans = [
        scenario.plan(client, gates)
        for scenario, client in CASES
        if (scenario.name, client) in jobs
    ]
    batch = {"url": host.url, "headers": host.headers, "atOnce": AT_ONCE, "scenarios": plans}
    done = run_node([str(ready_packages() / "scenario.mjs")], json.dumps(batch), seconds=SECONDS)
    assert done.returncode == 0, done.stderr
    *answers, last = map(json.loads, done.stdout.strip().split("\n"))
    assert last == {"said": []}
    names = {package: client for client, package in CLIENTS.items()}
    return {(answer["name"], names[answer["client"]]): answer for answer in answers}


@cases
def test_a_scenario(played: Seen, scenario: Scenario, client: str) -> None:
    report = played[scenario.name, client]
    assert "broke" not in report, report["broke"]
    older = scenario.older if client == "0" else None
    assert report["said"] == []
    for turn, run in zip(scenario.turns, report["turns"], strict=True):
        check_run(turn, run, older)
    expected = {
        "messages": list(scenario.messages),
        "state": scenario.state,
        "interrupts": list(scenario.interrupts),
    }
    reads = expected if scenario.reads is None else {**expected, "messages": list(scenario.reads)}
    assert report["turns"][-1]["holds"] == reads
    for late in (report["connected"], *report["turns"][-1]["joined"]):
        assert "rejected" not in late
        assert late["holds"] == expected
    if scenario.replays:
        check_replay(report["replayed"], expected, older)


def check_run(turn: Turn, run: dict[str, Any], older: Older | None) -> None:
    """The run ended as planned, and was not refused by the client."""
    assert "rejected" not in run
    doing = [action for actions in turn.at.values() for action in actions]
    assert run["dials"] > doing.count("cut") or "cut" not in doing, "it was not cut each time"
    # A client of 0.x leaves out the GETs that it could not understand.
    joining = [way for way in doing if way in JOINING and not (older and way == "get")]
    assert len(run["joined"]) == len(joining)
    assert all("MESSAGES_SNAPSHOT" in joined["types"] for joined in run["joined"])
    ends = older.stopped if older and turn.ends == "cancelled" else turn.ends
    if ends.startswith("error "):
        assert run["types"][-1] == "RUN_ERROR"
        assert run["error"]["code"] == ends.removeprefix("error ")
        return
    assert run["types"][-1] == "RUN_FINISHED"
    assert run["outcome"] == ends
    if ends == "success" and not older:
        assert run.get("pendingToolCallIds", []) == list(turn.pending)


def check_replay(replayed: dict[str, Any], expected: dict[str, Any], older: Older | None) -> None:
    """The raw logs add up to the same, for a client that understands them."""
    if older and older.replays:
        assert older.replays in replayed["rejected"]
        assert any(older.replays in line for line in replayed["said"])
        return
    assert replayed["said"] == []
    assert "rejected" not in replayed
    assert replayed["holds"] == expected
