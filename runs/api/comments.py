"""Comments on a run, and ratings."""

from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_serializer
from rest_framework import serializers
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.protocol.fold.outline_row import LONGEST_ID
from agui_host.teams import authentication
from agui_host.teams.api.bodies import Body
from agui_host.teams.api.pages import NewestFirst
from agui_host.teams.api.queries import refuse_unknown
from agui_host.teams.authentication import Principal, principal_of
from runs.access import comments, sharing
from runs.models import Comment, Feedback, Thumb

LONGEST = 10_000
PAGES = [
    OpenApiParameter("cursor", str, description="From `next` or `previous` of a page."),
    OpenApiParameter("limit", int, description="At most 200, which is the default."),
]


class CommentSerializer(serializers.ModelSerializer[Comment]):
    """``seq`` is the event that it is about, null for the whole run."""

    run = serializers.UUIDField(source="run_id", read_only=True)
    mentions = serializers.SerializerMethodField()

    class Meta:
        model = Comment
        fields = ["id", "run", "seq", "text", "author", "created_at", "mentions"]
        read_only_fields = fields

    def get_mentions(self, comment: Comment) -> list[str]:
        """The sign-in names of the people whom the comment mentions."""
        return sorted(mention.user.get_username() for mention in comment.mentions.all())


class WrittenSerializer(CommentSerializer):
    """A new comment; ``not_reached`` are members it names who may not see the run."""

    not_reached = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta(CommentSerializer.Meta):
        fields = [*CommentSerializer.Meta.fields, "not_reached"]
        read_only_fields = fields


class WriteSerializer(Body):
    """A comment to write; ``seq`` is the event that it is about."""

    text = serializers.CharField(max_length=LONGEST)
    seq = serializers.IntegerField(
        min_value=1, max_value=2**31 - 1, required=False, allow_null=True
    )


@extend_schema_serializer(component_name="CommentList")
class CommentsSerializer(serializers.Serializer[Any]):
    """The comments of a run."""

    comments = CommentSerializer(many=True)
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)


class OldestFirst(NewestFirst):
    """Pages of at most 200, which is also the default."""

    page_size = NewestFirst.max_page_size
    ordering = "id"

    def read(self, request: Request, view: APIView, rows: QuerySet[Any]) -> list[Any]:
        """The rows of the page that the query asks for. Raises UnknownMember, BadCursor."""
        refuse_unknown(request, {self.cursor_query_param, self.page_size_query_param})
        return list(self.paginate_queryset(rows, request, view) or ())

    def answer(self, name: str, rows: Any) -> Response:
        """The page, with the addresses of its neighbours."""
        neighbours = {"next": self.get_next_link(), "previous": self.get_previous_link()}
        return Response({name: rows, **neighbours})


class Comments(APIView):
    """The comments of a run."""

    @extend_schema(parameters=PAGES, responses={200: CommentsSerializer})
    def get(self, request: Request, run_id: UUID) -> Response:
        """A run's comments, oldest first."""
        pages = OldestFirst()
        rows = pages.read(request, self, comments.listed(principal_of(request), run_id))
        return pages.answer("comments", CommentSerializer(rows, many=True).data)

    @extend_schema(request=WriteSerializer, responses={201: WrittenSerializer})
    def post(self, request: Request, run_id: UUID) -> Response:
        """Comment on a run, or on one of its events; ``@login`` mentions a member."""
        data = WriteSerializer.read(request)
        comment = comments.write(principal_of(request), run_id, data["text"], data.get("seq"))
        comment.refresh_from_db()
        return Response(WrittenSerializer(comment).data, status=201)


class LinkAuthentication(BaseAuthentication):
    """``request.auth`` is the visitor with the URL's link, signed in or not."""

    def authenticate(self, request: Request) -> tuple[User | AnonymousUser, Principal]:
        """Raises NotFound, Unauthenticated; Forbidden for another site's page."""
        person = authentication.person(request.COOKIES)
        token = request.parser_context["kwargs"]["token"]
        principal = sharing.open_link(token, person).principal
        if principal.via_cookie and request.method not in SAFE_METHODS:
            headers = {name.lower(): value for name, value in request.headers.items()}
            authentication.guard_cookie(
                headers,
                host=request.get_host(),
                scheme=request.scheme or "http",
                json_body=True,
            )
        return person or AnonymousUser(), principal


@extend_schema(exclude=True)
class SharedComments(Comments):
    """The comments for signed-in visitors of a link that allows comments."""

    authentication_classes = [LinkAuthentication]

    def get(self, request: Request, run_id: UUID, token: str = "") -> Response:
        """The comments on a shared run."""
        return super().get(request, run_id)

    def post(self, request: Request, run_id: UUID, token: str = "") -> Response:
        """Comment on a shared run."""
        return super().post(request, run_id)


class CommentDetail(APIView):
    """One comment."""

    @extend_schema(responses={204: None})
    def delete(self, request: Request, run_id: UUID, comment_id: UUID) -> Response:
        """Delete a comment."""
        comments.delete(principal_of(request), run_id, comment_id)
        return Response(status=204)


class FeedbackSerializer(serializers.ModelSerializer[Feedback]):
    """One person's rating of an answer, or without a ``message_id`` of the whole run."""

    run = serializers.UUIDField(source="run_id", read_only=True)

    class Meta:
        model = Feedback
        fields = ["run", "message_id", "author", "thumb", "text", "updated_at"]
        read_only_fields = fields


class RateSerializer(Body):
    """A rating to give."""

    thumb = serializers.ChoiceField(Thumb.choices)
    text = serializers.CharField(max_length=LONGEST, required=False, default="", allow_blank=True)
    message_id = serializers.CharField(
        required=False, default="", allow_blank=True, trim_whitespace=False, max_length=LONGEST_ID,
        help_text="A message that the agent wrote in the run; without one, the whole run.",
    )  # fmt: skip


class RatingsSerializer(serializers.Serializer[Any]):
    """The ratings of a run."""

    feedback = FeedbackSerializer(many=True)
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)


class OldestRatings(OldestFirst):
    position = int


class Ratings(APIView):
    """The ratings of a run and its answers; each person has one for each."""

    @extend_schema(parameters=PAGES, responses={200: RatingsSerializer})
    def get(self, request: Request, run_id: UUID) -> Response:
        """People's ratings of a run and of its answers, oldest first."""
        pages = OldestRatings()
        rows = pages.read(request, self, comments.ratings(principal_of(request), run_id))
        return pages.answer("feedback", FeedbackSerializer(rows, many=True).data)

    @extend_schema(request=RateSerializer, responses={200: FeedbackSerializer})
    def put(self, request: Request, run_id: UUID) -> Response:
        """Rate an answer of a run, or the run; a second rating replaces the first."""
        data = RateSerializer.read(request)
        thumb, message_id = Thumb(data["thumb"]), data["message_id"]
        rated = comments.rate(principal_of(request), run_id, thumb, data["text"], message_id)
        return Response(FeedbackSerializer(rated).data)

    @extend_schema(
        request=None,
        responses={204: None},
        parameters=[
            OpenApiParameter("message_id", str, description="Of an answer; else of the run.")
        ],
    )
    def delete(self, request: Request, run_id: UUID) -> Response:
        """Take your rating of an answer, or of the run, back."""
        refuse_unknown(request, {"message_id"})
        comments.unrate(principal_of(request), run_id, request.query_params.get("message_id", ""))
        return Response(status=204)
