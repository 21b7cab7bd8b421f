"""Notice: news about a team's budgets and alerts, for the people and webhooks that run the team."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agui_host.backends.postgres import clock
from agui_host.teams.tenancy import TeamOwned

BUDGET_WARNED, ALERT_FIRED, ALERT_RESOLVED = "budget.warned", "alert.fired", "alert.resolved"
NOTICES = (BUDGET_WARNED, ALERT_FIRED, ALERT_RESOLVED)


class Way(models.TextChoices):
    """How a notice reaches people and programs."""

    MAIL = "mail"
    PUSH = "push"
    WEBHOOK = "webhook"


class Notice(TeamOwned):
    """``subject`` is the id of the budget or alert; ``data`` is the data of a webhook's message.

    ``agent`` is a slug if the notice is about one agent, ``thread`` the key of the thread if it is
    about one thread or run. A trigger adds the deliveries of webhooks (``runs/sql/notices.sql``);
    a worker sends mails and push messages, and sets ``noticed_at`` before it does.
    """

    id = models.UUIDField(primary_key=True, default=clock.new_id, editable=False)
    type = models.CharField(max_length=30)
    subject = models.UUIDField()
    agent = models.CharField(max_length=64, blank=True, default="", db_default="")
    thread = models.UUIDField(null=True)
    data = models.JSONField()
    tell = ArrayField(models.CharField(max_length=7, choices=Way.choices))
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    noticed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        indexes = [
            # new notices, for a worker (runs/access/notices/warnings.py)
            models.Index(
                fields=["created_at"], condition=Q(noticed_at=None), name="notice_not_noticed"
            ),
            models.Index(fields=["subject", "-id"], name="notice_of_subject"),
        ]

    def __str__(self) -> str:
        return self.type

    @property
    def page(self) -> str:
        """The path of the page of its budget or alert."""
        return "/budgets/" if self.type == BUDGET_WARNED else f"/alerts/{self.subject}/"
