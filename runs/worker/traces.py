"""A run as OpenTelemetry's spans: its job, the agent's work, its steps and tool calls.

Names and attributes follow the conventions for generative AI (``invoke_agent``, ``execute_tool``).
They are taken from the events as they are stored, so every kind of agent has them.
"""

import contextvars
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from agui_host.backends import tracing
from agui_host.backends.tracing import short
from agui_host.protocol import patient_json
from agui_host.protocol.encoding import Record
from runs.lifecycle import jobs
from runs.lifecycle.statuses import OUR_CODES, status_of
from runs.models import Run, Status

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer

MOST = 1_000
"""Spans of one run: an agent can have as many steps as it has events."""
USAGE = {
    "inputTokens": "gen_ai.usage.input_tokens",
    "outputTokens": "gen_ai.usage.output_tokens",
    "cachedInputTokens": "gen_ai.usage.cache_read.input_tokens",
    "cacheWriteInputTokens": "gen_ai.usage.cache_creation.input_tokens",
    "reasoningTokens": "gen_ai.usage.reasoning.output_tokens",
}

_running: "dict[UUID, Span]" = {}
"""The runs of this process, for the children that they start."""


def of(run: Run, traceparent: str | None) -> "RunTrace | None":
    """The trace of a claimed run; None while traces are off, or for an unsampled run.

    ``traceparent`` came with the run, and names the request that started it.
    """
    if (tracer := tracing.tracer()) is None:
        return None
    trace = RunTrace(tracer, run, traceparent)
    return trace if trace.is_recording else None


class RunTrace:
    """The open spans of one run. ``close`` it, whatever happens."""

    def __init__(self, tracer: "Tracer", run: Run, traceparent: str | None) -> None:
        self._tracer, self._run = tracer, run
        self._left, self._left_out = MOST, 0
        self._steps: dict[str, Span] = {}
        self._calls: dict[str, Span] = {}
        self._ends: dict[str, int] = {}
        self._job: Span | None = None
        above = self._above(traceparent)
        if run.parent_id is None:
            above = _inside(self._start_job(above))
        self._span = tracer.start_span(
            f"invoke_agent {run.agent.slug}",
            above,
            start_time=_nanoseconds(run.started_at),
            attributes={
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.id": str(run.agent_id),
                "gen_ai.agent.name": run.agent.slug,
                "gen_ai.conversation.id": short(run.thread.thread_id),
                **_ids(run),
            },
        )
        _running[run.pk] = self._span

    @property
    def is_recording(self) -> bool:
        """Whether anybody will see it; an unsampled one is closed at once."""
        if not (recording := self._span.is_recording()):
            self.close()
        return recording

    def around_agent(self) -> contextvars.Context:
        """The context of the agent's task, so that its libraries' spans are the run's."""
        from opentelemetry.context import attach

        context = contextvars.copy_context()
        context.run(attach, _inside(self._span))
        return context

    def note(self, records: Sequence[Record]) -> None:
        """Take records that are appended."""
        for record in records:
            if (handle := HANDLERS.get(record.type)) is not None:
                handle(self, patient_json.loads(record.payload))

    def end(self, terminal: dict[str, Any]) -> None:
        """The run has ended, and that is stored."""
        from opentelemetry.trace import Status as SpanStatus
        from opentelemetry.trace import StatusCode

        status, code = status_of(terminal), terminal.get("code")
        self._span.set_attribute("agui.run.status", status.value)
        self._span.set_attributes(_usage(terminal.get("usage") or []))
        if status is Status.FAILED:
            kind = code if code in OUR_CODES else "other"
            self._span.set_attribute("error.type", str(kind))
            self._span.set_status(SpanStatus(StatusCode.ERROR))
        self.close()

    def close(self) -> None:
        """End open spans; idempotent. Without ``end``, another process has ended the run."""
        if _running.pop(self._run.pk, None) is None:
            return
        if self._left_out:
            self._span.set_attribute("agui.spans_left_out", self._left_out)
        for name, call in self._calls.items():
            call.end(self._ends.get(name))
        for step in self._steps.values():
            step.end()
        self._span.end()
        if self._job is not None:
            self._job.end()

    def _above(self, traceparent: str | None) -> "Context":
        parent = _running.get(self._run.parent_id) if self._run.parent_id else None
        return tracing.context_of(traceparent) if parent is None else _inside(parent)

    def _start_job(self, above: "Context") -> "Span":
        """From the run's start, so that the time before ``invoke_agent`` is that of waiting."""
        from opentelemetry.trace import SpanKind

        queue = jobs.queue_of(self._run.agent.queue)
        self._job = self._tracer.start_span(
            f"process {queue}",
            above,
            SpanKind.CONSUMER,
            {
                "messaging.system": "procrastinate",
                "messaging.operation.name": "process",
                "messaging.operation.type": "process",
                "messaging.destination.name": queue,
                **_ids(self._run),
            },
            start_time=_nanoseconds(self._run.created_at),
        )
        return self._job

    def _start(self, name: str, attributes: dict[str, str]) -> "Span | None":
        if not self._left:
            self._left_out += 1
            return None
        self._left -= 1
        outer = next(reversed(self._steps.values()), self._span)
        return self._tracer.start_span(name, _inside(outer), attributes=attributes)

    def _step_started(self, event: dict[str, Any]) -> None:
        name = event["stepName"]
        if span := self._start(f"step {short(name)}", {"agui.step.name": short(name)}):
            self._steps[name] = span

    def _step_finished(self, event: dict[str, Any]) -> None:
        if span := self._steps.pop(event["stepName"], None):
            span.end()

    def _call_started(self, event: dict[str, Any]) -> None:
        name, call = short(event["toolCallName"]), event["toolCallId"]
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": short(call),
        }
        if span := self._start(f"execute_tool {name}", attributes):
            self._calls[call] = span

    def _call_ended(self, event: dict[str, Any]) -> None:
        # Its result can follow; a call that a client answers has none in this run.
        if (call := event["toolCallId"]) in self._calls:
            self._ends[call] = time.time_ns()

    def _call_answered(self, event: dict[str, Any]) -> None:
        if span := self._calls.pop(event["toolCallId"], None):
            span.end()
            self._ends.pop(event["toolCallId"], None)


HANDLERS: dict[str, Callable[[RunTrace, dict[str, Any]], None]] = {
    "STEP_STARTED": RunTrace._step_started,
    "STEP_FINISHED": RunTrace._step_finished,
    "TOOL_CALL_START": RunTrace._call_started,
    "TOOL_CALL_END": RunTrace._call_ended,
    "TOOL_CALL_RESULT": RunTrace._call_answered,
}


def _inside(span: "Span") -> "Context":
    from opentelemetry.context import Context
    from opentelemetry.trace import set_span_in_context

    return set_span_in_context(span, Context())


def _ids(run: Run) -> dict[str, str]:
    return {"agui.run.id": str(run.pk), "agui.team.id": str(run.team_id)}


def _usage(entries: Sequence[dict[str, Any]]) -> dict[str, str | int]:
    """Sums of the usage of all models' calls, and the model if there was only one."""
    attributes: dict[str, str | int] = {}
    for field, attribute in USAGE.items():
        counts = [entry[field] for entry in entries if type(entry.get(field)) is int]
        if counts:
            attributes[attribute] = sum(counts)
    for field, attribute in (("model", "response.model"), ("provider", "provider.name")):
        names = {str(entry[field]) for entry in entries if entry.get(field)}
        if len(names) == 1:
            attributes[f"gen_ai.{attribute}"] = short(names.pop())
    return attributes


def _nanoseconds(moment: Any) -> int | None:
    return None if moment is None else int(moment.timestamp() * 1e9)
