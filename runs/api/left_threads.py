"""Private threads of people who have left the team: an owner hands them over, or erases them."""

from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.teams.api.bodies import Body
from agui_host.teams.api.pages import FromReplica, NewestFirst
from agui_host.teams.authentication import principal_of
from runs.access import threads
from runs.models import Thread


class LeftThreadSerializer(serializers.ModelSerializer[Thread]):
    """A thread that its creator left behind, without anything of its content."""

    class Meta:
        model = Thread
        fields = ["id", "created_by", "created_at"]
        read_only_fields = fields


class HandOverSerializer(Body):
    """The member who gets the thread."""

    member = serializers.IntegerField(
        min_value=1, max_value=2**63 - 1, help_text="The `id` of a member."
    )


class LeftThreads(FromReplica, generics.ListAPIView[Thread]):
    """The private threads of people who have left the team or were deactivated."""

    serializer_class = LeftThreadSerializer
    pagination_class = NewestFirst
    queryset = Thread.objects.none()

    def get_queryset(self) -> QuerySet[Thread]:
        """Only owners of the team list them."""
        return threads.left_behind(principal_of(self.request))


class LeftThread(APIView):
    """One of them."""

    @extend_schema(responses={204: None})
    def delete(self, request: Request, key: UUID) -> Response:
        """Erase it with all its runs, for good; 409 while a run has not ended."""
        threads.erase(principal_of(request), key)
        return Response(status=204)


class HandOver(APIView):
    @extend_schema(request=HandOverSerializer, responses={200: LeftThreadSerializer})
    def post(self, request: Request, key: UUID) -> Response:
        """Hand it over to a member, who alone sees it from then on."""
        principal = principal_of(request)
        principal.require("manage_team")
        member = HandOverSerializer.read(request)["member"]
        return Response(LeftThreadSerializer(threads.hand_over(principal, key, member)).data)
