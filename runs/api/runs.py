"""The runs resource. A view validates, calls one verb, renders."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_serializer
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.backends.epochs import Written
from agui_host.backends.postgres.servers import replica
from agui_host.kinds import starts
from agui_host.protocol.errors import Invalid
from agui_host.protocol.input.numbers import whole
from agui_host.protocol.schema import EVENTS
from agui_host.protocol.views import raw
from agui_host.protocol.views.alone import Alone
from agui_host.teams.api import pages
from agui_host.teams.api.bodies import without_body
from agui_host.teams.authentication import principal_of
from events import journal
from events.journal import Page
from runs.access import access, context, cursors, sight, start
from runs.api import filters
from runs.api.filters import RunFilter
from runs.api.serializers import RunRowSerializer, RunSerializer, StartSerializer
from runs.lifecycle import lifecycle
from runs.lifecycle.words import search
from runs.models import Run


class NewestFirst(pages.NewestFirst):
    """In the order of the ids, or of the times that the request filters by: each has its index."""

    ordering = "-journal_id"

    def get_ordering(self, request: Request, queryset: Any, view: Any) -> tuple[str, ...]:
        """By time if the query names one, since ids and times can differ; else by id."""
        return filters.BY_TIME if self.is_timed(request) else filters.BY_ID

    def is_timed(self, request: Request) -> bool:
        """Whether the query names a time."""
        return bool({"created_after", "created_before"} & request.query_params.keys())

    def begins_below(self, request: Request) -> tuple[bool, UUID | None]:
        """Whether the page is of older runs by their ids; older than which. Raises BadCursor."""
        if self.is_timed(request):
            return False, None
        self.ordering = "-journal_id"
        cursor = self.decode_cursor(request)
        if cursor is None or cursor.position is None:
            return True, None
        return not cursor.reverse, UUID(cursor.position)

    def parse_position(self, text: str) -> object:
        """The value that a cursor holds, of the type that the list is ordered by."""
        timed = "-created_at" in self.ordering
        return datetime.fromisoformat(text) if timed else UUID(text)


@starts
class RunList(pages.FromReplica, generics.ListAPIView[Run]):
    """The runs that the caller may see."""

    serializer_class = RunRowSerializer
    pagination_class = NewestFirst
    filterset_class = RunFilter
    queryset = Run.objects.none()

    def get_queryset(self) -> QuerySet[Run]:
        return RunRowSerializer.rows(access.visible(principal_of(self.request)))

    def paginate_queryset(self, queryset: Any) -> Any:
        """The page; with a text, from the newest runs that contain it if they fill the page."""
        query = self.request.query_params
        text = query.get("q")
        principal = principal_of(self.request)
        if not text:
            rows = super().paginate_queryset(self._narrowed(queryset)) or []
            return [access.faced(principal, run) for run in rows]
        # Words are of the whole thread, which not everybody sees who sees a run of it.
        with_threads = queryset.filter(access.of_seen_threads(principal))
        paginator = cast(NewestFirst, self.paginator)
        is_older, below = paginator.begins_below(self.request)
        if is_older:
            matches = search.newest(principal.team.pk, text, below)
            few = filters.passing(search.among(with_threads, matches.ids), query)
            page = super().paginate_queryset(few)
            if matches.complete or paginator.has_next:
                return page
        return super().paginate_queryset(
            search.containing(self._narrowed(with_threads), principal.team.pk, text)
        )

    def _narrowed(self, runs: QuerySet[Run]) -> QuerySet[Run]:
        order = cast(NewestFirst, self.paginator).get_ordering(self.request, runs, self)
        return filters.narrowed(runs, self._of_team, self.request.query_params, order)

    def _of_team(self) -> QuerySet[Run]:
        everyone = Run.objects.for_team(principal_of(self.request).team)
        passing = RunFilter(self.request.query_params, everyone, request=self.request)
        return cast("QuerySet[Run]", passing.qs)

    @extend_schema(
        request=StartSerializer,
        parameters=[OpenApiParameter("Idempotency-Key", str, OpenApiParameter.HEADER)],
        responses={202: RunSerializer},
    )
    def post(self, request: Request) -> Response:
        """Start a run; ``?wait=30`` answers with its end if that comes in time."""
        started = start.start_from_api(
            principal_of(request), request.data, key=request.headers.get("Idempotency-Key")
        )
        return Response(RunSerializer(started.run).data, status=202)


class RunDetail(generics.RetrieveAPIView[Run]):
    """One run."""

    serializer_class = RunSerializer
    queryset = Run.objects.none()

    @extend_schema(responses={200: RunSerializer})
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One run."""
        return Response(RunSerializer(access.find(principal_of(request), kwargs["run_id"])).data)


class RunCancel(APIView):
    """Stops a run."""

    @extend_schema(request=None, responses={202: RunSerializer})
    @without_body
    def post(self, request: Request, run_id: UUID) -> Response:
        """Stop a run on purpose. An ended run stays as it is: cancelling twice is fine."""
        principal = principal_of(request)
        lifecycle.cancel(access.find(principal, run_id, "cancel"), principal)
        return Response(RunSerializer(access.find(principal, run_id)).data, status=202)


class ContextEntrySerializer(serializers.Serializer[Any]):
    """An entry of the context that the agent got."""

    provider = serializers.CharField(allow_null=True, help_text="null: sent by the client.")
    description = serializers.CharField()
    value = serializers.CharField()


class ContextFailureSerializer(serializers.Serializer[Any]):
    """A context provider that gave nothing, and why."""

    provider = serializers.CharField()
    reason = serializers.ChoiceField(["error", "timeout"])


@extend_schema_serializer(component_name="RunContext")
class ContextSerializer(serializers.Serializer[Any]):
    """The context of a run."""

    context = ContextEntrySerializer(many=True)  # type: ignore[assignment]
    failed = ContextFailureSerializer(many=True)


class RunContext(APIView):
    """The context that a run's agent got."""

    @extend_schema(responses={200: ContextSerializer})
    def get(self, request: Request, run_id: UUID) -> Response:
        """The agent's input besides the messages: the client's context, and the team's."""
        return Response(context.describe(principal_of(request), run_id))


class RunEvents(APIView):
    """The stored events of a run, in pages."""

    @extend_schema(
        parameters=[
            OpenApiParameter("after", str, description="Events after this cursor; default 0."),
            OpenApiParameter("limit", int, description=f"At most {journal.PAGE_ROWS}."),
            OpenApiParameter("raw", bool, description="false leaves out RAW and rawEvent."),
            OpenApiParameter(
                "type",
                str,
                description="Only events whose type contains this, such as TOOL_CALL. Continue "
                "with the answer's after until it is head, also after a page without events.",
            ),
        ],
        responses={200: {"$ref": "#/components/schemas/EventPage"}},
    )
    def get(self, request: Request, run_id: UUID) -> HttpResponse:
        """A page of the log; with ``Accept: text/event-stream`` the same URL streams."""
        principal = principal_of(request)
        run = access.find(principal, run_id)
        cursor = cursors.from_request(
            {key.lower(): value for key, value in request.headers.items()},
            request.query_params.dict(),
        )
        after = cursors.place(run, cursor)
        alone = sight.view(principal, run, after)
        query = request.query_params.dict()
        page = replica.read(lambda: _page(run.pk, after, query, alone))
        # The stored payloads are sent unchanged: no event is parsed or encoded again.
        events = [(seq, payload) for seq, _, payload in page.rows]
        if not cursors.raw(query):
            numbered = ((seq, raw.payload(payload.encode())) for seq, payload in events)
            events = [(seq, payload.decode()) for seq, payload in numbered if payload is not None]
        rows = ",".join(f'{{"seq":{seq},"event":{payload}}}' for seq, payload in events)
        last = page.through or (page.rows[-1][0] if page.rows else after)
        ended = "true" if page.closed else "false"
        after_, head = (_cursor(page.written, seq) for seq in (last, page.head))
        body = f'{{"events":[{rows}],"after":{after_},"head":{head},"ended":{ended}}}'
        return HttpResponse(body, content_type="application/json")


def _cursor(written: Written, seq: int) -> str:
    """A client's cursor to continue: a number, unless a log has events of two epochs."""
    position = written.at(seq)
    return str(seq) if written.has(seq) else f'"{position.name}"'


def _page(run_id: UUID, after: int, query: Mapping[str, str], alone: Alone | None) -> Page:
    limit, part = _limit(query.get("limit")), query.get("type", "").upper()
    types = [name for name in EVENTS if part in name]
    if alone is not None:
        return _shown(journal.read_after(run_id, after, limit), types, alone)
    if not part:
        return journal.read_after(run_id, after, limit)
    return journal.search_after(run_id, after, types, limit)


def _shown(page: Page, types: Collection[str], alone: Alone) -> Page:
    """The page for a reader of the run alone, whose view needs the events of all types."""
    visible = [(seq, kind, alone.see(stored.encode()).decode()) for seq, kind, stored in page.rows]
    rows = [row for row in visible if row[1] in types]
    return page._replace(rows=rows, through=page.rows[-1][0] if page.rows else page.through)


def _limit(value: str | None) -> int:
    if value is None:
        return journal.PAGE_ROWS
    if (limit := whole(value, 1, journal.PAGE_ROWS)) is None:
        raise Invalid(f"limit must be 1 to {journal.PAGE_ROWS}.", details={"path": "limit"})
    return limit
