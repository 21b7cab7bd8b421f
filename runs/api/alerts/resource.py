"""The alerts resource."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.teams.api.bodies import Body
from agui_host.teams.api.pages import NewestFirst
from agui_host.teams.authentication import principal_of
from runs.access.alerts import manage
from runs.models import Alert, Measure, Notice, Way


class AlertSerializer(serializers.ModelSerializer[Alert]):
    """An alert, its state, and the value of its latest check."""

    agent = serializers.SerializerMethodField()
    started_by = serializers.SerializerMethodField()
    filters = serializers.CharField(
        source="query", help_text="Of the saved view: `status=failed&tag=vip`; empty without any."
    )
    tell = serializers.ListField(child=serializers.ChoiceField(Way.choices))
    value = serializers.FloatField(allow_null=True, help_text="Null: too few runs, or unchecked.")

    class Meta:
        model = Alert
        fields = ["id", "name", "measure", "threshold", "window_hours", "least_runs", "agent",
                  "started_by", "filters", "tell", "enabled", "state", "value", "checked_at",
                  "fired_at", "snoozed_until", "created_by", "created_at"]  # fmt: skip
        read_only_fields = fields

    def get_agent(self, row: Alert) -> str | None:
        """The slug of the only agent that counts; null for all."""
        return row.agent or None

    def get_started_by(self, row: Alert) -> str | None:
        """The only person or key whose runs count; null for all."""
        return row.person or None


class AlertChangeSerializer(Body):
    """Changes to an alert; absent members stay as they are."""

    name = serializers.CharField(max_length=120, required=False)
    measure = serializers.ChoiceField(Measure.choices, required=False)
    threshold = serializers.FloatField(
        min_value=1e-6, max_value=manage.LARGEST, required=False,
        help_text="Runs, percent, seconds, dollars, questions or calls; it fires from here on.",
    )  # fmt: skip
    window_hours = serializers.IntegerField(
        min_value=0, max_value=manage.LONGEST_WINDOW, required=False,
        help_text="The latest hours that count; for questions, how long they have waited.",
    )  # fmt: skip
    least_runs = serializers.IntegerField(
        min_value=1, max_value=10**9, required=False,
        help_text="With fewer runs, failure_rate and p95_duration have no value.",
    )  # fmt: skip
    agent = serializers.CharField(max_length=64, required=False, allow_null=True)
    started_by = serializers.CharField(max_length=200, required=False, allow_null=True)
    tell = serializers.ListField(
        child=serializers.ChoiceField(Way.choices), max_length=len(Way.choices), required=False
    )
    enabled = serializers.BooleanField(required=False)

    @classmethod
    def read(cls, request: Request) -> dict[str, Any]:
        values = super().read(request)
        if "started_by" in values:
            values["person"] = values.pop("started_by") or ""
        if "agent" in values:
            values["agent"] = values["agent"] or ""
        if "tell" in values:
            values["tell"] = [way for way in Way.values if way in values["tell"]]
        return values


class AlertNewSerializer(AlertChangeSerializer):
    """A new alert."""

    name = serializers.CharField(max_length=120)
    measure = serializers.ChoiceField(Measure.choices)
    threshold = serializers.FloatField(min_value=1e-6, max_value=manage.LARGEST)
    window_hours = serializers.IntegerField(min_value=0, max_value=manage.LONGEST_WINDOW, default=1)
    tell = serializers.ListField(
        child=serializers.ChoiceField(Way.choices), max_length=len(Way.choices),
        default=list(Way.values),
    )  # fmt: skip
    view = serializers.UUIDField(
        required=False, help_text="A saved view, whose filters the alert takes."
    )


class AlertSnoozeSerializer(Body):
    """Until when an alert tells nothing; null: it tells again."""

    until = serializers.DateTimeField(allow_null=True)


class NoticeSerializer(serializers.ModelSerializer[Notice]):
    """A line of an alert's history: it has fired, or was resolved."""

    value = serializers.FloatField(
        source="data.value", allow_null=True, help_text="That of the check."
    )
    threshold = serializers.FloatField(source="data.threshold", help_text="That of this time.")

    class Meta:
        model = Notice
        fields = ["id", "type", "value", "threshold", "tell", "created_at"]
        read_only_fields = fields


class AlertList(generics.ListAPIView[Alert]):
    """The team's alerts, newest first."""

    serializer_class = AlertSerializer
    pagination_class = NewestFirst
    queryset = Alert.objects.none()

    def get_queryset(self) -> QuerySet[Alert]:
        return manage.visible(principal_of(self.request))

    @extend_schema(request=AlertNewSerializer, responses={201: AlertSerializer})
    def post(self, request: Request) -> Response:
        """Make an alert; it is checked within a minute."""
        row = manage.create(principal_of(request), AlertNewSerializer.read(request))
        return Response(AlertSerializer(row).data, status=201)


class AlertDetail(APIView):
    @extend_schema(responses={200: AlertSerializer})
    def get(self, request: Request, alert_id: UUID, **kwargs: Any) -> Response:
        """One alert."""
        return Response(AlertSerializer(manage.find(principal_of(request), alert_id)).data)

    @extend_schema(request=AlertChangeSerializer, responses={200: AlertSerializer})
    def patch(self, request: Request, alert_id: UUID) -> Response:
        """Change an alert; fields that are left out stay."""
        principal = principal_of(request)
        manage.find(principal, alert_id)
        row = manage.change(principal, alert_id, AlertChangeSerializer.read(request))
        return Response(AlertSerializer(row).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, alert_id: UUID) -> Response:
        """Delete an alert with its history."""
        manage.remove(principal_of(request), alert_id)
        return Response(status=204)


class AlertSnooze(APIView):
    @extend_schema(request=AlertSnoozeSerializer, responses={200: AlertSerializer})
    def post(self, request: Request, alert_id: UUID) -> Response:
        """Tell nothing about an alert for a while."""
        principal = principal_of(request)
        manage.find(principal, alert_id)
        until = AlertSnoozeSerializer.read(request)["until"]
        row = manage.snooze(principal, alert_id, until)
        return Response(AlertSerializer(row).data)


class AlertHistory(generics.ListAPIView[Notice]):
    """When an alert has fired and was resolved, newest first; for 90 days."""

    serializer_class = NoticeSerializer
    pagination_class = NewestFirst
    queryset = Notice.objects.none()

    def get_queryset(self) -> QuerySet[Notice]:
        return manage.history(principal_of(self.request), self.kwargs["alert_id"])
