"""The stock clients of Durable Streams, from npm and PyPI, read runs of this host."""

import json
from typing import Any

import durable_streams
import httpx

from tests.acceptance.host import Host
from tests.conformance.node import ready_packages, run_node

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


def test_the_javascript_client(packages: None, host: Host) -> None:
    """Live by SSE and by long-poll, from the middle, from now, and as one page."""
    ended = long(host)
    runs = {name: slow(host) for name in ("sse", "long-poll", "now")}
    runs |= dict.fromkeys(("page", "middle", "end by sse", "end by long-poll"), ended)
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
    plan = [
        {"name": name, "url": url_of(host, runs[name]), "offset": offset, "live": live}
        for name, (offset, live) in reads.items()
    ]
    script = str(ready_packages() / "durable-streams.mjs")
    done = run_node([script], json.dumps({"headers": host.headers, "reads": plan}))
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    for name, run in runs.items():
        log = log_of(host, run)
        assert seen[name]["closed"] is True, name
        assert seen[name]["offset"] == f"{len(log):016d}", name
        assert seen[name]["head"]["contentType"] == "application/json"
        skipped = {"middle": 1_000, "end by sse": len(log), "end by long-poll": len(log)}
        expected = log[skipped.get(name, 0) :]
        if name == "now":  # it was somewhere in the middle when the reader came
            expected = log[len(log) - len(seen[name]["events"]) :]
        assert seen[name]["events"] == expected, name


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
    seen = []
    for mode in ("long-poll", "sse"):
        with durable_streams.stream(
            url_of(host, live), offset="-1", live=mode, headers=host.headers
        ) as response:
            seen = []
            for event in response.iter_json():
                seen.append(event)
                if event["type"] == "RUN_FINISHED":
                    break
        assert seen == log_of(host, live)
    head = httpx.head(url_of(host, live), headers=host.headers)
    assert head.headers["stream-closed"] == "true"
