"""Filters of the runs list; the queryset keeps each one inside the team."""

from functools import cached_property
from uuid import UUID

import django_filters
from django.core.exceptions import ValidationError
from django.db.models import QuerySet

from agui_host.runtimes.models import Agent, AgentVersion
from agui_host.teams import actors
from agui_host.teams.api.datetimes import MomentFilter
from agui_host.teams.authentication import Principal, principal_of
from agui_host.teams.end_users import naming
from runs.lifecycle.words import search
from runs.models import Feedback, IssueRun, Run, Status, Thumb

BY_ID = ("-journal_id",)
BY_TIME = ("-created_at", "-journal_id")
LONGEST_TEXT = 500
MOST_RATED = 10**9
"""More ratings than a team can have."""


def check_text(value: str) -> None:
    """Raises ValidationError for a text that has no word, or more than a search takes."""
    words = search.count_words(value)
    if not words:
        raise ValidationError("The search contains no words; use letters or digits.")
    if words > search.MOST_WORDS:
        raise ValidationError(
            f"The search contains more than {search.MOST_WORDS} words; of Chinese each character"
            " is one."
        )


class RunFilter(django_filters.FilterSet):
    """The query of the list of runs."""

    status = django_filters.MultipleChoiceFilter(choices=Status.choices)
    agent = django_filters.CharFilter(method="of_agent")
    agent_version = django_filters.CharFilter(
        method="of_version", max_length=16, help_text="The version of its agent as it started."
    )
    thread_id = django_filters.CharFilter(field_name="thread__thread_id")
    run_id = django_filters.CharFilter()
    started_by = django_filters.CharFilter(method="of_starter")
    end_user = django_filters.CharFilter(help_text="`sub` of the person for whom a key started it.")
    error = django_filters.CharFilter(
        field_name="error_code", help_text="The code of a failed run."
    )
    issue = django_filters.UUIDFilter(
        method="of_issue", help_text="The id of an issue: its failed runs."
    )
    created_after = MomentFilter(field_name="created_at", lookup_expr="gte")
    created_before = MomentFilter(field_name="created_at", lookup_expr="lt")
    thumb = django_filters.ChoiceFilter(
        choices=Thumb.choices,
        method="of_thumb",
        help_text="Runs that anybody rated so, or an answer in them.",
    )
    q = django_filters.CharFilter(
        method="pass_on",
        max_length=LONGEST_TEXT,
        validators=[check_text],
        help_text="Words that the run contains, all of them.",
    )

    class Meta:
        model = Run
        fields: list[str] = []

    @cached_property
    def principal(self) -> Principal:
        """The caller, whose team's runs they are."""
        return principal_of(self.request)

    def of_agent(self, runs: QuerySet[Run], name: str, value: str) -> QuerySet[Run]:
        """With the agent's id the planner has statistics of its runs; by its slug it guesses."""
        agent = Agent.objects.for_team(self.principal.team).filter(slug=value).only("pk").first()
        return runs.none() if agent is None else runs.filter(agent=agent.pk)

    def of_version(self, runs: QuerySet[Run], name: str, value: str) -> QuerySet[Run]:
        """As ``of_agent``: agents made of one module with the same settings share a version."""
        versions = AgentVersion.objects.for_team(self.principal.team).filter(version=value)
        agents = list(versions.values_list("agent_id", flat=True))
        return runs.filter(agent__in=agents, agent_version=value)

    def of_issue(self, runs: QuerySet[Run], name: str, value: UUID) -> QuerySet[Run]:
        """The failed runs of an issue of the caller's team."""
        rows = IssueRun.objects.for_team(self.principal.team).filter(issue=value)
        return runs.filter(pk__in=rows.values("run"))

    def of_thumb(self, runs: QuerySet[Run], name: str, value: str) -> QuerySet[Run]:
        """Begins with the ratings of the newest runs.

        The bound has PostgreSQL keep their order; without it, each page sorted all rated runs.
        """
        rated = Feedback.objects.for_team(self.principal.team).filter(thumb=value)
        newest = rated.order_by("-run").values("run").distinct()[:MOST_RATED]
        return runs.filter(pk__in=newest)

    def of_starter(self, runs: QuerySet[Run], name: str, value: str) -> QuerySet[Run]:
        """By the label of a person or key, or by the name that usage gives to an end user."""
        if not actors.is_end_user(value):
            return runs.filter(started_by=value)
        realms = naming.realms_of(self.principal.team)
        sub, realm = naming.sub_of(value.removeprefix(actors.END_USER), realms)
        theirs = runs.filter(end_user=sub)
        if realm is None:
            return theirs
        return theirs.filter(thread__creator=actors.end_user_id(realm, sub))

    def pass_on(self, runs: QuerySet[Run], name: str, value: str) -> QuerySet[Run]:
        """Applied last, to the runs that the others leave."""
        return runs
