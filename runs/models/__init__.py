"""The tables of threads and runs, one module for each thing; import them from here."""

from runs.models.comment import Comment, Feedback, Mention, Thumb
from runs.models.failure import Failure
from runs.models.feed import FeedEntry
from runs.models.grant import Grant, Level
from runs.models.ingest import Ingest
from runs.models.interrupt import Interrupt, InterruptStatus
from runs.models.run import ACTIVE, ENDED, WORKER_GONE, Run, Status
from runs.models.thread import Thread, ThreadHistory, Visibility
from runs.models.usage import EndedRun, TeamUsage

__all__ = [
    "ACTIVE",
    "ENDED",
    "WORKER_GONE",
    "Comment",
    "EndedRun",
    "Failure",
    "FeedEntry",
    "Feedback",
    "Grant",
    "Ingest",
    "Interrupt",
    "InterruptStatus",
    "Level",
    "Mention",
    "Run",
    "Status",
    "TeamUsage",
    "Thread",
    "ThreadHistory",
    "Thumb",
    "Visibility",
]
