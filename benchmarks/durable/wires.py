"""How a client of each server starts a run, reads it, comes back, and asks what became of it.

An event becomes its place in the run, from 1, and an AG-UI event of its type and text, since the
checker compares those: what a server adds around them can differ from read to read.
"""

import json
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

Json = dict[str, Any]
Ask = tuple[str, str, Json]
"""Method, path, and what httpx's ``stream`` takes in addition."""
SUCCEEDED, FAILED = "succeeded", "failed"
FINISHED: Json = {"type": "RUN_FINISHED"}
ERROR: Json = {"type": "RUN_ERROR", "message": "lost"}


def text(delta: str) -> Json:
    return {"type": "TEXT_MESSAGE_CONTENT", "delta": delta}


def other(name: str) -> Json:
    return {"type": "CUSTOM", "name": name}


@dataclass
class Frame:
    """A server-sent event."""

    event: str
    data: Json
    id: str


@dataclass
class Run:
    """A run as its client knows it; ``id`` is empty until the server has named it."""

    thread: str
    id: str = ""


class Wire:
    """One server's."""

    name = ""
    statuses: dict[str, str] = {}

    def start(self, run: Run, message: str) -> Ask:
        raise NotImplementedError

    def named(self, frame: Frame) -> str:
        """The run's id, if this frame has it."""
        return ""

    def located(self, path: str) -> str:
        """The run's id, if the answer's Content-Location has it."""
        return ""

    def back(self, run: Run, after: int) -> Ask:
        """Read on after so many events."""
        raise NotImplementedError

    def look(self, run: Run) -> str:
        """The path of the run's status."""
        raise NotImplementedError

    def event(self, frame: Frame) -> tuple[int, Json] | None:
        """The place and the event; 0 for the place after the last one."""
        raise NotImplementedError


class ThisHost(Wire):
    name = "host"
    statuses = {name: name for name in ("succeeded", "failed", "cancelled", "interrupted")}

    def start(self, run: Run, message: str) -> Ask:
        body = {
            "threadId": run.thread, "runId": str(uuid4()), "messages": [], "tools": [],
            "context": [], "state": {}, "forwardedProps": {"script": json.loads(message)},
        }  # fmt: skip
        return "POST", "/agui/agent/scripted/run", {"json": body}

    def located(self, path: str) -> str:
        return path.split("/")[-2] if path else ""

    def back(self, run: Run, after: int) -> Ask:
        headers = {"accept": "text/event-stream"}
        path = f"/api/v1/runs/{run.id}/events"
        return "GET", path, {"params": {"after": after}, "headers": headers}

    def look(self, run: Run) -> str:
        return f"/api/v1/runs/{run.id}"

    def event(self, frame: Frame) -> tuple[int, Json] | None:
        if not frame.id:
            return None
        data = frame.data
        match data["type"]:
            case "TEXT_MESSAGE_CONTENT":
                return int(frame.id), text(data["delta"])
            case "RUN_FINISHED":
                return int(frame.id), FINISHED
            case "RUN_ERROR":
                return int(frame.id), ERROR
        return int(frame.id), other(data["type"])


class AgentServer(Wire):
    name = "AgentServer"
    statuses = {"completed": SUCCEEDED, "failed": FAILED, "cancelled": "cancelled"}

    def start(self, run: Run, message: str) -> Ask:
        body = {"model": "scripted", "input": message, "stream": True, "background": True}
        return "POST", "/responses", {"json": {**body, "store": True}}

    def named(self, frame: Frame) -> str:
        return str(frame.data.get("response", {}).get("id", ""))

    def back(self, run: Run, after: int) -> Ask:
        params = {"stream": "true"} | ({"starting_after": str(after - 1)} if after else {})
        return "GET", f"/responses/{run.id}", {"params": params}

    def look(self, run: Run) -> str:
        return f"/responses/{run.id}"

    def event(self, frame: Frame) -> tuple[int, Json] | None:
        if "sequence_number" not in frame.data:
            return None
        seq, kind = int(frame.data["sequence_number"]) + 1, frame.data["type"]
        if kind == "response.output_text.delta":
            return seq, text(frame.data["delta"])
        ends = {"response.completed": FINISHED, "response.failed": ERROR}
        return seq, ends.get(kind, other(kind))


class Dbos(Wire):
    name = "DBOS"
    statuses = {"SUCCESS": SUCCEEDED, "ERROR": FAILED, "CANCELLED": "cancelled"}

    def start(self, run: Run, message: str) -> Ask:
        run.id = str(uuid4())
        return "POST", f"/runs/{run.id}", {"content": message, "params": {"exactly": 1}}

    def back(self, run: Run, after: int) -> Ask:
        return "GET", f"/runs/{run.id}/events", {"params": {"after": after}}

    def look(self, run: Run) -> str:
        return f"/runs/{run.id}"

    def event(self, frame: Frame) -> tuple[int, Json] | None:
        if frame.event == "end":
            return 0, FINISHED
        return int(frame.id), text(frame.data["delta"])


class Agno(Wire):
    name = "Agno"
    statuses = {"COMPLETED": SUCCEEDED, "ERROR": FAILED, "CANCELLED": "cancelled"}

    def start(self, run: Run, message: str) -> Ask:
        form = {"message": message, "stream": "true", "background": "true"}
        return "POST", "/agents/scripted/runs", {"data": {**form, "session_id": run.thread}}

    def named(self, frame: Frame) -> str:
        return str(frame.data.get("run_id", ""))

    def back(self, run: Run, after: int) -> Ask:
        form = {"session_id": run.thread} | ({"last_event_index": str(after - 1)} if after else {})
        return "POST", f"/agents/scripted/runs/{run.id}/resume", {"data": form}

    def look(self, run: Run) -> str:
        return f"/agents/scripted/runs/{run.id}?session_id={run.thread}"

    def event(self, frame: Frame) -> tuple[int, Json] | None:
        if "event_index" not in frame.data:
            return None
        seq = int(frame.data["event_index"]) + 1
        if frame.event == "RunContent":
            return seq, text(str(frame.data["content"]))
        ends = {"RunCompleted": FINISHED, "RunError": ERROR}
        return seq, ends.get(frame.event, other(frame.event))


class Aegra(Wire):
    name = "Aegra"
    statuses = {"success": SUCCEEDED, "error": FAILED, "interrupted": "interrupted"}

    def start(self, run: Run, message: str) -> Ask:
        body = {
            "assistant_id": "scripted", "input": {"message": message}, "stream_mode": "custom",
            "on_disconnect": "continue",
        }  # fmt: skip
        return "POST", f"/threads/{run.thread}/runs/stream", {"json": body}

    def named(self, frame: Frame) -> str:
        return str(frame.data.get("run_id", ""))

    def back(self, run: Run, after: int) -> Ask:
        number = 2 * after - 1 if after else 0
        headers = {"last-event-id": f"{run.id}_event_{number}"}
        return "GET", f"/threads/{run.thread}/runs/{run.id}/stream", {"headers": headers}

    def look(self, run: Run) -> str:
        return f"/threads/{run.thread}/runs/{run.id}"

    def event(self, frame: Frame) -> tuple[int, Json] | None:
        if "_event_" not in frame.id:
            return None
        # It gives every second number to an event of one mode.
        seq = (int(frame.id.rsplit("_", 1)[1]) + 1) // 2
        if frame.event == "custom":
            return seq, text(frame.data["delta"])
        if frame.event in ("end", "error"):
            return seq, FINISHED if frame.data.get("status") == "success" else ERROR
        return seq, other(frame.event)


WIRES: dict[str, Wire] = {
    wire.name: wire for wire in (ThisHost(), AgentServer(), Dbos(), Agno(), Aegra())
}
