"""Going on from a run that has ended: the same again, with changes, or with another message."""

from typing import Any
from uuid import UUID, uuid4

from agui_host.errors import Conflict, NotFound
from agui_host.protocol import patient_json
from agui_host.protocol.errors import Invalid
from agui_host.protocol.input import legacy_answer, run_agent_input
from agui_host.teams.authentication import Principal
from runs.access import access
from runs.access.start import start_run
from runs.lifecycle import history
from runs.models import ENDED, ImportedRun, Run, Status, Visibility

Wire = dict[str, Any]
USER = "user"


class NotRepeatable(Conflict):
    """Only the newest run of a thread can run again, once it has ended without open questions."""

    code = "not_repeatable"


class NotContinuable(Conflict):
    """A thread goes on from its newest run, once that has ended without open questions."""

    code = "not_continuable"


class NotChangeable(Conflict):
    """Only a run that has ended, in a thread that the whole team sees, is run with changes."""

    code = "not_changeable"


def may_run_again(principal: Principal, run: Run) -> bool:
    """Whether ``run_again`` would start a run now."""
    return _may_start(principal, run) and _is_repeatable(run)


def may_continue(principal: Principal, run: Run) -> bool:
    """Whether ``go_on`` would start a run now."""
    return _may_start(principal, run) and _is_last(run)


def may_change(principal: Principal, run: Run) -> bool:
    """Whether ``changed`` would start a run, of any agent of the team."""
    return _may_read_and_run(principal, run) and _is_changeable(run)


def run_again(principal: Principal, run_id: UUID) -> Run:
    """Start a run with the same input, as a regenerate: it replaces the answer in the thread.

    The log of the earlier run stays. Raises NotFound, Forbidden, NotRepeatable, and the
    errors of a start.
    """
    run = _find(principal, run_id)
    if not _is_repeatable(run):
        raise NotRepeatable
    body = patient_json.loads(run.input)
    again = _surroundings(body) | {
        "threadId": run.thread.thread_id,
        "forwardedProps": {**run_agent_input.lasting(body), "regenerate": True},
    }
    request = run_agent_input.parse(again, agent=run.agent.slug)
    return start_run(principal, request, key=None).run


def go_on(principal: Principal, run_id: UUID, text: str) -> Run:
    """Continue the run's thread with a message of the caller.

    Raises NotFound, Forbidden, Invalid, NotContinuable, and the errors of a start.
    """
    run = _find(principal, run_id)
    if not _is_last(run):
        raise NotContinuable
    body = {
        "threadId": run.thread.thread_id,
        "messages": [_said(text)],
        "tools": patient_json.loads(run.input).get("tools", []),
    }
    request = run_agent_input.parse(body, agent=run.agent.slug)
    return start_run(principal, request, key=None).run


def changed(principal: Principal, run_id: UUID, *, agent: str, text: str, state: Any = None) -> Run:
    """Start the run's input in a new thread, with another message, state or agent.

    Without a ``state`` it has that of the input. The new thread begins with the messages before the
    user's last one. Raises NotFound, Forbidden, Invalid, NotChangeable, and the errors of a start.
    """
    run = _find(principal, run_id)
    if not _is_changeable(run):
        raise NotChangeable
    body = patient_json.loads(run.input)
    fork = _surroundings(body) | {
        "messages": [*_before(run, body), _said(text)],
        "forwardedProps": run_agent_input.lasting(body),
    }
    if state is not None:
        fork["state"] = state
    return start_run(principal, run_agent_input.parse(fork, agent=agent), key=None).run


def last_said(run: Run) -> str:
    """The text of the last message that a user sent with the run; empty without one."""
    message = _last_of_user(patient_json.loads(run.input)) or {}
    content = message.get("content", "")
    return content if isinstance(content, str) else ""


def _find(principal: Principal, run_id: UUID) -> Run:
    run = access.find(principal, run_id, "run")
    if run.team_id != principal.team.pk or not access.sees_thread(principal, run):
        raise NotFound("A run of another team cannot run again here.")
    return run


def _may_start(principal: Principal, run: Run) -> bool:
    return (
        run.agent.enabled
        and principal.may_use(run.agent.slug)
        and _may_read_and_run(principal, run)
    )


def _may_read_and_run(principal: Principal, run: Run) -> bool:
    return (
        run.team_id == principal.team.pk
        and access.sees_thread(principal, run)
        and access.may(principal, "run", run)
    )


def _is_repeatable(run: Run) -> bool:
    """Its answers may have been acted upon, and a later run builds on it: neither is repeated."""
    if not _is_last(run):
        return False
    # Most inputs need not be parsed to know; they may be megabytes.
    return not (
        '"resume"' in run.input and legacy_answer.is_answering(patient_json.loads(run.input))
    )


def _is_changeable(run: Run) -> bool:
    """A private thread's messages stay in it: the new thread would be the team's."""
    return (
        run.status in ENDED
        and run.purged_at is None
        and run.thread.visibility == Visibility.TEAM
        and run.parent_id is None
    )


def _is_last(run: Run) -> bool:
    """Whether the run has ended without questions, as the newest of a thread that goes on."""
    if run.status not in ENDED or run.status == Status.INTERRUPTED or run.purged_at is not None:
        return False
    if run.parent_id is not None or run.agent.is_fed:
        return False
    if ImportedRun.objects.already_found().filter(run=run).exists():
        return False
    return not Run.objects.of_one_thread().filter(thread=run.thread_id, pk__gt=run.pk).exists()


def _surroundings(body: Wire) -> Wire:
    return {name: body[name] for name in ("tools", "context", "state") if name in body}


def _before(run: Run, body: Wire) -> list[Wire]:
    """The messages before the last one that the user sent with the run, as far as they stand."""
    last = _last_of_user(body)
    own: list[Wire] = body["messages"]
    stored = history.current(run.thread_id).messages
    for messages in (stored, own):
        ids = [message["id"] for message in messages]
        if last is not None and last["id"] in ids:
            before = messages[: ids.index(last["id"])]
            return [message for message in before if message["role"] not in history.NOT_SENT]
    return own


def _last_of_user(body: Wire) -> Wire | None:
    messages: list[Wire] = body.get("messages") or []
    return next((message for message in reversed(messages) if message["role"] == USER), None)


def _said(text: str) -> Wire:
    if not text.strip():
        raise Invalid("Write a message.", details={"path": "message"})
    return {"id": str(uuid4()), "role": USER, "content": text}
