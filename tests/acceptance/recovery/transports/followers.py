"""One run over every wire that can follow it, and what each of its readers was told.

Wires with numbers of their own are read by ``rounds.py``; of the others this compares the texts and
the ends with the log's.
"""

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.acceptance.host import Host

Json = dict[str, Any]
SILENCE = 120
SSE, LINES = {"accept": "text/event-stream"}, {"accept": "application/x-ndjson"}
AFTER_NOTHING = SSE | {"last-event-id": "0"}


class Told(NamedTuple):
    """What a reader was told: the pieces of text in their order, and the ends."""

    pieces: list[str]
    ends: list[str]


def told_by(events: Iterable[Json]) -> Told:
    """What events of AG-UI tell, whatever carried them."""
    pieces, ends = [], []
    for event in events:
        if event["type"] == "TEXT_MESSAGE_CONTENT":
            pieces.append(event["delta"])
        elif event["type"] in ("RUN_FINISHED", "RUN_ERROR"):
            ends.append(event["type"])
    return Told(pieces, ends)


def of_tanstack(lines: Iterable[Json]) -> Told:
    return told_by(line["chunk"] for line in lines)


def of_alpine(frames: Iterable[Json]) -> Told:
    return told_by(
        {"type": str(frame["type"]).upper(), "delta": frame.get("content")} for frame in frames
    )


def of_ai_sdk(frames: Iterable[Json]) -> Told:
    chunks = list(frames)
    return Told(
        [chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta"],
        ["RUN_FINISHED" for chunk in chunks if chunk["type"] == "finish"],
    )


def of_openai(frames: Iterable[Json]) -> Told:
    events = list(frames)
    numbers = [event["sequence_number"] for event in events]
    assert numbers == sorted(set(numbers)), "in order, nothing twice"
    return Told(
        [event["delta"] for event in events if event["type"] == "response.output_text.delta"],
        ["RUN_FINISHED" for event in events if event["type"] == "response.completed"],
    )


def of_a2a(frames: Iterable[Json]) -> Told:
    """The task so far, then what is added to its artifacts."""
    pieces: list[str] = []
    ends: list[str] = []
    for frame in frames:
        if task := frame.get("task"):
            artifacts = task.get("artifacts", [])
        else:
            artifacts = [frame["artifactUpdate"]["artifact"]] if "artifactUpdate" in frame else []
        pieces += [part["text"] for each in artifacts for part in each["parts"] if "text" in part]
        status = (frame.get("statusUpdate") or frame.get("task") or {}).get("status", {})
        if status.get("state") == "TASK_STATE_COMPLETED":
            ends.append("RUN_FINISHED")
    return Told(pieces, ends)


class Wire(NamedTuple):
    """How a client follows a run, and how it reads the frames that it gets."""

    address: Callable[[Json], str]
    headers: Json
    account: Callable[[Iterable[Json]], Told] = told_by


WIRES = {
    "TanStack AI": Wire(
        lambda run: f"/agui/agent/{run['agent']}/run?offset=-1&runId={run['run_id']}",
        LINES,
        of_tanstack,
    ),
    "Durable Streams": Wire(lambda run: f"/api/v1/runs/{run['id']}/stream?offset=-1&live=sse", SSE),
    "Alpine": Wire(lambda run: f"/runs/{run['id']}/events", AFTER_NOTHING, of_alpine),
    "AI SDK": Wire(
        lambda run: f"/api/chat/{run['agent']}/{run['id']}/stream?startIndex=0", {}, of_ai_sdk
    ),
    "OpenAI Responses": Wire(
        lambda run: f"/v1/responses/resp_{run['id'].replace('-', '')}?stream=true", {}, of_openai
    ),
    "A2A": Wire(lambda run: f"/a2a/{run['agent']}/tasks/{run['id']}:subscribe", {}, of_a2a),
}


def frames_of(lines: Iterator[str]) -> Iterator[Json]:
    """The objects in the lines of a body: JSON lines, or the data of server-sent events."""
    kind = ""
    for line in lines:
        if line.startswith("event:"):
            kind = line[6:].strip()
        data = line[5:].strip() if line.startswith("data:") else line if line[:1] == "{" else ""
        if not data or data == "[DONE]" or kind == "control":
            continue
        content = json.loads(data)
        for frame in content if isinstance(content, list) else [content]:
            yield {"type": kind, **frame} if kind else frame


class Follower(threading.Thread):
    """Follows a run over one wire, in a thread, until the host ends the stream."""

    def __init__(self, host: Host, run: Json, name: str) -> None:
        super().__init__(daemon=True, name=name)
        self.host, self.wanted_run = host, run
        self.frames: list[Json] = []
        self.start()

    def run(self) -> None:
        wire = WIRES[self.name]
        address = wire.address(self.wanted_run)
        with (
            self.host.client() as client,
            client.stream("GET", address, headers=wire.headers, timeout=SILENCE) as answer,
        ):
            assert answer.status_code == 200, (self.name, answer.read())
            self.frames += frames_of(answer.iter_lines())

    @property
    def reading(self) -> Told:
        return WIRES[self.name].account(self.frames)


class Bare(Follower):
    """The socket of one run, which brings bare events."""

    def run(self) -> None:
        url = self.host.url.replace("http", "ws") + f"/ws/runs/{self.wanted_run['id']}/?after=0"
        with connect(url, additional_headers=self.host.headers) as socket:
            try:
                while True:
                    self.frames.append(json.loads(socket.recv(SILENCE)))
            except ConnectionClosed:
                pass

    @property
    def reading(self) -> Told:
        return told_by(self.frames)


SOCKET = "the socket of one run"
NAMES = (*WIRES, SOCKET)


def follow(host: Host, run: Json) -> list[Follower]:
    """A reader on each wire."""
    return [*(Follower(host, run, name) for name in WIRES), Bare(host, run, SOCKET)]


def check(followers: Iterable[Follower], log: Iterable[Json]) -> None:
    """Each was told every piece of the log's text, once and in order, and one end."""
    truth = told_by(log)
    assert truth.ends == ["RUN_FINISHED"]
    for follower in followers:
        follower.join(30)
        pieces, ends = follower.reading
        # Deltas can be cut or put together on the way, never lost, doubled or moved.
        assert "".join(pieces) == "".join(truth.pieces), follower.name
        assert ends == truth.ends, follower.name
