"""The outline for readers of one run, and with a link: nothing that their view hides."""

from typing import Any

from agui_host.protocol.fold.outline_kinds import ACTIVITY, INTERRUPT, QUEUE, STATE, STEP
from agui_host.protocol.fold.outline_row import FAILED, LONGEST_NAME, SUCCEEDED
from agui_host.protocol.views.redaction import MASK, Redaction


def alone(row: dict[str, Any]) -> dict[str, Any]:
    """A row as readers see it who do not see the run's thread.

    The gist of a change of the state is names of its members, some of which are older than the run;
    its size counts them.
    """
    return {**row, "gist": "", "bytes": None} if row["kind"] == STATE else row


def linked(row: dict[str, Any], redaction: Redaction) -> dict[str, Any] | None:
    """A row as a link's readers see it; None if they do not.

    Sizes are left out, since hidden values count; so is how long the run waited. While the grant
    hides anything, so are the beginnings of texts (a cut text does not show any more where in a
    document it stood), and rows of the state and of activities, whose events others can replace.
    """
    if row["of_input"]:
        return None
    row = {**row, "bytes": None}
    if row["kind"] == QUEUE:
        row["t0"] = row["t1"]
    if not redaction:
        return row
    if row["kind"] in (STATE, ACTIVITY):
        return None
    row["gist"] = ""
    if row["kind"] == INTERRUPT:
        # A name of full length may have been cut, and is then no longer JSON.
        whole = len(row["name"]) < LONGEST_NAME
        row["name"] = redaction.text(row["name"]) if whole else MASK
    # The failure of a step is in its metadata.
    hides_failures = redaction.hides_above(("metadata", "status"))
    if row["kind"] == STEP and row["status"] == FAILED and hides_failures:
        row["status"] = SUCCEEDED
    return row
