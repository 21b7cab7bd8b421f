"""The months of the journal's events."""

from agui_host.doctor.findings import Fault, check
from events import partitions

LEAST = 2
"""Months after this one; the host makes twelve, and looks each day."""


@check("partitions", needs="migrations")
def months() -> str | list[Fault]:
    """Whether this month and those after it have a partition, and no row is outside of one."""
    ahead = partitions.ahead()
    faults = []
    if ahead <= LEAST:
        faults.append(
            Fault(
                f"Partitions of events reach {ahead} months, with this one; twelve are usual.",
                "agui-host migrate, and keep a worker of the queue default running.",
            )
        )
    if partitions.stray_rows():
        faults.append(
            Fault("Events are outside of the months' partitions.", "docs/operations.md#stray-rows")
        )
    return faults or f"{ahead} months"
