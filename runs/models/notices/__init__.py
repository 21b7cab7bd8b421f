"""Whom the host tells of a question that waits."""

from runs.models.notices.push import PushKey, PushSubscription

__all__ = ["PushKey", "PushSubscription"]
