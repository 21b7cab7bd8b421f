"""Filters of the runs list; the queryset keeps each one inside the team."""

import django_filters

from runs.models import Run, Status
from teams.api.datetimes import MomentFilter

BY_ID = ("-journal_id",)
BY_TIME = ("-created_at", "-journal_id")


class RunFilter(django_filters.FilterSet):
    status = django_filters.MultipleChoiceFilter(choices=Status.choices)
    agent = django_filters.CharFilter(field_name="agent__slug")
    thread_id = django_filters.CharFilter(field_name="thread__thread_id")
    run_id = django_filters.CharFilter()
    started_by = django_filters.CharFilter()
    error = django_filters.CharFilter(
        field_name="error_code", help_text="The code of a failed run."
    )
    created_after = MomentFilter(field_name="created_at", lookup_expr="gte")
    created_before = MomentFilter(field_name="created_at", lookup_expr="lt")

    class Meta:
        model = Run
        fields: list[str] = []
