"""Alpine's dialect: translates a run's stored events into the lower-case events of Alpine's spec.

It is a fold: step numbers, durations and the workflow's state depend on all earlier events, so each
reader's fold is fed from the start of the log, whatever the reader has already read. One event
becomes zero, one or several frames: plain objects with ``type``, ``runId`` and ``timestamp``.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from agui_host.dialects.alpine.asking import task_of, what_is_asked
from agui_host.dialects.alpine.schema import EXTENSION_OF, EXTENSIONS, SCHEMA_VERSION
from agui_host.protocol.deep_copy import deep_copy
from agui_host.protocol.errors import HostError
from agui_host.protocol.fold.account import SNAPSHOT, Account, events_of
from agui_host.protocol.patch import PatchFailed, apply
from agui_host.protocol.wire.deltas import Part
from agui_host.protocol.wire.durations import YEAR_10000, text_of, timestamp_of
from agui_host.protocol.wire.room import Text, of_run

Event = Mapping[str, Any]
Frame = dict[str, Any]
Step = tuple[Frame, int]
"""Its step_started, and when it began (epoch milliseconds)."""

CUSTOM_NAMES = frozenset({"feedback", "plan_modification", "agent_message", "resource"})
PREFIX = "alpine."
TOLD_OPS = frozenset({"add", "replace", "remove"})
MOST_FRAMES = 16_384
"""Of one event: a snapshot can bring thousands of messages."""
KEPT = ("runId", "timestamp", "messageId", "toolCallId", "agentId")


class Alpine:
    """The fold of one run. ``wants``: the extensions its reader understands."""

    def __init__(self, run_id: str, wants: Iterable[str] = EXTENSIONS) -> None:
        self._run_id = run_id
        self._wants = frozenset(wants)
        self._room = of_run(run_id)
        self._now = self._began = 0
        self._status = "running"
        self._started: Frame | None = None
        self._worktree = ""
        self._agent_state: Any = {}
        self._state_told = False
        self._count = 0
        self._last = ""
        self._account = Account()
        self._tag: Frame = {}
        self._owners: dict[tuple[str, str | None], str] = {}
        self._steps: dict[tuple[str | None, str], Step] = {}
        self._texts: dict[str, tuple[Frame, Text]] = {}
        self._calls: dict[str, tuple[Frame, Text]] = {}
        self._begun: set[str] = set()
        self._rules = {
            "RUN_STARTED": self._run_started,
            "RUN_FINISHED": self._run_finished,
            "RUN_ERROR": self._run_error,
            "STEP_STARTED": self._step_started,
            "STEP_FINISHED": self._step_finished,
            "TEXT_MESSAGE_START": self._text_start,
            "TEXT_MESSAGE_CONTENT": self._text_content,
            "TEXT_MESSAGE_END": self._text_end,
            "STATE_SNAPSHOT": self._state_snapshot,
            "STATE_DELTA": self._state_delta,
            "TOOL_CALL_START": self._call_start,
            "TOOL_CALL_ARGS": self._call_args,
            "TOOL_CALL_END": self._call_end,
            "TOOL_CALL_RESULT": self._call_result,
            "SUBAGENT_STARTED": self._agent_started,
            "SUBAGENT_FINISHED": self._agent_finished,
            "SUBAGENT_ERROR": self._agent_error,
            "CUSTOM": self._custom,
        }

    def feed(self, event: Event) -> list[Frame]:
        """The frames for the next event of the log."""
        self.move_to(event.get("timestamp", self._now))
        if event["type"] == SNAPSHOT:
            restated = self._account.restate(event)
            return list(islice((f for each in restated for f in self._fed(each)), MOST_FRAMES))
        frames: list[Frame] = []
        for each in events_of(event):
            self._account.take(each)
            frames += self._fed(each)
        return frames

    def _fed(self, event: Event) -> list[Frame]:
        self._tag = self._owner(event) if "multi_agent" in self._wants else {}
        rule = self._rules.get(event["type"])
        frames = rule(event) if rule else []
        return [f for f in frames if EXTENSION_OF.get(f["type"]) in (None, *self._wants)]

    def part(self, event: Event) -> Part | None:
        """None: each frame has the time of its event, which ``timeless`` leaves open."""
        return None

    def timeless(self, event: Event, frame: Frame, time: str) -> Part:
        """The form of a part's deltas, from one and its frame; ``time`` is for theirs."""
        parts = self._texts if event["type"] == "TEXT_MESSAGE_CONTENT" else self._calls
        _, text = parts.get(event.get("messageId") or event["toolCallId"], (None, None))
        heard = self._account.heard(event)
        return Part(lambda delta: {**frame, "timestamp": time, "content": delta}, text, heard)

    def move_to(self, stamp: int) -> None:
        """Take the time of the next event, in milliseconds."""
        if 0 <= stamp < YEAR_10000:  # agents can set it
            self._now = stamp

    @property
    def time(self) -> str:
        """The time of the newest event as its frames have it."""
        return timestamp_of(self._now) or ""

    def _owner(self, event: Event) -> Frame:
        """The owner of an event; a delta or an end can leave it to its START to name the owner."""
        name = "toolCallId" if event.get("toolCallId") else "messageId"
        part = name, event.get(name)  # A call and a message can have one id.
        owner = event.get("subagentRunId") or self._owners.get(part)
        if owner and part[1]:
            self._owners[part] = owner
        return {"agentId": owner} if owner else {}

    def opening(self) -> list[Frame]:
        """The frames for a reader that begins here: the run's start, state and open parts."""
        if self._started is None:
            return []
        self._tag = {}
        frames = [self._started, *self._state()]
        frames += [start for start, _ in self._steps.values()]
        for start, text in self._texts.values():
            frames += [start, _so_far(start, "text_message_content", text)]
        if "tool_calls" in self._wants:
            for start, arguments in self._calls.values():
                frames += [start, _so_far(start, "tool_call_args", arguments)]
        return frames

    def _frame(self, name: str, /, **members: Any) -> Frame:
        present = {key: value for key, value in members.items() if value is not None}
        stamp = timestamp_of(self._now)
        return {"type": name, "runId": self._run_id, "timestamp": stamp, **self._tag, **present}

    # --- the run

    def _run_started(self, event: Event) -> list[Frame]:
        self._began = self._now
        run_input = event.get("input") or {}
        self._agent_state = deep_copy(run_input.get("state") or {})
        task, plan_mode, self._worktree = task_of(run_input)
        metadata: Frame = {
            "task": task,
            "planMode": plan_mode,
            "schemaVersion": SCHEMA_VERSION,
            "capabilities": [name for name in EXTENSIONS if name in self._wants],
        }
        if self._worktree:
            metadata["worktreeDir"] = self._worktree
        self._started = self._frame("run_started", metadata=metadata)
        return [self._started]

    def _run_finished(self, event: Event) -> list[Frame]:
        outcome = event.get("outcome") or {"type": "success"}
        if outcome["type"] == "cancelled":
            return self._ended_badly("The run was cancelled.", "cancelled")
        interrupts = outcome.get("interrupts", ())
        self._status = "interrupted" if interrupts else "completed"
        result = {
            "status": self._status,
            "stepCount": self._count,
            "duration": text_of(self._now - self._began),
        }
        questions = [
            self._frame(name, **members) for name, members in map(what_is_asked, interrupts)
        ]
        return [*questions, self._frame("run_finished", result=result)]

    def _run_error(self, event: Event) -> list[Frame]:
        return self._ended_badly(event["message"], event.get("code"))

    def _ended_badly(self, message: str, code: str | None) -> list[Frame]:
        """Close the parts that a lost worker left open: its log could not."""
        self._status = "failed"
        closed = [
            self._frame("text_message_end", messageId=part, complete=False) for part in self._texts
        ]
        closed += [self._step_end(step, "failed") for step in self._steps.values()]
        error = {"message": message, "code": code, "step": self._count or None}
        present = {key: value for key, value in error.items() if value is not None}
        return [*closed, self._frame("run_error", error=present)]

    def refusal(self, error: HostError) -> Frame:
        """How a stream ends that the host cannot continue."""
        about = {"message": error.message, "code": error.code, **error.details}
        return self._frame("run_error", error=about)

    # --- steps

    def _step_started(self, event: Event) -> list[Frame]:
        self._count += 1
        name = self._last = event["stepName"]
        number = {"stepId": f"step-{self._count}", "stepNumber": self._count}
        frame = self._frame("step_started", **number, description=name)
        self._steps[event.get("subagentRunId"), name] = (frame, self._now)
        return [frame]

    def _step_finished(self, event: Event) -> list[Frame]:
        step = self._steps.pop((event.get("subagentRunId"), event["stepName"]), None)
        failed = (event.get("metadata") or {}).get("status") == "failed"
        return [self._step_end(step, "failed" if failed else "completed")] if step else []

    def _step_end(self, step: Step, status: str) -> Frame:
        start, began = step
        took = text_of(self._now - began)
        return self._frame("step_finished", stepId=start["stepId"], status=status, duration=took)

    # --- texts and tool calls

    def _new_text(self) -> Text:
        """A text for readers that join in its middle; texts are only held while they are open."""
        if not self._texts and not self._calls:
            self._room = of_run(self._run_id)
        return Text(self._room)

    def _text_start(self, event: Event) -> list[Frame]:
        source = "claude" if event.get("role", "assistant") == "assistant" else "alpine"
        frame = self._frame("text_message_start", messageId=event["messageId"], source=source)
        self._texts[event["messageId"]] = (frame, self._new_text())
        return [frame]

    def _text_content(self, event: Event) -> list[Frame]:
        key, delta = event["messageId"], event["delta"]
        if key in self._texts:
            self._texts[key][1].add(delta)
        return [self._frame("text_message_content", messageId=key, content=delta, delta=True)]

    def _text_end(self, event: Event) -> list[Frame]:
        self._texts.pop(event["messageId"], None)
        return [self._frame("text_message_end", messageId=event["messageId"], complete=True)]

    def _call_start(self, event: Event) -> list[Frame]:
        key = event["toolCallId"]
        frame = self._frame("tool_call_start", toolCallId=key, toolName=event["toolCallName"])
        self._calls[key] = (frame, self._new_text())
        # Chunks of something else can end a call in the middle; then it is begun again.
        is_new = key not in self._begun
        self._begun.add(key)
        return [frame] if is_new else []

    def _call_args(self, event: Event) -> list[Frame]:
        key, delta = event["toolCallId"], event["delta"]
        if key in self._calls:
            self._calls[key][1].add(delta)
        return [self._frame("tool_call_args", toolCallId=key, content=delta, delta=True)]

    def _call_end(self, event: Event) -> list[Frame]:
        self._calls.pop(event["toolCallId"], None)
        return [self._frame("tool_call_end", toolCallId=event["toolCallId"])]

    def _call_result(self, event: Event) -> list[Frame]:
        content = event["content"]
        if not isinstance(content, str):
            content = "".join(part.get("text", "") for part in content)
        ids = {key: event[key] for key in ("toolCallId", "messageId")}
        return [self._frame("tool_call_result", **ids, content=content)]

    # --- state

    def _state_snapshot(self, event: Event) -> list[Frame]:
        self._agent_state = deep_copy(event["snapshot"])
        return self._state()

    def _state_delta(self, event: Event) -> list[Frame]:
        """The patch itself if Alpine's three operations can express it; else the new state."""
        patch, before = event["delta"], self._state_told
        try:
            self._agent_state = apply(self._agent_state, patch)
        except PatchFailed:
            return []  # A stored delta applies, unless the run's input was too large to be echoed.
        plain = before and isinstance(self._agent_state, dict)
        plain &= all(step["op"] in TOLD_OPS and step["path"] for step in patch)
        if not plain or not patch:
            return self._state()
        operations = [
            {key: step[key] for key in ("op", "path", "value") if key in step} for step in patch
        ]
        return [self._frame("state_delta", delta=operations)]

    def _state(self) -> list[Frame]:
        """The workflow's five members, overridden by the agent's own state."""
        self._state_told = True
        own = self._agent_state if isinstance(self._agent_state, dict) else {}
        known = {
            "status": self._status,
            "currentStep": self._count,
            "stepDescription": self._last,
            "nextStepPrompt": "",
            "workingDirectory": self._worktree,
        }
        kinds = {name: type(value) for name, value in known.items()}
        fits = {
            key: value for key, value in own.items() if isinstance(value, kinds.get(key, object))
        }
        extra = {} if own is self._agent_state else {"value": self._agent_state}
        state = deep_copy({**known, **fits, **extra})  # patches change ours in place
        return [self._frame("state_snapshot", state=state)]

    # --- other agents, and events without their own name

    def _agent_started(self, event: Event) -> list[Frame]:
        return [
            self._frame(
                "agent_started",
                agentId=event["subagentRunId"],
                name=event["name"],
                description=event.get("description"),
                parentAgentId=event.get("parentSubagentRunId"),
            )
        ]

    def _agent_finished(self, event: Event) -> list[Frame]:
        suspended = (event.get("outcome") or {}).get("type") == "suspended"
        status = "suspended" if suspended else "completed"
        members = {"agentId": event["subagentRunId"], "status": status}
        return [self._frame("agent_finished", **members, result=event.get("result"))]

    def _agent_error(self, event: Event) -> list[Frame]:
        error = {key: event[key] for key in ("message", "code") if event.get(key) is not None}
        return [self._frame("agent_error", agentId=event["subagentRunId"], error=error)]

    def _custom(self, event: Event) -> list[Frame]:
        name, value = event["name"].removeprefix(PREFIX), event["value"]
        if name in CUSTOM_NAMES:
            return [{**self._frame(name), "value": value}]
        return [{**self._frame("custom", name=event["name"]), "value": value}]


def _so_far(start: Frame, name: str, text: Text) -> Frame:
    members = {key: start[key] for key in KEPT if key in start}
    return {"type": name, **members, "content": str(text), "delta": False}
