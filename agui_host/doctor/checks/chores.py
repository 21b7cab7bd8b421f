"""The chores of workers: words for the search, outlines, webhooks, purges."""

from agui_host.doctor.findings import Fault, check
from runs.lifecycle.chores import lags


@check("chores", needs="migrations")
def chores() -> str | list[Fault]:
    """Whether each keeps pace with the runs."""
    return [
        Fault(
            f"The chore {chore} is {seconds:.0f} s behind.",
            "Add a worker of the queue default, or look for its error in a worker's log"
            " (docs/operations.md#symptom-late-chores).",
        )
        for chore, seconds in lags.read().items()
        if seconds > lags.BOUNDS[chore]
    ] or "keep pace"
