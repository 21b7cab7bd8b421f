"""The issues resource: failed runs, grouped by their error."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.protocol.errors import Invalid
from agui_host.teams.api.bodies import Body
from agui_host.teams.api.pages import FromReplica, NewestFirst
from agui_host.teams.authentication import principal_of
from runs.access.insight import issues
from runs.models import Issue, IssueNote
from runs.models.insight.issue import LONGEST_NOTE


class NoteSerializer(serializers.ModelSerializer[IssueNote]):
    """A note on an issue."""

    class Meta:
        model = IssueNote
        fields = ["text", "author", "created_at"]
        read_only_fields = fields


class IssueRowSerializer(serializers.ModelSerializer[Issue]):
    """Failed runs of one agent with the same error; counts are of the runs that the caller sees."""

    agent = serializers.CharField(source="agent.slug")
    error = serializers.CharField(source="error_code", help_text="The code of the failed runs.")
    message = serializers.CharField(help_text="Without values: “…” and # replace them.")
    status = serializers.SerializerMethodField()
    came_back = serializers.SerializerMethodField()
    count = serializers.IntegerField()
    first_seen = serializers.DateTimeField()
    last_seen = serializers.DateTimeField()
    days = serializers.SerializerMethodField()
    assigned_to = serializers.CharField(
        source="assignee.user.username", default=None, help_text="The login of a member, or null."
    )

    class Meta:
        model = Issue
        fields = ["id", "agent", "error", "message", "status", "came_back", "count", "first_seen",
                  "last_seen", "days", "assigned_to", "resolved_at", "resolved_by"]  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(serializers.ChoiceField([issues.OPEN, issues.RESOLVED]))
    def get_status(self, row: Issue) -> str:
        return issues.state_of(row)

    def get_came_back(self, row: Issue) -> bool:
        """Whether a run failed after the issue was resolved; then it is open."""
        return issues.came_back(row)

    @extend_schema_field(serializers.ListField(child=serializers.IntegerField()))
    def get_days(self, row: Issue) -> list[int]:
        """The failures of each of the latest 14 days of UTC, oldest first."""
        days: list[int] = self.context["days"][row.pk]
        return days


class IssueSerializer(IssueRowSerializer):
    """An issue with its notes."""

    notes = serializers.SerializerMethodField()

    class Meta(IssueRowSerializer.Meta):
        fields = [*IssueRowSerializer.Meta.fields, "notes"]
        read_only_fields = fields

    @extend_schema_field(NoteSerializer(many=True))
    def get_notes(self, row: Issue) -> Any:
        """The notes, oldest first."""
        return NoteSerializer(issues.notes(row), many=True).data


class IssueChangeSerializer(Body):
    """Changes to an issue; absent members stay as they are."""

    status = serializers.ChoiceField(issues.STATUSES, required=False)
    assigned_to = serializers.CharField(
        max_length=150, required=False, allow_null=True, help_text="The login of a member, or null."
    )
    note = serializers.CharField(
        max_length=LONGEST_NOTE, required=False, help_text="A note to add."
    )


class NewestIssues(NewestFirst):
    """Pages of issues by their newest failure."""

    ordering = "-last_seen"
    position = datetime.fromisoformat


class IssueList(FromReplica, generics.ListAPIView[Issue]):
    """The team's issues; those with the newest failures come first."""

    serializer_class = IssueRowSerializer
    pagination_class = NewestIssues
    queryset = Issue.objects.none()
    queries = ("status",)

    def get_queryset(self) -> QuerySet[Issue]:
        state = self.request.query_params.get("status", issues.ALL)
        if state not in issues.STATES:
            raise Invalid("The status is open, resolved or all.", details={"path": "status"})
        return issues.listed(principal_of(self.request), state)

    def paginate_queryset(self, queryset: Any) -> Any:
        """The page, with the failures of each day."""
        page = super().paginate_queryset(queryset) or []
        self.days = issues.days(principal_of(self.request), page)
        return page

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), "days": getattr(self, "days", {})}

    @extend_schema(parameters=[OpenApiParameter("status", str, enum=issues.STATES)])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The team's issues; those with the newest failures come first."""
        return super().get(request, *args, **kwargs)


class IssueDetail(APIView):
    @extend_schema(responses={200: IssueSerializer})
    def get(self, request: Request, issue_id: UUID, **kwargs: Any) -> Response:
        """One issue. Its runs are `GET /api/v1/runs?issue=` with its id."""
        return _answer(request, issues.find(principal_of(request), issue_id))

    @extend_schema(request=IssueChangeSerializer, responses={200: IssueSerializer})
    def patch(self, request: Request, issue_id: UUID) -> Response:
        """Resolve, assign or annotate an issue."""
        principal = principal_of(request)
        issues.find(principal, issue_id)
        values = IssueChangeSerializer.read(request)
        return _answer(request, issues.change(principal, issue_id, values))


def _answer(request: Request, row: Issue) -> Response:
    context = {"days": issues.days(principal_of(request), [row])}
    return Response(IssueSerializer(row, context=context).data)
