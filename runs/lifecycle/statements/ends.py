"""The end of a run: its status, and the row by which admission counts what it stored."""

from typing import Any
from uuid import UUID

from django.db import connection
from psycopg.types.json import Jsonb

from agui_host.backends.postgres import clock
from events.writer.lease import Statement
from runs.lifecycle.statements import figures
from runs.lifecycle.statuses import leading_to
from runs.models import Status

# The function is in runs/sql/ending.sql.
END = """
select agui_end_run(%(run)s, %(status)s, %(at)s, %(result)s, %(usage)s, %(error_code)s,
                %(error_message)s, %(tool_calls)s, %(subagents)s, %(tokens_in)s, %(tokens_out)s,
                %(tokens_cached)s, %(cost)s, %(by_model)s, %(questions)s, %(first)s, %(answered)s,
                %(endable)s, %(must)s)
"""
EMPTY = {"result": None, "usage": None, "error_code": "", "error_message": ""} | figures.of(
    {}, None
)


def store(run_id: UUID, status: Status, **columns: Any) -> bool:
    """End the run, unless it has ended: the first writer wins. In the terminal event's transaction.

    Once per run: what it stored is counted by a row of its own.
    """
    with connection.cursor() as cursor:
        cursor.execute(END, _values(run_id, status, columns) | {"must": False})
        return bool(cursor.fetchone()[0])


def statement(run_id: UUID, status: Status, **columns: Any) -> Statement:
    """The same as a statement, which raises if the run has ended."""
    return Statement(END, _values(run_id, status, columns) | {"must": True})


def _values(run_id: UUID, status: Status, columns: dict[str, Any]) -> dict[str, Any]:
    return {
        **EMPTY,
        **columns,
        "by_model": Jsonb(parts) if (parts := columns.get("by_model")) is not None else None,
        "run": run_id,
        "status": status.value,
        "at": clock.now(),
        "endable": leading_to(status),
    }
