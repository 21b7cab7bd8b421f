"""A team's knowledge for its agents: documents, shared notes, a person's own profile."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.runtimes.knowledge import documents, notes
from agui_host.runtimes.models import Document, MediaType, Wisdom
from agui_host.teams.api.bodies import Body
from agui_host.teams.api.pages import NewestFirst
from agui_host.teams.authentication import principal_of


class DocumentSerializer(serializers.ModelSerializer[Document]):
    """A document without its text; ``size`` is in bytes."""

    class Meta:
        model = Document
        fields = ["id", "title", "media_type", "size", "uploaded_by", "created_at"]
        read_only_fields = fields


class UploadSerializer(Body):
    """A document to store."""

    title = serializers.CharField(max_length=200)
    media_type = serializers.ChoiceField(MediaType.choices, default=MediaType.MARKDOWN)
    text = serializers.CharField(trim_whitespace=False)


class DocumentList(generics.ListAPIView[Document]):
    """The team's documents, newest first."""

    serializer_class = DocumentSerializer
    pagination_class = NewestFirst
    queryset = Document.objects.none()

    def get_queryset(self) -> QuerySet[Document]:
        return documents.visible(principal_of(self.request))

    @extend_schema(request=UploadSerializer, responses={201: DocumentSerializer})
    def post(self, request: Request) -> Response:
        """Upload a document: plain text, Markdown or CSV."""
        fields = UploadSerializer.read(request)
        row = documents.upload(principal_of(request), fields)
        return Response(DocumentSerializer(row).data, status=201)


class DocumentDetail(generics.RetrieveAPIView[Document]):
    """One document of the team."""

    serializer_class = DocumentSerializer
    queryset = Document.objects.none()

    @extend_schema(responses={200: DocumentSerializer})
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One document."""
        row = documents.find(principal_of(request), kwargs["document_id"])
        return Response(DocumentSerializer(row).data)

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request, document_id: UUID) -> Response:
        """Delete it; runs that were given parts of it keep those."""
        documents.delete(principal_of(request), document_id)
        return Response(status=204)


class WisdomSerializer(serializers.ModelSerializer[Wisdom]):
    """A note that every agent with this context gets."""

    class Meta:
        model = Wisdom
        fields = ["id", "text", "written_by", "created_at"]
        read_only_fields = fields


class WisdomNewSerializer(Body):
    """A note to write."""

    text = serializers.CharField()


class WisdomList(generics.ListAPIView[Wisdom]):
    """The team's notes for its agents, newest first."""

    serializer_class = WisdomSerializer
    pagination_class = NewestFirst
    queryset = Wisdom.objects.none()

    def get_queryset(self) -> QuerySet[Wisdom]:
        return notes.wisdom(principal_of(self.request))

    @extend_schema(request=WisdomNewSerializer, responses={201: WisdomSerializer})
    def post(self, request: Request) -> Response:
        """Write a note."""
        fields = WisdomNewSerializer.read(request)
        row = notes.write(principal_of(request), fields["text"])
        return Response(WisdomSerializer(row).data, status=201)


class WisdomDetail(APIView):
    """One note of the team."""

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request, note_id: UUID) -> Response:
        """Delete a note."""
        notes.delete(principal_of(request), note_id)
        return Response(status=204)


class ProfileSerializer(Body):
    """The caller's text about themselves."""

    about = serializers.CharField(allow_blank=True)


class ProfileDetail(APIView):
    """The caller's own profile in this team."""

    @extend_schema(responses={200: ProfileSerializer})
    def get(self, request: Request) -> Response:
        """What you wrote about yourself for this team's agents. Keys have no profile."""
        return Response({"about": notes.about(principal_of(request))})

    @extend_schema(request=ProfileSerializer, responses={200: ProfileSerializer})
    def put(self, request: Request) -> Response:
        """Replace the text."""
        fields = ProfileSerializer.read(request)
        return Response({"about": notes.describe(principal_of(request), fields["about"])})
