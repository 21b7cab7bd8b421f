"""The saved views resource: filters and columns of the runs list under a name."""

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
from runs.access.inspect import saved_views
from runs.models import SavedView
from runs.models.saved_view import LONGEST_NAME, LONGEST_QUERY


class SavedViewSerializer(serializers.ModelSerializer[SavedView]):
    class Meta:
        model = SavedView
        fields = ["id", "name", "query", "shared", "created_by", "created_at"]
        read_only_fields = fields


class SavedViewFieldsSerializer(Body):
    """The fields of a view that can be set."""

    name = serializers.CharField(max_length=LONGEST_NAME)
    query = serializers.CharField(
        max_length=LONGEST_QUERY,
        allow_blank=True,
        required=False,
        help_text="The text after the `?` of the runs list; names it does not know do nothing.",
    )
    shared = serializers.BooleanField(required=False, help_text="For the whole team.")


class SavedViewChangeSerializer(SavedViewFieldsSerializer):
    """A change; members that are left out stay."""

    name = serializers.CharField(max_length=LONGEST_NAME, required=False)


class SavedViewList(generics.ListAPIView[SavedView]):
    """The views of the team and your own, newest first."""

    serializer_class = SavedViewSerializer
    pagination_class = NewestFirst
    queryset = SavedView.objects.none()

    def get_queryset(self) -> QuerySet[SavedView]:
        return saved_views.visible(principal_of(self.request))

    @extend_schema(request=SavedViewFieldsSerializer, responses={201: SavedViewSerializer})
    def post(self, request: Request) -> Response:
        """Save a view, for yourself or for the team."""
        row = saved_views.create(principal_of(request), SavedViewFieldsSerializer.read(request))
        return Response(SavedViewSerializer(row).data, status=201)


class SavedViewDetail(APIView):
    @extend_schema(responses={200: SavedViewSerializer})
    def get(self, request: Request, view_id: UUID) -> Response:
        """One view."""
        row = saved_views.find(principal_of(request), view_id)
        return Response(SavedViewSerializer(row).data)

    @extend_schema(request=SavedViewChangeSerializer, responses={200: SavedViewSerializer})
    def patch(self, request: Request, view_id: UUID) -> Response:
        """Change a view of yours; one of the team also with `manage_views`."""
        principal = principal_of(request)
        saved_views.find(principal, view_id)
        row = saved_views.change(principal, view_id, SavedViewChangeSerializer.read(request))
        return Response(SavedViewSerializer(row).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, view_id: UUID) -> Response:
        """Remove a view of yours; one of the team also with `manage_views`."""
        saved_views.remove(principal_of(request), view_id)
        return Response(status=204)
