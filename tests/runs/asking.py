"""Runs that end with questions, and requests that answer them."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from agui_host.protocol.intake.intake import Intake
from events import journal
from runs.lifecycle import lifecycle
from runs.models import Interrupt, Run
from tests.cast import Actor, fresh, start

Wire = dict[str, Any]
APPROVAL = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}},
    "required": ["approved"],
}


def question(name: str, **more: Any) -> Wire:
    return {"id": name, "reason": "confirm", **more}


def yes(name: str, payload: Any = None) -> Wire:
    return {"interruptId": name, "status": "resolved"} | (
        {} if payload is None else {"payload": payload}
    )


def no(name: str) -> Wire:
    return {"interruptId": name, "status": "cancelled"}


def moment(seconds: float) -> str:
    """A time that far from now, as agents write it."""
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def interrupted(actor: Actor, *questions: Wire, thread: str = "t", **body: Any) -> Run:
    """A run that has ended with these questions."""
    run = start(actor, threadId=thread, **body)
    end(run, lambda intake: intake.finish({"type": "interrupt", "interrupts": list(questions)}))
    return fresh(run)


def asking(actor: Actor, *names: str, **more: Any) -> Run:
    return interrupted(actor, *map(question, names), **more)


def end(run: Run, how: Callable[[Intake], Any] | None = None) -> None:
    """Claim a queued run and end it, by default well."""
    claimed = lifecycle.claim(run.pk)
    assert claimed
    finish(claimed, how)


def finish(claimed: lifecycle.Claimed, how: Callable[[Intake], Any] | None = None) -> None:
    """End a claimed run, its log too."""
    run = claimed.run
    intake = Intake(run.thread.thread_id, run.run_id, input=claimed.prepared.echo)
    records = how(intake) if how else intake.finish()
    claim = claimed.claim
    batch = journal.Batch(claim.journal_id, claim.generation, claim.head + 1, records)
    assert journal.append([batch]) == {claim.journal_id}
    assert intake.terminal
    lifecycle.finish(claim.journal_id, intake.terminal)


def resume(actor: Actor, *answers: Wire, thread: str = "t", **body: Any) -> Run:
    return start(actor, threadId=thread, resume=list(answers), **body)


def standing(thread: str = "t") -> dict[str, str]:
    """The status of each question of a thread; of one asked again, the last."""
    rows = Interrupt.objects.filter(thread__thread_id=thread).order_by("pk")
    return {row.interrupt_id: row.status for row in rows}


def asked_again(actor: Actor, thread: str = "t", **body: Any) -> Run:
    """A run that has ended with the thread's open questions, as it had to."""
    claimed = lifecycle.claim(start(actor, threadId=thread, **body).pk)
    assert claimed
    repeat(claimed)
    return fresh(claimed.run)


def repeat(claimed: lifecycle.Claimed) -> None:
    """End a claimed run with the questions it was given."""
    assert claimed.questions
    again = {"type": "interrupt", "interrupts": claimed.questions}
    finish(claimed, lambda intake: intake.finish(again))


def resume_of(run: Run) -> Any:
    """What the agent of a run is told."""
    return json.loads(fresh(run).input).get("resume")
