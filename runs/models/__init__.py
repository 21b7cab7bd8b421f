"""The tables of threads and runs, one module for each thing; import them from here."""

from runs.models.comment import Comment, Feedback, Mention, Thumb
from runs.models.failure import Failure
from runs.models.feed import FeedEntry
from runs.models.file import File, FileReference
from runs.models.grant import Grant, Level
from runs.models.imported import ImportedRun
from runs.models.ingest import Ingest
from runs.models.interrupt import BY_INTERRUPT_EVENT, Interrupt, InterruptStatus
from runs.models.run import (
    ACTIVE,
    ADMITTED,
    BODIES,
    BY_EVENT,
    ENDED,
    FACELESS,
    IS_ACTIVE,
    WAITING,
    WORKER_GONE,
    Run,
    Status,
    without_bodies,
)
from runs.models.saved_view import SavedView
from runs.models.schedule import Missed, Schedule, StopReason, ThreadPolicy
from runs.models.thread import Thread, ThreadHistory, Visibility
from runs.models.usage import EndedRun, TeamUsage
from runs.models.webhook import DeliveryStatus, Webhook, WebhookDelivery
from runs.models.words import RunWords

__all__ = [
    "ACTIVE",
    "ADMITTED",
    "BODIES",
    "BY_EVENT",
    "BY_INTERRUPT_EVENT",
    "ENDED",
    "FACELESS",
    "IS_ACTIVE",
    "WAITING",
    "WORKER_GONE",
    "Comment",
    "DeliveryStatus",
    "EndedRun",
    "Failure",
    "FeedEntry",
    "Feedback",
    "File",
    "FileReference",
    "Grant",
    "ImportedRun",
    "Ingest",
    "Interrupt",
    "InterruptStatus",
    "Level",
    "Mention",
    "Missed",
    "Run",
    "RunWords",
    "SavedView",
    "Schedule",
    "Status",
    "StopReason",
    "TeamUsage",
    "Thread",
    "ThreadHistory",
    "ThreadPolicy",
    "Thumb",
    "Visibility",
    "Webhook",
    "WebhookDelivery",
    "without_bodies",
]
