"""Whom the host tells of a question that waits, and how."""

from runs.models.notices.mail import MailChoice, MailedLink
from runs.models.notices.push import PushKey, PushSubscription
from runs.models.notices.snooze import Snooze

__all__ = ["MailChoice", "MailedLink", "PushKey", "PushSubscription", "Snooze"]
