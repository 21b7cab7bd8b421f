"""The outline of a run for the caller: all of it, or a link's view."""

import json
from collections.abc import Mapping

from agui_host.errors import BadCursor
from agui_host.protocol.errors import Invalid
from agui_host.protocol.input.numbers import whole
from agui_host.protocol.strict_json import dumps
from agui_host.protocol.views.outline import alone, linked
from agui_host.protocol.views.redaction import Redaction
from agui_host.teams.authentication import Principal
from events import outlines
from events.outlines import Slice
from runs.access import cursors, sight
from runs.models import Run

_MOST = 10**9 - 1


def of_run_alone(row: str) -> str:
    """A row, as JSON, for a reader who does not see the run's thread."""
    return dumps(alone(json.loads(row)))


def read(
    principal: Principal,
    run: Run,
    query: Mapping[str, str],
    redaction: Redaction | None = None,
    *,
    seconds: float | None = None,
) -> Slice:
    """The rows that a request asks for by ``after``, ``since`` and ``limit``.

    ``run`` is a run that the ``principal`` may view; with ``redaction``, by a link. ``seconds`` is
    how long to fold a long log. Raises BadCursor, Invalid, Purged, and Reset.
    """
    cursors.place(run, None)
    since = cursors.parameter(run, query, "since")
    limit = number(query, "limit", outlines.MOST_ROWS)
    if not 1 <= limit <= outlines.MOST_ROWS:
        raise Invalid(f"limit must be 1 to {outlines.MOST_ROWS}.", details={"path": "limit"})

    is_alone = sight.of(principal, run) is not None

    def show(row: str) -> str | None:
        if is_alone:
            row = of_run_alone(row)
        if redaction is None:
            return row
        visible = linked(json.loads(row), redaction)
        return None if visible is None else dumps(visible)

    after = number(query, "after")
    return outlines.read(run.pk, after, since=since, limit=limit, seconds=seconds, show=show)


def number(query: Mapping[str, str], name: str, default: int = 0) -> int:
    """A parameter that counts something. Raises BadCursor."""
    value = query.get(name)
    if value is None:
        return default
    if (count := whole(value, 0, _MOST)) is None:
        raise BadCursor(f"{name} must be a number: 0, 1, 2, …", details={"path": name})
    return count
