"""The wires by which a client can follow a run, and what each of its readers was told.

``rounds.py`` reads the stream of a run and the socket of many runs. Here are the other wires: the
texts and ends of all are compared with the log's, and the stored events event by event.
"""

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from websockets.exceptions import ConnectionClosedOK
from websockets.sync.client import connect

from tests.acceptance.host import Host

Json = dict[str, Any]
SILENCE = 120
SSE, LINES = {"accept": "text/event-stream"}, {"accept": "application/x-ndjson"}
AFTER_NOTHING = SSE | {"last-event-id": "0"}
ENDS = {
    "finish": "RUN_FINISHED",
    "error": "RUN_ERROR",
    "response.completed": "RUN_FINISHED",
    "response.failed": "RUN_ERROR",
    "TASK_STATE_COMPLETED": "RUN_FINISHED",
    "TASK_STATE_INPUT_REQUIRED": "RUN_FINISHED",
    "TASK_STATE_FAILED": "RUN_ERROR",
}
"""The end of a run by its name on a wire."""


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
        [ENDS[chunk["type"]] for chunk in chunks if chunk["type"] in ENDS],
    )


def of_openai(frames: Iterable[Json]) -> Told:
    events = list(frames)
    numbers = [event["sequence_number"] for event in events]
    assert numbers == sorted(set(numbers)), "in order, nothing twice"
    return Told(
        [event["delta"] for event in events if event["type"] == "response.output_text.delta"],
        [ENDS[event["type"]] for event in events if event["type"] in ENDS],
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
        if status.get("state") in ENDS:
            ends.append(ENDS[status["state"]])
    return Told(pieces, ends)


def numbered(lines: Iterable[Json]) -> list[Json]:
    """The events of lines with a cursor, each of which is the event's number in the log."""
    envelopes = list(lines)
    assert [int(line["id"]) for line in envelopes] == list(range(1, len(envelopes) + 1))
    return [line["chunk"] for line in envelopes]


class Wire(NamedTuple):
    """How a client follows a run, and how it reads the frames that it gets."""

    address: Callable[[Json], str]
    headers: Json
    account: Callable[[Iterable[Json]], Told] = told_by
    log: Callable[[Iterable[Json]], list[Json]] | None = None
    """The stored events, of a wire that carries them."""


WIRES = {
    "TanStack AI": Wire(
        lambda run: f"/agui/agent/{run['agent']}/run?offset=-1&runId={run['run_id']}",
        LINES,
        of_tanstack,
        numbered,
    ),
    "Durable Streams": Wire(
        lambda run: f"/api/v1/runs/{run['id']}/stream?offset=-1&live=sse", SSE, log=list
    ),
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
            for frame in frames_of(answer.iter_lines()):
                self.frames.append(frame)

    @property
    def reading(self) -> Told:
        return WIRES[self.name].account(self.frames)

    @property
    def log(self) -> list[Json] | None:
        """The events of the log, if its wire carries them."""
        of_wire = WIRES[self.name].log
        return of_wire(self.frames) if of_wire else None


class Bare(Follower):
    """The socket of one run, which brings bare events."""

    def run(self) -> None:
        url = self.host.url.replace("http", "ws") + f"/ws/runs/{self.wanted_run['id']}/?after=0"
        # This process is no judge of silence: hundreds of its threads wait for each other.
        opening = connect(url, additional_headers=self.host.headers, ping_interval=None)
        with opening as socket, suppress(ConnectionClosedOK):
            while True:
                self.frames.append(json.loads(socket.recv(SILENCE)))

    @property
    def reading(self) -> Told:
        return told_by(self.frames)

    @property
    def log(self) -> list[Json]:
        return self.frames


SOCKET = "the socket of one run"
NAMES = (*WIRES, SOCKET)
LATER = ("Alpine", "AI SDK", "OpenAI Responses")
"""Wires that translate events, and on which a reader that comes after the end gets all of them."""


def follow(host: Host, run: Json) -> list[Follower]:
    """A reader on each wire."""
    return [*(Follower(host, run, name) for name in WIRES), Bare(host, run, SOCKET)]


def check(followers: Iterable[Follower], log: list[Json]) -> None:
    """Each was told every piece of the log's text, once and in order, and one end.

    A wire that carries the stored events brought all of them, and nothing else. On those that
    translate them, a reader that comes now gets the same frames.
    """
    truth = told_by(log)
    for follower in followers:
        follower.join(30)
        assert not follower.is_alive(), (follower.name, "its stream ends")
        pieces, ends = follower.reading
        # Deltas can be cut or put together on the way, never lost, doubled or moved.
        assert "".join(pieces) == "".join(truth.pieces), follower.name
        assert ends == truth.ends, follower.name
        assert follower.log in (None, log), follower.name
        if follower.name in LATER:
            later = Follower(follower.host, follower.wanted_run, follower.name)
            later.join(30)
            frames = together(later.frames)
            if follower.name == "AI SDK" and ends == ["RUN_ERROR"]:
                assert frames.pop() == {"type": "finish"}, "its client comes back for it"
            assert frames == together(follower.frames), follower.name


def together(frames: Iterable[Json]) -> list[Json]:
    """Frames with the deltas of one part as one, and without the numbers that depend on this."""
    result: list[Json] = []
    for frame in frames:
        members = {key: frame[key] for key in frame if key not in ("sequence_number", "timestamp")}
        name = "content" if "content" in members else "delta"
        text = members.pop(name, None)
        same = bool(result) and {k: result[-1][k] for k in result[-1] if k != name} == members
        if isinstance(text, str) and same:
            result[-1][name] += text
        else:
            result.append(members if text is None else members | {name: text})
    return result
