"""Fold: adds up a log, event by event, to the view of a reader of all of it.

That is messages, state and open interrupts as the reducer of ``@ag-ui/client`` 1.0.0 builds them;
the open parts, for the prelude; the ids and the ending of the last run. A log can hold one run or
all runs of a thread.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agui_host.protocol import patient_json
from agui_host.protocol.deep_copy import deep_copy
from agui_host.protocol.fold.messages import Messages
from agui_host.protocol.fold.open_parts import ENDS, KEYS, OpenParts
from agui_host.protocol.patch import PatchFailed, apply
from agui_host.protocol.strict_json import dumps, dumps_any
from agui_host.protocol.violation import Event

QUESTIONS = frozenset({"on_interrupt"})
"""CUSTOM events by which adapters from before AG-UI 1.0 ask; only CopilotKit supports them."""
MOST_QUESTIONS = 32

FORMAT = 1
"""The format that ``dump`` writes; ``load`` rejects a checkpoint in any other format."""

UNSET: Any = object()


class Fold:
    """Feed it every event of a log (plain dicts, chunks expanded), in order.

    ``started`` is the last RUN_STARTED without its echoed input; ``terminal`` is the event that
    ended that run, if any. ``raised`` are RUN_STARTED and RUN_FINISHED of the run whose
    ``interrupts`` are still open. ``questions`` are CUSTOM events that ask something and are
    unanswered; a run that succeeds clears them, a failed or cancelled run does not. ``asking``
    are those of the live run.
    """

    def __init__(self, messages: Iterable[Event] = (), state: Any = UNSET) -> None:
        """``messages`` and ``state`` are the conversation before the first event."""
        self.started: dict[str, Any] | None = None
        self.terminal: Event | None = None
        self.raised: list[Event] = []
        self.questions: list[Event] = []
        self.asking: list[Event] = []
        self.parts = OpenParts()
        self._messages = Messages(messages)
        self._set_state({} if state is UNSET else state)
        self._state_known = state is not UNSET
        self._hot = {
            "TEXT_MESSAGE_CONTENT": self._messages.text,
            "TOOL_CALL_ARGS": self._messages.call_args,
            "REASONING_MESSAGE_CONTENT": self._messages.text,
            "REASONING_ENCRYPTED_VALUE": self._messages.encrypted,
            "ACTIVITY_SNAPSHOT": self._messages.activity,
            "ACTIVITY_DELTA": self._messages.activity_delta,
        }

    def feed(self, event: Event) -> None:
        """Take the next event. The fold can keep parts of it, and never changes them."""
        kind = event["type"]
        if (hot := self._hot.get(kind)) is not None:
            hot(event)
        elif (rule := self._rules.get(kind)) is not None:
            rule(self, event)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages, including partial ones."""
        return self._messages.wire()

    @property
    def state(self) -> Any:
        """The state; the fold never changes a state that it has returned."""
        self._state_shared = True
        return self._state

    @property
    def interrupts(self) -> list[dict[str, Any]]:
        """The interrupts that wait for an answer. Only a later RUN_FINISHED clears them."""
        return list(self.raised[-1]["outcome"]["interrupts"]) if self.raised else []

    @property
    def pending_tool_calls(self) -> list[str]:
        """The last run's calls without a result, from its ending or else from its events."""
        outcome = (self.terminal or {}).get("outcome") or {}
        return list(outcome.get("pendingToolCallIds") or ()) or self.parts.pending_tool_calls()

    @property
    def usage(self) -> list[dict[str, Any]]:
        """The usage that the last run reported, one entry per provider and model."""
        return list((self.terminal or {}).get("usage") or ())

    def has_message(self, message_id: str) -> bool:
        """Whether a message has this id."""
        return self._messages.holds(message_id)

    def call_name(self, call_id: str) -> str | None:
        """The name of a tool call; None if no message holds it."""
        call = self._messages.call(call_id)
        return None if call is None else call.function["name"]

    def dump(self) -> str:
        """The whole fold as text for ``load``: a JSON line for the run, the state, each message.

        One line at a time, because one large JSON value would hold the interpreter lock throughout.
        """
        run = {
            "format": FORMAT,
            "started": self.started,
            "terminal": self.terminal,
            "raised": self.raised,
            "questions": self.questions,
            "asking": self.asking,
            "parts": self.parts.dump(),
            "state_known": self._state_known,
        }
        return "\n".join(map(_line, (run, self._state, *self._messages.wire())))

    @classmethod
    def load(cls, text: str) -> "Fold":
        """Restore what ``dump`` wrote. Raises ValueError for another format."""
        head, state, *messages = text.split("\n")
        run = patient_json.loads(head)
        if run["format"] != FORMAT:
            raise ValueError(f"not a fold of format {FORMAT}")
        fold = cls(map(patient_json.loads, messages), patient_json.loads(state))
        fold.started, fold.terminal, fold.raised = run["started"], run["terminal"], run["raised"]
        fold.questions, fold.asking = run.get("questions", []), run.get("asking", [])
        fold.parts = OpenParts.load(run["parts"])
        fold._state_known = run["state_known"]
        return fold

    def _start(self, event: Event) -> None:
        self.parts.start(event)
        if (reduce := _REDUCERS.get(event["type"])) is not None:
            reduce(self._messages, event)

    def _end(self, event: Event) -> None:
        self.parts.end(event)
        if (reduce := _REDUCERS.get(event["type"])) is not None:
            reduce(self._messages, event)

    def _step_started(self, event: Event) -> None:
        self.parts.step_started(event)

    def _step_finished(self, event: Event) -> None:
        self.parts.step_finished(event)

    def _subagent(self, event: Event) -> None:
        self.parts.subagent(event)

    def _tool_call_result(self, event: Event) -> None:
        self.parts.result(event)
        self._messages.result(event)

    def _messages_snapshot(self, event: Event) -> None:
        self.parts.snapshot(event)
        self._messages.snapshot(event)

    def _state_snapshot(self, event: Event) -> None:
        self._set_state(event["snapshot"])

    def _set_state(self, state: Any) -> None:
        self._state, self._state_shared, self._state_known = state, True, True

    def _state_delta(self, event: Event) -> None:
        """Apply a patch; like every client, skip a patch that does not apply."""
        state = deep_copy(self._state) if self._state_shared else self._state
        try:
            self._state = apply(state, event["delta"])
        except PatchFailed:
            return
        self._state_shared, self._state_known = False, True

    def _run_started(self, event: Event) -> None:
        echoed = event.get("input") or {}
        self.started = {
            key: value for key, value in event.items() if key not in ("input", "rawEvent")
        }
        self.terminal = None
        self.asking = []
        self.parts = OpenParts()
        self.parts.begin(event)
        self._messages.add_unknown(echoed.get("messages") or ())
        # The client that sent this input holds its state already, and the first delta applies to
        # that.
        if not self._state_known and "state" in echoed:
            self._set_state(echoed["state"])

    def _run_finished(self, event: Event) -> None:
        self.terminal = event
        outcome = event.get("outcome") or {}
        interrupted = self.started is not None and outcome.get("type") == "interrupt"
        self.raised = [self.started or {}, event] if interrupted else []
        if self.asking or outcome.get("type") != "cancelled":
            self.questions = self.asking
        self.asking = []

    def _run_error(self, event: Event) -> None:
        self.terminal = event
        self.asking = []

    def _custom(self, event: Event) -> None:
        if event["name"] in QUESTIONS:
            question = {key: value for key, value in event.items() if key != "rawEvent"}
            self.asking = [*self.asking[1 - MOST_QUESTIONS :], question]

    # Functions rather than bound methods: without a reference cycle the fold's memory is freed with
    # it.
    _rules: Mapping[str, Callable[["Fold", Event], None]] = {
        **dict.fromkeys(KEYS, _start),
        **dict.fromkeys(ENDS, _end),
        "TOOL_CALL_RESULT": _tool_call_result,
        "MESSAGES_SNAPSHOT": _messages_snapshot,
        "STATE_SNAPSHOT": _state_snapshot,
        "STATE_DELTA": _state_delta,
        "STEP_STARTED": _step_started,
        "STEP_FINISHED": _step_finished,
        "SUBAGENT_STARTED": _subagent,
        "SUBAGENT_FINISHED": _subagent,
        "SUBAGENT_ERROR": _subagent,
        "RUN_STARTED": _run_started,
        "RUN_FINISHED": _run_finished,
        "RUN_ERROR": _run_error,
        "CUSTOM": _custom,
    }


def _line(value: Any) -> str:
    # ``dumps_any`` takes ten times as long, in which nothing else runs.
    try:
        return dumps(value)
    except ValueError:  # NaN, in a value that no intake has seen
        return dumps_any(value)


_REDUCERS: Mapping[str, Callable[[Messages, Event], None]] = {
    "TEXT_MESSAGE_START": Messages.text_start,
    "TEXT_MESSAGE_END": Messages.text_end,
    "REASONING_MESSAGE_START": Messages.reasoning_start,
    "REASONING_MESSAGE_END": Messages.text_end,
    "TOOL_CALL_START": Messages.call_start,
    "TOOL_CALL_END": Messages.call_end,
}
"""Effects of a START or END besides opening or closing; a reasoning span does nothing else."""
