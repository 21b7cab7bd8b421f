"""Actions of other dialects' front ends on threads and runs, under the host's own rules."""

from dataclasses import replace
from typing import Any

from agui_host.backends import work
from agui_host.protocol.errors import Invalid
from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.input import run_agent_input
from agui_host.protocol.input.run_agent_input import OnBusy, RunRequest
from agui_host.protocol.wire.room import characters
from agui_host.teams.authentication import Principal
from agui_host.teams.limits import refuse_work
from runs.access import access, comments, start, threads
from runs.access.start import StartOutcome
from runs.lifecycle import history, interrupts, lifecycle
from runs.lifecycle.steering.messages import LONGEST, LONGEST_ID, RunEnded
from runs.models import Interrupt, InterruptStatus, Run, Thread


def begin(
    principal: Principal,
    data: dict[str, Any],
    *,
    agent: str,
    key: str | None,
    digest: str,
    chat: bool = False,
) -> StartOutcome:
    """Start from the RunAgentInput that a dialect made of its request, which has that digest.

    ``chat``: a message counts as its sender's next turn (``Agent.on_busy_chat``). Raises what
    ``start_run`` raises; Invalid for a result or an answer that nothing waits for.
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
        if thread is None and (home := _home(principal, answers)):
            data = {**data, "threadId": home.thread_id}
            request, thread = run_agent_input.parse(data, agent=agent, digest=digest), home
        _refuse_strays(principal, thread, request, results, answers)
    elif chat and request.on_busy is None:
        return _next_turn(principal, request, key)
    return start.start_run(principal, request, key=key)


def _next_turn(principal: Principal, request: RunRequest, key: str | None) -> StartOutcome:
    """Start; if that has to wait for runs of the same principal, the agent's setting decides."""
    try:
        return start.start_run(principal, replace(request, on_busy=OnBusy.REJECT), key=key)
    except lifecycle.ThreadBusy:
        running = threads.active(principal, request.thread_id)
        policy = start.policy_of_chat(principal, request, running)
        return start.start_run(principal, replace(request, on_busy=policy), key=key)


def _home(principal: Principal, answers: list[str]) -> Thread | None:
    """The thread whose open questions these answer, if there is one: a question's id names it."""
    names = [interrupts.storable(name) for name in answers]
    rows = access.visible_interrupts(principal).filter(
        status=InterruptStatus.OPEN, interrupt_id__in=names
    )
    keys = list(rows.order_by().values_list("thread", flat=True).distinct()[:2])
    return Thread.objects.already_found().get(pk=keys[0]) if len(keys) == 1 else None


def history_of(principal: Principal, thread: Thread) -> Fold:
    """The history of a thread of the own team, which pays for it. Raises LimitReached if it owes.

    A request can look at long ones again and again.
    """
    team = principal.team.pk
    refuse_work(team)
    fold = history.current(thread.pk)
    work.charge(team, "fold", sum(map(characters, fold.messages)) // work.BYTES)
    return fold


def _refuse_strays(
    principal: Principal,
    thread: Thread | None,
    request: RunRequest,
    results: list[str],
    answers: list[str],
) -> None:
    """AG-UI's clients send whole histories; these bring only new messages."""
    if thread is None:
        messages = request.body["messages"]
        calls = {call["id"] for each in messages for call in each.get("toolCalls") or ()}
        results = [call for call in results if call not in calls]
    fold = history_of(principal, thread) if thread and results else None
    for call in results:
        if fold is None or fold.call_name(call) is None:
            raise Invalid(f"This conversation has no tool call {call}.", details={"call": call})
    names = {answer: interrupts.storable(answer) for answer in answers}
    rows = Interrupt.objects.of_one_thread().filter(thread=thread, interrupt_id__in=names.values())
    questions = set(rows.values_list("interrupt_id", flat=True)) if thread and names else set()
    for answer, name in names.items():
        if name not in questions:
            message = f"This conversation has no question {answer}."
            raise Invalid(message, details={"interrupt": answer})


def steer(principal: Principal, run: Run, message: dict[str, Any]) -> bool:
    """Send a message in AG-UI's form to a run; False if it is no text, or the run has ended.

    Raises Invalid if it is too long, and as ``comments.say``.
    """
    name, text = message["id"], message.get("content")
    if message["role"] != "user" or not isinstance(text, str) or not text:
        return False
    if len(name) > LONGEST_ID or len(text) > LONGEST:
        raise Invalid(f"A message to a run has at most {LONGEST:,} characters.")
    try:
        comments.say(principal, run.pk, name, text)
    except RunEnded:
        return False
    return True


def stop(principal: Principal, thread_id: str, *, run_id: str | None = None) -> int:
    """Cancel the active runs of a thread, or only that of ``run_id``; returns how many.

    Raises Forbidden, before anything is cancelled.
    """
    access.require(principal, "cancel")
    runs = [run for run in threads.active(principal, thread_id) if run_id in (None, run.run_id)]
    for run in runs:
        access.require_for(principal, "cancel", run)
    # The newest first: when the running one ends, nothing that waits after it may begin.
    for run in reversed(runs):
        lifecycle.cancel(run, principal)
    return len(runs)
