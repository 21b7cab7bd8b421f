"""A data set as lines of JSON, as pydantic-evals and Langfuse read them."""

from collections.abc import Callable, Iterator
from typing import Any

from agui_host.backends.work import charge, of_json
from agui_host.protocol import patient_json
from agui_host.protocol.strict_json import dumps
from agui_host.teams.authentication import Principal
from agui_host.teams.limits import refuse_work
from runs.access import again
from runs.access.evaluation import data_sets, labels
from runs.access.inspect import turns
from runs.models import DataSet, Run

LONGEST = 50_000
"""Characters of an input, and of an answer."""
SPLITTING = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}
"""Characters that JSON allows in a text, and at which ``str.splitlines`` breaks a line."""
EVENT = 25
"""Units of work for an event that is read again."""


def of(principal: Principal, row: DataSet, form: str) -> Iterator[bytes]:
    """A line for each run that the caller sees. Raises LimitReached."""
    refuse_work(principal.team.pk)
    runs = list(data_sets.runs_of(principal, row))
    named = labels.by_run(runs)
    for short in runs:
        rows = Run.objects.already_found().select_related("agent", "thread", "journal")
        run = rows.filter(pk=short.pk, purged_at=None).first()
        if run is None:
            continue  # It was purged or erased just now.
        case = FORMS[form](run, again.last_said(run)[:LONGEST], _answer(principal, run),
                           _about(run, named[run.pk]))  # fmt: skip
        line = dumps(case).translate(SPLITTING).encode("utf-8", "backslashreplace") + b"\n"
        read = min(run.journal.head, turns.EVENTS)
        charge(row.team_id, "view", EVENT * read + of_json(run.input) + of_json(line))
        yield line


def _answer(principal: Principal, run: Run) -> str | None:
    """The text of the last answer; the stored beginning of it if the log is long."""
    begun = turns.beginning(principal, run)
    if begun.complete:
        for message in reversed(begun.messages):
            content = message.get("content")
            if message.get("role") == "assistant" and isinstance(content, str) and content:
                return content[:LONGEST]
    return run.answered or None


def _about(run: Run, names: list[str]) -> dict[str, Any]:
    result = run.result if run.result and len(run.result) <= LONGEST else None
    return {
        "run": str(run.pk), "thread": run.thread.thread_id, "agent": run.agent.slug,
        "status": run.status, "error": run.error_code or None, "labels": names,
        "cost": run.cost, "tokens_in": run.tokens_in, "tokens_out": run.tokens_out,
        "result": result and patient_json.loads(result),
    }  # fmt: skip


def _case(run: Run, asked: str, answer: str | None, about: dict[str, Any]) -> dict[str, Any]:
    """A ``Case`` of pydantic-evals."""
    return {"name": str(run.pk), "inputs": asked, "expected_output": answer, "metadata": about}


def _item(run: Run, asked: str, answer: str | None, about: dict[str, Any]) -> dict[str, Any]:
    """An item of a dataset of Langfuse."""
    return {"id": str(run.pk), "input": asked, "expectedOutput": answer, "metadata": about}


Form = Callable[[Run, str, str | None, dict[str, Any]], dict[str, Any]]
FORMS: dict[str, Form] = {"pydantic-evals": _case, "langfuse": _item}
