"""What the front ends of other dialects do with threads and runs, under the host's own rules."""

from typing import Any

from protocol.errors import Invalid
from protocol.input import run_agent_input
from protocol.input.run_agent_input import RunRequest
from runs.access import access, start
from runs.access.start import StartOutcome
from runs.lifecycle import history, lifecycle
from runs.models import ACTIVE, Interrupt, Run, Thread
from teams.authentication import Principal


def begin(
    principal: Principal, data: dict[str, Any], *, agent: str, key: str | None, digest: str
) -> StartOutcome:
    """Start from the RunAgentInput that a dialect made of its own request, which has that digest.

    Raises what ``start_run`` raises; Invalid for a result or an answer that nothing waits for.
    """
    access.require(principal, "run")
    request = run_agent_input.parse(data, agent=agent, digest=digest)
    results = [each["toolCallId"] for each in request.body["messages"] if each["role"] == "tool"]
    answers = [each["interruptId"] for each in request.body.get("resume", ())]
    if results or answers:  # The usual request costs no more than AG-UI's.
        if earlier := start.earlier(principal, key, digest):
            return StartOutcome(earlier, None, created=False)
        start.find_agent(principal, agent)
        thread = access.find_thread(principal, request.thread_id)
        _refuse_strays(thread, request, results, answers)
    return start.start_run(principal, request, key=key)


def _refuse_strays(
    thread: Thread | None, request: RunRequest, results: list[str], answers: list[str]
) -> None:
    """AG-UI's clients send whole histories; these bring only what was asked for."""
    if thread is None:
        messages = request.body["messages"]
        calls = {call["id"] for each in messages for call in each.get("toolCalls") or ()}
        results = [call for call in results if call not in calls]
    fold = history.current(thread.pk) if thread else None
    for call in results:
        if fold is None or fold.call_name(call) is None:
            raise Invalid(f"This conversation has no tool call {call}.", details={"call": call})
    rows = Interrupt.objects.of_one_thread().filter(thread=thread) if thread else None
    for answer in answers:
        if rows is None or not rows.filter(interrupt_id=answer).exists():
            message = f"This conversation has no question {answer}."
            raise Invalid(message, details={"interrupt": answer})


def active(principal: Principal, thread_id: str) -> list[Run]:
    """The runs of a thread that have not ended, oldest first; none for an unknown thread."""
    runs = access.visible(principal).filter(thread__thread_id=thread_id, status__in=ACTIVE)
    return list(runs.order_by("journal_id"))


def stop(principal: Principal, thread_id: str, *, run_id: str | None = None) -> int:
    """Cancel the active runs of a thread, or only that of ``run_id``; returns how many.

    Raises Forbidden, before anything is cancelled.
    """
    access.require(principal, "cancel")
    runs = [run for run in active(principal, thread_id) if run_id in (None, run.run_id)]
    for run in runs:
        access.require_for(principal, "cancel", run)
    # The newest first: when the running one ends, nothing that waits behind it may begin.
    for run in reversed(runs):
        lifecycle.cancel(run, principal)
    return len(runs)
