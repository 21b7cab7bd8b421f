"""Calls made twice: one tool, called again with the same arguments for the same request.

The request is a run with its repeated attempts, and with the runs that people or clients started
again with the same question. A call with other arguments is no double. Doubles differ by the
outcome of the calls before them: they repeat a call that succeeded, or one without a result, or
they retry calls that all failed.
"""

from collections.abc import Collection
from uuid import UUID

from django.db import connection


def mark(roots: Collection[UUID]) -> None:
    """Mark the doubles among all stored calls of these requests."""
    if roots:
        with connection.cursor() as cursor:
            cursor.execute("select agui_mark_doubles(%s)", [list(roots)])
