"""Whom the host tells of a question or of the team's budgets and alerts, and how."""

from runs.models.notices.alert import Alert, AlertState, Measure
from runs.models.notices.mail import MailChoice, MailedLink
from runs.models.notices.notice import Notice, Way
from runs.models.notices.push import PushKey, PushSubscription
from runs.models.notices.snooze import Snooze

__all__ = [
    "Alert",
    "AlertState",
    "MailChoice",
    "MailedLink",
    "Measure",
    "Notice",
    "PushKey",
    "PushSubscription",
    "Snooze",
    "Way",
]
