"""The state of a run as of one of its events, and what set a place in it, for the caller."""

from collections.abc import Mapping

from agui_host.protocol import patient_json
from agui_host.protocol.errors import Invalid
from agui_host.protocol.strict_json import dumps_any
from agui_host.teams.authentication import Principal
from events import states
from events.outlines import SECONDS
from events.states import History, StateAt
from runs.access import cursors, sight
from runs.models import Run

LONGEST_PATH = 2_000
NOTHING = "{}"


def read(
    principal: Principal, run: Run, query: Mapping[str, str], *, seconds: float = SECONDS
) -> StateAt:
    """The state after the event ``at``, by default the newest, of a run that the caller may view.

    ``seconds`` is how long to fold a long log. Raises BadCursor, Purged, and Reset.
    """
    cursors.place(run, None)
    seq = cursors.parameter(run, query, "at", run.journal.head)
    alone = sight.view(principal, run, after=1)
    if alone is not None:
        return states.read(run.pk, seq, NOTHING, seconds=seconds, show=alone.show)
    return states.read(run.pk, seq, _base(run), seconds=seconds)


def history(principal: Principal, run: Run, query: Mapping[str, str]) -> History:
    """The events that set the value at ``path``, of a run that the caller may view.

    ``after`` and ``at`` bound them. Raises BadCursor, Invalid, Purged, and Reset.
    """
    cursors.place(run, None)
    path = query.get("path", "")
    if len(path) > LONGEST_PATH or (path and not path.startswith("/")):
        message = (
            f"path must be a JSON Pointer, such as /a/b, of at most {LONGEST_PATH} characters."
        )
        raise Invalid(message, details={"path": "path"})
    after = cursors.parameter(run, query, "after")
    last = cursors.parameter(run, query, "at", run.journal.head)
    alone = sight.view(principal, run, after=max(after, 1))
    if alone is not None:
        return states.history(run.pk, path, after, last, NOTHING, show=alone.show)
    return states.history(run.pk, path, after, last, _base(run))


def _base(run: Run) -> str:
    """The state of the run's input, which clients begin with."""
    state = patient_json.loads(run.input)["state"]
    return dumps_any({} if state is None else state)
