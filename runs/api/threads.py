"""The threads resource: the list with titles, tags and archive, and changes to them."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.errors import BadCursor
from agui_host.protocol.errors import Invalid
from agui_host.protocol.input.numbers import whole
from agui_host.teams.api.bodies import Body
from agui_host.teams.api.queries import refuse_unknown
from agui_host.teams.authentication import principal_of
from runs.access import copilot_threads, threads
from runs.api.erasure import ThreadErasure
from runs.models import Thread, Visibility

PAGE, LONGEST_PAGE = 50, 200
QUERIES = frozenset({"tag", "archived", "agent", "thread_id", "cursor", "limit"})
YES_OR_NO = {"true": True, "false": False}


class ThreadSerializer(serializers.ModelSerializer[Thread]):
    """A thread: ``id`` is the host's, ``thread_id`` the client's name for it."""

    title = serializers.SerializerMethodField()
    asked = serializers.SerializerMethodField()
    answered = serializers.SerializerMethodField()
    archived = serializers.SerializerMethodField()
    tags = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = Thread
        fields = [
            "id",
            "thread_id",
            "title",
            "asked",
            "answered",
            "tags",
            "archived",
            "visibility",
            "created_by",
            "created_at",
        ]
        read_only_fields = fields

    def get_title(self, thread: Thread) -> str:
        """Its title; until people or clients set one, its first question."""
        return threads.title_of(thread)

    def get_asked(self, thread: Any) -> str:
        """The first 200 characters of the newest run's question."""
        return thread.asked or ""

    def get_answered(self, thread: Any) -> str:
        """The first 200 characters of the newest run's last text."""
        return thread.answered or ""

    def get_archived(self, thread: Thread) -> bool:
        """Whether the thread is left out of lists."""
        return thread.archived_at is not None


class ChangeThreadSerializer(Body):
    """Changes to a thread; absent members stay as they are."""

    title = serializers.CharField(max_length=200, required=False, allow_blank=True)
    tags = serializers.ListField(
        child=serializers.CharField(max_length=threads.LONGEST_TAG),
        max_length=threads.MOST_TAGS,
        required=False,
    )
    archived = serializers.BooleanField(required=False)
    visibility = serializers.ChoiceField(Visibility.choices, required=False)


class ThreadsSerializer(serializers.Serializer[Any]):
    """``next`` is the cursor of the next page, null on the last."""

    results = ThreadSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class Threads(APIView):
    """The threads that the caller may see."""

    @extend_schema(
        operation_id="api_v1_threads_list",
        parameters=[
            OpenApiParameter("tag", str),
            OpenApiParameter("archived", bool, description="Absent: both."),
            OpenApiParameter("agent", str, description="The agent that answered last."),
            OpenApiParameter("thread_id", str),
            OpenApiParameter("cursor", str),
            OpenApiParameter("limit", int, description=f"At most {LONGEST_PAGE}."),
        ],
        responses={200: ThreadsSerializer},
    )
    def get(self, request: Request) -> Response:
        """The team's threads that have runs, newest activity first."""
        query = request.query_params
        refuse_unknown(request, QUERIES)
        limit = _limit(query.get("limit"))
        threads = copilot_threads.newest(
            principal_of(request),
            agent=query.get("agent"),
            before=_cursor(query.get("cursor")),
            limit=limit + 1,
            tag=query.get("tag"),
            archived=_archived(query.get("archived")),
            thread_id=query.get("thread_id"),
        )
        page = threads[:limit]
        results = ThreadSerializer([each.thread for each in page], many=True).data
        more = str(page[-1].last.pk) if len(threads) > limit else None
        return Response({"results": results, "next": more})


class ThreadDetail(ThreadErasure):
    """One thread."""

    @extend_schema(responses={200: ThreadSerializer})
    def get(self, request: Request, key: UUID) -> Response:
        """One thread."""
        return Response(ThreadSerializer(threads.find(principal_of(request), key)).data)

    @extend_schema(request=ChangeThreadSerializer, responses={200: ThreadSerializer})
    def patch(self, request: Request, key: UUID) -> Response:
        """Set title, tags, archive and visibility, if present."""
        principal = principal_of(request)
        threads.find(principal, key)
        values = ChangeThreadSerializer.read(request)
        return Response(ThreadSerializer(threads.change(principal, key, values)).data)


def _limit(value: str | None) -> int:
    if value is None:
        return PAGE
    if (limit := whole(value, 1, LONGEST_PAGE)) is None:
        raise Invalid(f"limit must be 1 to {LONGEST_PAGE}.", details={"path": "limit"})
    return limit


def _archived(value: str | None) -> bool | None:
    if value is None:
        return None
    if value not in YES_OR_NO:
        raise Invalid("archived must be true or false.", details={"path": "archived"})
    return YES_OR_NO[value]


def _cursor(value: str | None) -> UUID | None:
    try:
        return UUID(value) if value else None
    except ValueError:
        raise BadCursor("This cursor does not belong to this list.") from None
