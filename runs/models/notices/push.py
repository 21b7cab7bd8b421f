"""PushSubscription: a browser that hears of questions; PushKey: the key of their sender."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agui_host.backends.postgres import clock
from agui_host.security.secrets import SealedField
from agui_host.teams.tenancy import TeamOwned


class PushKey(models.Model):
    """The only key pair with which this installation proves to push services who sends."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    private = SealedField()
    public = models.CharField(max_length=100)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="push_key_once")]

    def __str__(self) -> str:
        return self.public


class PushSubscription(TeamOwned):
    """A person's browser that hears of the questions of a team while its session lasts.

    ``secrets`` is sealed JSON of the endpoint and the browser's keys; ``digest`` is the endpoint's
    hash, by which the same browser is found again.
    """

    id = models.UUIDField(primary_key=True, default=clock.new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    session_key = models.CharField(max_length=40)
    digest = models.CharField(max_length=64)
    secrets = SealedField()
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["digest", "team"], name="push_once_per_browser")
        ]

    def __str__(self) -> str:
        return f"a browser of {self.user}"
