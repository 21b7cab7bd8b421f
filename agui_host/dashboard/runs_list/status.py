"""The status of a run in a word for people, and as the chip that all pages show."""

from django.utils.html import format_html
from django.utils.safestring import SafeString

from runs.access import access
from runs.models import ACTIVE, InterruptStatus, Run, Status

QUESTIONS = {
    InterruptStatus.OPEN.value: "needs an answer",
    InterruptStatus.EXPIRED.value: "not answered",
    InterruptStatus.CANCELLED.value: "dismissed",
}
"""The words for a run that asked, by the status of its most urgent question."""
CHIP = '<span class="chip" data-status="{}"{}>{}</span>'


def word(run: Run) -> str:
    """The status of a run, and of its question if it ended with one."""
    if run.status != Status.INTERRUPTED:
        return str(Status(run.status).label).lower()
    if hasattr(run, "question"):
        question = run.question
    else:
        asking = access.run_interrupts(run).order_by("-status")
        question = vars(run)["question"] = asking.values_list("status", flat=True).first()
    return QUESTIONS.get(question or "", "answered")


def chip(run: Run) -> SafeString:
    """The word in the colour of the status. Not a template: lists show it for each row."""
    cancelling = bool(run.cancel_requested_at) and run.status in ACTIVE
    return format_html(CHIP, run.status, " data-cancelling" if cancelling else "", word(run))
