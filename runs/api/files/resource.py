"""The files resource: stored files, and their end."""

from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.teams.api.pages import FromReplica, NewestFirst
from agui_host.teams.authentication import principal_of
from runs.access.files import files
from runs.api.files.serializers import FileSerializer
from runs.models import File


class FileList(FromReplica, generics.ListAPIView[File]):
    """The files that you have uploaded, and those of the threads that you see, newest first."""

    serializer_class = FileSerializer
    pagination_class = NewestFirst
    queryset = File.objects.none()

    def get_queryset(self) -> QuerySet[File]:
        return files.visible(principal_of(self.request))


class FileDetail(APIView):
    @extend_schema(responses={200: FileSerializer})
    def get(self, request: Request, file_id: UUID) -> Response:
        """One file, without its content."""
        return Response(FileSerializer(files.find(principal_of(request), file_id)).data)

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request, file_id: UUID) -> Response:
        """Delete a file that no thread refers to."""
        files.delete(principal_of(request), file_id)
        return Response(status=204)
