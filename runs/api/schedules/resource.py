"""The schedules resource."""

from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.kinds import starts
from agui_host.teams.api.bodies import without_body
from agui_host.teams.api.pages import NewestFirst
from agui_host.teams.authentication import principal_of
from runs.access.schedules import manage
from runs.api.schedules.serializers import (
    ScheduleChangeSerializer,
    ScheduleFieldsSerializer,
    ScheduleRowSerializer,
    ScheduleSerializer,
)
from runs.api.serializers import RunSerializer
from runs.models import Schedule
from runs.models.short import short


class ScheduleList(generics.ListAPIView[Schedule]):
    """The team's schedules, newest first, including stopped ones."""

    serializer_class = ScheduleRowSerializer
    pagination_class = NewestFirst
    queryset = Schedule.objects.none()

    def get_queryset(self) -> QuerySet[Schedule]:
        return short(manage.visible(principal_of(self.request)), "input")

    @extend_schema(request=ScheduleFieldsSerializer, responses={201: ScheduleSerializer})
    def post(self, request: Request) -> Response:
        """Make a schedule; its runs are the caller's."""
        row = manage.create(principal_of(request), ScheduleFieldsSerializer.read(request))
        return Response(ScheduleSerializer(row).data, status=201)


class ScheduleDetail(APIView):
    @extend_schema(responses={200: ScheduleSerializer})
    def get(self, request: Request, schedule_id: UUID) -> Response:
        """One schedule."""
        row = manage.find(principal_of(request), schedule_id)
        return Response(ScheduleSerializer(row).data)

    @extend_schema(request=ScheduleChangeSerializer, responses={200: ScheduleSerializer})
    def patch(self, request: Request, schedule_id: UUID) -> Response:
        """Change, pause or resume a schedule; fields that are left out stay.

        Unless it is only paused, it runs as the caller from then on.
        """
        principal = principal_of(request)
        manage.find(principal, schedule_id)
        row = manage.change(principal, schedule_id, ScheduleChangeSerializer.read(request))
        return Response(ScheduleSerializer(row).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, schedule_id: UUID) -> Response:
        """Delete a schedule; its runs stay."""
        manage.remove(principal_of(request), schedule_id)
        return Response(status=204)


@starts
class ScheduleRun(APIView):
    @extend_schema(
        request=None,
        parameters=[OpenApiParameter("Idempotency-Key", str, OpenApiParameter.HEADER)],
        responses={202: RunSerializer},
    )
    @without_body
    def post(self, request: Request, schedule_id: UUID) -> Response:
        """Start a run of it now, as the caller; its times stay as they are."""
        run = manage.run_now(
            principal_of(request), schedule_id, key=request.headers.get("Idempotency-Key")
        )
        return Response(RunSerializer(run).data, status=202)
