"""AgentTerms: the parts of a version of an agent, so that a trial can run it again."""

from django.db import models

from agui_host.runtimes.models import Agent
from agui_host.teams.tenancy import TeamOwned


class AgentTerms(TeamOwned):
    """The values of an agent from which its ``version`` is a digest (``Agent.present_version``).

    A trigger is the only writer (``runs/sql/evaluation.sql``). Headers and keys are not part of a
    version, so they are not kept.
    """

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="+", db_index=False)
    version = models.CharField(max_length=16)
    kind = models.CharField(max_length=20)
    target = models.CharField(max_length=500)
    code = models.CharField(max_length=16)
    settings = models.JSONField()
    middleware = models.JSONField()
    context_providers = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["agent", "version"], name="agent_terms_once")
        ]

    def __str__(self) -> str:
        return self.version
