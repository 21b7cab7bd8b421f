"""The tables of threads and runs, one module for each thing; import them from here."""

from runs.models.comment import Comment, Feedback, Mention, RunMessage, Thumb
from runs.models.evaluation import DataSet, DataSetRun, RunLabel, Trial, TrialRun
from runs.models.failure import Failure
from runs.models.feed import FeedEntry
from runs.models.file import File, FileReference
from runs.models.grant import Grant, Level
from runs.models.imported import ImportedRun
from runs.models.ingest import Ingest
from runs.models.insight import (
    Called,
    Issue,
    IssueNote,
    IssueRun,
    ToolCall,
    ToolChange,
    ToolDay,
    UnreadRun,
)
from runs.models.interrupt import BY_INTERRUPT_EVENT, Interrupt, InterruptStatus
from runs.models.money.budget import (
    AtLimit,
    Budget,
    BudgetedRun,
    BudgetScope,
    Period,
    Spent,
    Unit,
)
from runs.models.notices import (
    Alert,
    AlertState,
    MailChoice,
    MailedLink,
    Measure,
    Notice,
    PushKey,
    PushSubscription,
    Snooze,
    Way,
)
from runs.models.recovery import Effect, EffectStatus, Reason, Recovery, Worker
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
from runs.models.texts import PiecedText, whole_size
from runs.models.texts.piece import Piece
from runs.models.thread import Thread, ThreadHistory, Visibility
from runs.models.usage import EndedRun, Grain, ModelPrice, TeamUsage, Usage, UsageChange, UsageTook
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
    "Alert",
    "AlertState",
    "AtLimit",
    "Budget",
    "BudgetScope",
    "BudgetedRun",
    "Called",
    "Comment",
    "DataSet",
    "DataSetRun",
    "DeliveryStatus",
    "Effect",
    "EffectStatus",
    "EndedRun",
    "Failure",
    "FeedEntry",
    "Feedback",
    "File",
    "FileReference",
    "Grain",
    "Grant",
    "ImportedRun",
    "Ingest",
    "Interrupt",
    "InterruptStatus",
    "Issue",
    "IssueNote",
    "IssueRun",
    "Level",
    "MailChoice",
    "MailedLink",
    "Measure",
    "Mention",
    "Missed",
    "ModelPrice",
    "Notice",
    "Period",
    "Piece",
    "PiecedText",
    "PushKey",
    "PushSubscription",
    "Reason",
    "Recovery",
    "Run",
    "RunLabel",
    "RunMessage",
    "RunWords",
    "SavedView",
    "Schedule",
    "Snooze",
    "Spent",
    "Status",
    "StopReason",
    "TeamUsage",
    "Thread",
    "ThreadHistory",
    "ThreadPolicy",
    "Thumb",
    "ToolCall",
    "ToolChange",
    "ToolDay",
    "Trial",
    "TrialRun",
    "Unit",
    "UnreadRun",
    "Usage",
    "UsageChange",
    "UsageTook",
    "Visibility",
    "Way",
    "Webhook",
    "WebhookDelivery",
    "Worker",
    "whole_size",
    "without_bodies",
]
