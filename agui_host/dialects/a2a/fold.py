"""A2A's task: a run, and the runs that continue it with answers; each text is an artifact.

An agent of A2A is opaque: its clients see a task's state, its questions and its results, so tools,
reasoning and state have no place here.
"""

from typing import Any

from agui_host.protocol.fold.account import CORRECTION
from agui_host.protocol.part_kinds import TEXT
from agui_host.protocol.wire.deltas import Part
from agui_host.protocol.wire.durations import timestamp_of
from agui_host.protocol.wire.fold import Event, Frame, RuleFold
from agui_host.protocol.wire.room import Text, of_run

STATE = "TASK_STATE_"
AGENT, USER = "ROLE_AGENT", "ROLE_USER"
ENDED = frozenset({f"{STATE}COMPLETED", f"{STATE}FAILED", f"{STATE}CANCELED"})


class Task(RuleFold):
    """The fold of one task. Call ``next_run`` before the events of each further run."""

    def __init__(self, task_id: str, *, context: str = "") -> None:
        self._where = {"taskId": task_id, "contextId": context}
        self._status: Frame = {"state": f"{STATE}SUBMITTED"}
        self._history: dict[str, Frame] = {}
        self._room, self._past = of_run(task_id), of_run(task_id)
        self._artifacts: dict[str, Text] = {}
        self._open: set[str] = set()
        self._rules = {
            "RUN_STARTED": self._run_started,
            "RUN_FINISHED": self._run_finished,
            "RUN_ERROR": self._run_error,
            "TEXT_MESSAGE_START": self._text_start,
            "TEXT_MESSAGE_END": self._text_end,
            CORRECTION: self._corrected,
        }
        self._parts = {"TEXT_MESSAGE_CONTENT": self._text_part}

    @property
    def state(self) -> str:
        """The task's state, in A2A's words."""
        return str(self._status["state"])

    @property
    def wire(self) -> Frame:
        """The task so far."""
        artifacts = [
            {"artifactId": key, "parts": [{"text": written}]}
            for key, text in self._artifacts.items()
            if (written := str(text))
        ]
        return {
            "id": self._where["taskId"],
            "contextId": self._where["contextId"],
            "status": self._status,
            "artifacts": artifacts,
            "history": list(self._history.values()),
        }

    def next_run(self) -> None:
        """A run that continues the task waits for its turn; the question is history."""
        if question := self._status.get("message"):
            self._remember(question)
        self._status = {"state": f"{STATE}SUBMITTED"}

    # --- the run

    def _run_started(self, event: Event) -> list[Frame]:
        body = event.get("input") or {}
        brought = []
        for message in reversed(body.get("messages") or ()):
            if message["role"] != "user":
                break  # A client of AG-UI also sends earlier messages.
            brought.append(self._message(message["id"], USER, _parts(message.get("content"))))
        answers = [
            self._message(f"{entry['interruptId']}-answer", USER, [_answer(entry)])
            for entry in body.get("resume") or ()
        ]
        for message in [*reversed(brought), *answers]:
            if message["parts"]:
                self._remember(message)
        return [self._update(event, "WORKING")]

    def _run_finished(self, event: Event) -> list[Frame]:
        outcome = event.get("outcome") or {"type": "success"}
        if outcome["type"] == "cancelled":
            return [self._update(event, "CANCELED")]
        if questions := outcome.get("interrupts"):
            parts = [part for question in questions for part in _question(question)]
            key = f"{questions[0]['id']}-question"
            return [self._update(event, "INPUT_REQUIRED", self._message(key, AGENT, parts))]
        return [self._update(event, "COMPLETED")]

    def _run_error(self, event: Event) -> list[Frame]:
        key = f"{self._where['taskId']}-error"
        message = self._message(key, AGENT, [{"text": event["message"]}])
        return [self._update(event, "FAILED", message)]

    def _update(self, event: Event, state: str, message: Frame | None = None) -> Frame:
        self._status = {"state": STATE + state}
        if (stamp := timestamp_of(event.get("timestamp"))) is not None:
            self._status["timestamp"] = stamp
        if message is not None:
            self._status["message"] = message
        return _frame("statusUpdate", {**self._where, "status": self._status})

    def _message(self, key: str, role: str, parts: list[Frame]) -> Frame:
        return {"messageId": key, **self._where, "role": role, "parts": parts}

    def _remember(self, message: Frame) -> None:
        if parts := self._past.value(message["parts"]):
            parts = [{"text": parts}] if isinstance(parts, str) else parts
            self._history[message["messageId"]] = {**message, "parts": parts}

    # --- texts

    def _text_start(self, event: Event) -> list[Frame]:
        if event.get("role", "assistant") == "assistant":
            self._open.add(event["messageId"])
            self._artifacts.setdefault(event["messageId"], Text(self._room))
        return []

    def _text_part(self, event: Event) -> Part:
        key = event["messageId"]
        if key not in self._open:
            return Part()
        text = self._artifacts[key]
        return Part(lambda delta: self._piece(key, delta, append=text.began), text)

    def _text_end(self, event: Event) -> list[Frame]:
        key = event["messageId"]
        if key not in self._open:
            return []
        self._open.remove(key)
        began = self._artifacts[key].began
        return [self._piece(key, "", append=True, last=True)] if began else []

    def _corrected(self, event: Event) -> list[Frame]:
        """A text that a snapshot changed takes the place of its artifact."""
        key, now = event["id"], event["content"] or ""
        if event["kind"] != TEXT.start or key not in self._artifacts:
            return []
        self._artifacts[key].replace(now)
        return [self._piece(key, now, append=False, last=key not in self._open)]

    def _piece(self, key: str, text: str, *, append: bool, last: bool = False) -> Frame:
        artifact = {"artifactId": key, "parts": [{"text": text}]}
        flags = {"append": append, "lastChunk": last}
        return _frame("artifactUpdate", {**self._where, "artifact": artifact, **flags})


def stream_response(frame: Frame) -> Frame:
    """A frame as it is sent: one member, named by its type."""
    return {frame["type"]: frame[frame["type"]]}


def _frame(name: str, value: Frame) -> Frame:
    return {"type": name, name: value}


def _question(question: Event) -> list[Frame]:
    """An interrupt for people, if it has a text, and for programs."""
    text = [{"text": question["message"]}] if question.get("message") else []
    return [*text, {"data": dict(question)}]


def _answer(entry: Event) -> Frame:
    if entry["status"] != "resolved":
        return {"text": "cancelled"}
    return {"data": entry.get("payload")}


def _parts(content: Any) -> list[Frame]:
    """The texts and addresses of a message; files that came as bytes are not sent back."""
    if isinstance(content, str):
        return [{"text": content}] if content else []
    parts: list[Frame] = []
    for part in content or ():
        if part["type"] == "text":
            parts.append({"text": part["text"]})
        elif "source" in part and part["source"]["type"] == "url":
            kind = part["source"].get("mimeType")
            named = {"mediaType": kind} if kind else {}
            parts.append({"url": part["source"]["value"], **named})
    return parts
