"""The stock clients of Durable Streams, from npm and PyPI, read runs of this host."""

import json
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import durable_streams
import httpx
import pytest

from tests.acceptance.host import Host, wait_for
from tests.conformance.node import ready_packages, run_node
from tests.conformance.scenarios.parts import args, call, more, result, text, thought

ENDED = ("succeeded", "failed", "cancelled", "interrupted")
HALF = 7
"""Events up to the gate of a run that is cut."""

LONG = 1_200
"""Deltas of a message: more events than a page of the API has."""


def url_of(host: Host, run: dict[str, Any]) -> str:
    return host.url + str(run["stream_url"])


def log_of(host: Host, run: dict[str, Any]) -> list[dict[str, Any]]:
    return [row["event"] for row in host.events(run["id"])]


def slow(host: Host) -> dict[str, Any]:
    """A run that goes on while it is read."""
    return host.begin(agent="slow", forwardedProps={"steps": 3, "seconds": 0.2})


def long(host: Host) -> dict[str, Any]:
    """An ended run."""
    run = host.begin(script=[{"text": "x", "n": LONG}])
    host.wait_status(run["id"], "succeeded")
    return run


def cancelled(host: Host) -> dict[str, Any]:
    run = host.begin(script=[*text("a", "So far."), {"forever": True}])
    with host.client() as client:
        client.post(f"/api/v1/runs/{run['id']}/cancel").raise_for_status()
    return run


def of_another_dialect(host: Host) -> dict[str, Any]:
    """The second turn of a conversation of OpenAI's."""
    body = {"model": "scripted", "input": "hello", "forwardedProps": {"script": [{"text": "Hi."}]}}
    with host.client() as client:
        first = client.post("/v1/responses", json=body).json()["id"]
        second = client.post("/v1/responses", json={**body, "previous_response_id": first}).json()
    return host.run(str(UUID(second["id"].removeprefix("resp_"))))


@pytest.fixture(scope="module")
def ends(host: Host) -> dict[str, dict[str, Any]]:
    """A run of each kind, ended."""
    question = [{"id": "u", "role": "user", "content": "delete report.txt"}]
    look = [*call("c", "{}"), result("c")]
    runs = {
        "reasoning and a tool": host.begin(script=[*thought("r", "Hm."), *look]),
        "a tool of the client": host.begin(script=[*call("c", "{}", tool="place")]),
        "a question": host.begin(agent="approval", messages=question),
        "an error": host.begin(script=[*text("a", "So far."), {"raise": "no"}]),
        "a cancelled run": cancelled(host),
        "another dialect": of_another_dialect(host),
    }
    statuses = {name: host.wait_status(run["id"], *ENDED)["status"] for name, run in runs.items()}
    assert list(statuses.values()) == [
        "succeeded", "succeeded", "interrupted", "failed", "cancelled", "succeeded",
    ]  # fmt: skip
    return runs


def cuts(host: Host, gates: Path) -> dict[str, dict[str, Any]]:
    """Runs in a text and in a call's arguments, which go on when there is a file of that name."""

    def gate(name: str) -> dict[str, Any]:
        return {"until": str(gates / name)}

    words = [*text("a", *"abcde", end=False), gate("cut in a text"), *more("a", *"fghij")]
    pieces = [*call("c", "{", *" " * 4, end=False), gate("cut in a call")]
    rest = [*args("c", *" " * 4, "}"), result("c")]
    return {
        "cut in a text": host.begin(script=words),
        "cut in a call": host.begin(script=[*pieces, *rest]),
    }


def is_halfway(host: Host, run: dict[str, Any]) -> bool:
    return len(host.events(run["id"])) == HALF


def test_the_javascript_client(
    packages: None, host: Host, ends: dict[str, Any], tmp_path: Path
) -> None:
    """Live by SSE and by long-poll, from the middle, from now, and as one page; what is cut."""
    ended = long(host)
    runs = {name: slow(host) for name in ("sse", "long-poll", "now")}
    runs |= dict.fromkeys(("page", "middle", "end by sse", "end by long-poll"), ended)
    runs |= {"second tab": runs["sse"], **ends, **cuts(host, tmp_path)}
    tail = f"{1_000:016d}"
    reads = {
        "sse": ("-1", "sse"),
        "long-poll": ("-1", "long-poll"),
        "now": ("now", True),
        "page": ("-1", False),
        "middle": (tail, True),
        "end by sse": ("now", "sse"),
        "end by long-poll": ("now", "long-poll"),
    }
    reads |= {name: ("-1", "sse") for name in runs if name not in reads}
    markers = {"cut in a text": "TEXT_MESSAGE_CONTENT", "cut in a call": "TOOL_CALL_ARGS"}
    plan = [
        {"name": name, "url": url_of(host, runs[name]), "offset": offset, "live": live}
        | {"cut": markers.get(name), "gate": str(tmp_path / name)}
        for name, (offset, live) in reads.items()
    ]
    for name in markers:
        wait_for(partial(is_halfway, host, runs[name]), f"{name}: its gate")
    script = str(ready_packages() / "durable-streams.mjs")
    done = run_node([script], json.dumps({"headers": host.headers, "reads": plan}))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    for name, run in runs.items():
        log = log_of(host, run)
        assert report[name]["closed"] is True, name
        assert report[name]["offset"] == f"{len(log):016d}", name
        assert report[name]["head"]["contentType"] == "application/json"
        skipped = {"middle": 1_000, "end by sse": len(log), "end by long-poll": len(log)}
        expected = log[skipped.get(name, 0) :]
        if name == "now":  # it was somewhere in the middle when the reader came
            expected = log[len(log) - len(report[name]["events"]) :]
        assert report[name]["events"] == expected, name
        assert name not in markers or report[name]["losses"] == 1, "it was not cut"


def test_the_python_client(host: Host) -> None:
    """One page; a resumed read; a live one by long-poll, whose end this client does not know."""
    ended, live = long(host), slow(host)
    with durable_streams.stream(url_of(host, ended), live=False, headers=host.headers) as page:
        events = page.read_json()
        assert page.offset == f"{len(events):016d}"
    log = log_of(host, ended)
    assert events == log
    assert len(log) == LONG + 4
    with durable_streams.stream(
        url_of(host, ended), offset=f"{700:016d}", live=False, headers=host.headers
    ) as rest:
        assert rest.read_json() == log[700:]
    batches = []
    for mode in ("long-poll", "sse"):
        with durable_streams.stream(
            url_of(host, live), offset="-1", live=mode, headers=host.headers
        ) as response:
            batches = []
            for event in response.iter_json():
                batches.append(event)
                if event["type"] == "RUN_FINISHED":
                    break
        assert batches == log_of(host, live)
    head = httpx.head(url_of(host, live), headers=host.headers)
    assert head.headers["stream-closed"] == "true"


def test_the_python_client_reads_all_that_happens(
    host: Host, ends: dict[str, Any], tmp_path: Path
) -> None:
    """Whatever is in a log; and two runs that it leaves in the middle, and resumes."""
    for name, run in ends.items():
        with durable_streams.stream(url_of(host, run), live=False, headers=host.headers) as page:
            assert page.read_json() == log_of(host, run), name
    runs = cuts(host, tmp_path)
    halves = {name: read(host, run, "-1", HALF) for name, run in runs.items()}
    for name, run in runs.items():
        (tmp_path / name).touch()
        half, offset = halves[name]
        assert half
        assert half + read(host, run, offset)[0] == log_of(host, run), name


def read(host: Host, run: dict[str, Any], offset: str, most: int | None = None) -> Any:
    """The events behind that offset, ``most`` at least or up to the run's end; the new offset."""
    address, events = url_of(host, run), []
    with durable_streams.stream(
        address, offset=offset, live="sse", headers=host.headers
    ) as response:
        for each in response.iter_events(mode="json"):
            events += each.data
            if events[-1]["type"] == "RUN_FINISHED" or len(events) == most:
                return events, each.next_offset
    raise AssertionError("the stream has no end")
