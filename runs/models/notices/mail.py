"""MailChoice: a person who wants questions by mail; MailedLink: the link in such a mail."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agui_host.backends.postgres import clock
from agui_host.teams.tenancy import TeamOwned


class MailChoice(TeamOwned):
    """A person to whom questions of a team are mailed; ``last_at`` is when they last were.

    ``daily``: all that waits in one mail a day, in place of each question.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    last_at = models.DateTimeField(null=True)
    daily = models.BooleanField(default=False, db_default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "user"], name="mail_choice_once")]
        indexes = [
            # the daily mails that are due
            models.Index(fields=["last_at"], condition=Q(daily=True), name="mail_choice_daily"),
        ]

    def __str__(self) -> str:
        return f"mail to {self.user}"


class MailedLink(TeamOwned):
    """A link with which a person answers one question, once, without signing in.

    Stored as a hash. The person's rights are those at the time of the answer.
    """

    id = models.UUIDField(primary_key=True, default=clock.new_id, editable=False)
    interrupt = models.ForeignKey("runs.Interrupt", on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    token_hash = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"link of {self.user} to {self.interrupt_id}"
