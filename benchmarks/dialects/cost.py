"""What a dialect costs: its first frame and its replay, each as a multiple of AG-UI's.

First frame: from the request that starts a run to the first frame of its stream; the clients take
turns, so that what else the machine does hits all of them. Replay: a live run of 10,000 events read
from its beginning by one reader, which counts frames and parses nothing; MCP and A2A have no frame
for each event, so their answer is divided by the events that it holds.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx

from benchmarks.report import keep, percentile
from tests.acceptance.host import Host
from tests.conftest import own_data_dir

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "40"))
EVENTS = int(os.environ.get("BENCH_EVENTS", "10000"))
REPLAYS = 3
LAST, END = "last", b"1 last"
"""The log repeats its run's script, where this text has no number."""
FIRST_AT_MOST, REPLAY_AT_LEAST = 1.2, 0.5
Json = dict[str, Any]


class Wire(NamedTuple):
    """How a client starts a run, and how it reads one from the beginning; None for what it cannot.

    ``frame`` begins each of its frames.
    """

    name: str
    starts: Callable[[Json], tuple[str, Json, Json]] | None
    replays: Callable[[Json], tuple[str, str, Json]] | None
    frame: bytes = b"data: "


def hi(**members: Any) -> Json:
    return {"id": "u", "role": "user", **members}


AGENT = "scripted"
SSE, LINES = {"accept": "text/event-stream"}, {"accept": "application/x-ndjson"}
FROM_ZERO = SSE | {"last-event-id": "0"}
"""With a cursor a reader gets the log; without one, snapshots of a live run."""
AGUI = "/agui/agent/scripted/run"
WIRES = (
    Wire(
        "AG-UI",
        lambda props: (AGUI, {"messages": [hi(content="x")], **props}, SSE),
        lambda run: ("GET", f"/api/v1/runs/{run['id']}/events", FROM_ZERO),
    ),
    Wire(
        "TanStack AI, lines",
        lambda props: (AGUI, {"messages": [hi(content="x")], **props}, LINES),
        lambda run: ("GET", f"{AGUI}?offset=-1&runId={run['run_id']}", LINES),
        b'{"id":',
    ),
    Wire(
        "AI SDK",
        lambda props: (
            "/api/chat/scripted",
            {"id": f"t{time.monotonic_ns()}", "messages": [hi(parts=[TEXT])], **props},
            {},
        ),
        lambda run: ("GET", f"/api/chat/scripted/{run['thread_id']}/stream", {}),
    ),
    Wire(
        "OpenAI Responses",
        lambda props: ("/v1/responses", {"model": AGENT, "input": "x", "stream": True} | props, {}),
        lambda run: ("GET", f"/v1/responses/resp_{run['id'].replace('-', '')}?stream=true", {}),
    ),
    Wire(
        "OpenAI Chat Completions",
        lambda props: (
            "/v1/chat/completions",
            {"model": AGENT, "messages": [{"role": "user", "content": "x"}], "stream": True}
            | props,
            {},
        ),
        None,
    ),
    Wire(
        "A2A",
        lambda props: (
            "/a2a/scripted/message:stream",
            {
                "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}
                | {"metadata": props}
            },
            {},
        ),
        lambda run: ("GET", f"/a2a/scripted/tasks/{run['id']}:subscribe", {}),
    ),
    Wire("Alpine", None, lambda run: ("GET", f"/runs/{run['id']}/events", FROM_ZERO)),
    Wire(
        "Durable Streams",
        None,
        lambda run: ("GET", f"/api/v1/runs/{run['id']}/stream?offset=-1&live=sse", {}),
        b'"type":"TEXT_MESSAGE_CONTENT"',
    ),
)
TEXT = {"type": "text", "text": "x"}


def first_frame(client: httpx.Client, wire: Wire) -> float:
    """Seconds to the first frame of a new run, which is then read to its end."""
    assert wire.starts
    url, body, headers = wire.starts({"forwardedProps": {"script": [{"text": "Hi."}]}})
    received, began, first = b"", time.perf_counter(), 0.0
    with client.stream("POST", url, json=body, headers=headers) as answer:
        assert answer.status_code == 200, answer.read()
        for piece in answer.iter_raw():
            received += piece
            if not first and wire.frame in received:
                first = time.perf_counter() - began
    assert first, (wire.name, received)
    return first


def frames_per_second(client: httpx.Client, wire: Wire, run: Json) -> float:
    """How many of a run's events a reader gets in a second."""
    assert wire.replays
    method, url, headers = wire.replays(run)
    count, tail, began = 0, b"", time.perf_counter()
    with client.stream(method, url, headers=headers) as answer:
        assert answer.status_code == 200, answer.read()
        for piece in answer.iter_raw():
            count += piece.count(wire.frame)
            tail = tail[-len(END) :] + piece
            if END in tail:
                break
    seconds = time.perf_counter() - began
    # A whole task is one frame.
    return (EVENTS if wire.name == "A2A" else count) / seconds


@contextmanager
def live_run(host: Host, client: httpx.Client) -> Iterator[Json]:
    """A run whose log has ``EVENTS`` pieces of text and does not end."""
    script = [{"text": "word", "n": EVENTS}, {"text": LAST, "n": 2}, {"forever": True}]
    run = host.begin(AGENT, script)
    while host.run(run["id"])["events"] < EVENTS + 4:
        time.sleep(0.2)
    yield run
    client.post(f"/api/v1/runs/{run['id']}/cancel", json={})


def measure(host: Host) -> list[str]:
    with host.client() as client:
        starting = [wire for wire in WIRES if wire.starts]
        firsts: dict[str, list[float]] = {wire.name: [] for wire in starting}
        for round_ in range(ROUNDS + 3):
            for wire in starting:
                seconds = first_frame(client, wire)
                if round_ >= 3:
                    firsts[wire.name].append(seconds)
        rates: dict[str, list[float]] = {wire.name: [] for wire in WIRES if wire.replays}
        with live_run(host, client) as run:
            for _ in range(REPLAYS):
                for wire in WIRES:
                    if wire.replays:
                        rates[wire.name].append(frames_per_second(client, wire, run))
    return report(firsts, rates)


def report(firsts: dict[str, list[float]], rates: dict[str, list[float]]) -> list[str]:
    base = percentile(firsts["AG-UI"], 0.5)
    lines = [f"first frame of a new run, p50 of {ROUNDS}, and as a multiple of AG-UI's:"]
    for name, seconds in firsts.items():
        share = percentile(seconds, 0.5) / base
        p95 = percentile(seconds, 0.95) * 1000
        verdict = "" if share <= FIRST_AT_MOST else f"  more than {FIRST_AT_MOST}"
        lines.append(
            f"  {name:24} {percentile(seconds, 0.5) * 1000:7.1f} ms"
            f" (p95 {p95:.1f}) {share:6.2f}{verdict}"
        )
    base = percentile(rates["AG-UI"], 0.5)
    lines.append(f"replay of {EVENTS:,} events, p50 of {REPLAYS}, and as a share of AG-UI's:")
    for name, each in rates.items():
        rate = percentile(each, 0.5)
        verdict = "" if rate / base >= REPLAY_AT_LEAST else f"  less than {REPLAY_AT_LEAST}"
        lines.append(f"  {name:24} {rate:10,.0f} frames/s {rate / base:6.2f}{verdict}")
    return lines


def main() -> None:
    limits = {"EVENTS_PER_SECOND": "0", "CONCURRENT_RUNS": "0", "RUNS_PER_MINUTE": "0"}
    with own_data_dir() as data:
        host = Host(data, **{f"AGUI_LIMIT_{name}": value for name, value in limits.items()})
        try:
            host.start(fsync=True)
            keep("dialects", measure(host))
        finally:
            host.stop()


if __name__ == "__main__":
    print(json.dumps({"rounds": ROUNDS, "events": EVENTS}))
    main()
