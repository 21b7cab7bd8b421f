"""The interrupts resource: a team's inbox of questions, and the way to answer one."""

import json
from typing import Any
from uuid import UUID

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.kinds import starts
from agui_host.protocol.input.fields import picked
from agui_host.protocol.questions import langchain
from agui_host.teams.api.bodies import Body
from agui_host.teams.api.pages import FromReplica, NewestFirst
from agui_host.teams.authentication import Principal, principal_of
from agui_host.teams.tenancy import TeamQuerySet
from runs.access import access, inbox, start
from runs.access.notices import turns
from runs.api.serializers import RunSerializer
from runs.models import Interrupt, InterruptStatus
from runs.models.short import is_long, short, value

ANY_JSON = {"nullable": True, "description": "Any JSON."}
OBJECT = {"type": "object", "nullable": True}
TEXT = {"type": "string", "nullable": True, "description": "Null if it is longer than 4 KB."}


class InterruptSerializer(serializers.ModelSerializer[Interrupt]):
    """A question: ``id`` is the host's, ``interrupt_id`` the agent's; ``run`` asked it last."""

    run = serializers.UUIDField(source="run_id", read_only=True)
    run_id = serializers.CharField(source="run.run_id", read_only=True)
    thread_id = serializers.CharField(source="thread.thread_id", read_only=True)
    agent = serializers.SlugField(source="run.agent.slug", read_only=True)
    response_schema = serializers.SerializerMethodField()
    metadata = serializers.SerializerMethodField()
    payload = serializers.SerializerMethodField()
    answering_run = serializers.UUIDField(
        source="answering_run_id", read_only=True, allow_null=True
    )

    claimed_at = serializers.SerializerMethodField()
    claimed_by = serializers.SerializerMethodField()

    class Meta:
        model = Interrupt
        fields = [
            "id",
            "interrupt_id",
            "run",
            "run_id",
            "thread_id",
            "agent",
            "reason",
            "message",
            "tool_call_id",
            "response_schema",
            "metadata",
            "status",
            "expires_at",
            "created_at",
            "payload",
            "answered_by",
            "answered_at",
            "answering_run",
            "claimed_by",
            "claimed_at",
        ]
        read_only_fields = fields

    @extend_schema_field({"type": "string"})
    def get_claimed_by(self, row: Interrupt) -> str:
        """The label of the person who is answering now; empty for none, or after 15 minutes."""
        return row.claimed_by if turns.is_claimed(row) else ""

    @extend_schema_field({"type": "string", "format": "date-time", "nullable": True})
    def get_claimed_at(self, row: Interrupt) -> Any:
        """Since when."""
        return row.claimed_at if turns.is_claimed(row) else None

    @extend_schema_field(OBJECT)
    def get_response_schema(self, row: Interrupt) -> Any:
        """The JSON Schema that an answer must satisfy; null if any will do."""
        return None if row.response_schema is None else json.loads(row.response_schema)

    @extend_schema_field(OBJECT)
    def get_metadata(self, row: Interrupt) -> Any:
        """The agent's data with the question."""
        return json.loads(row.question).get("metadata")

    @extend_schema_field(ANY_JSON)
    def get_payload(self, row: Interrupt) -> Any:
        """The payload of the answer; null without one."""
        return None if row.answer is None else json.loads(row.answer).get("payload")


MEMBERS = {
    "message": "message",
    "reason": "reason",
    "response_schema": "response_schema",
    "metadata": "question",
    "payload": "answer",
}
"""Members that can be long, and the columns that they are read from."""


class InterruptRowSerializer(InterruptSerializer):
    """A question in a list, which leaves out long values: the question itself has them."""

    reason = serializers.SerializerMethodField()
    message = serializers.SerializerMethodField()
    omitted = serializers.SerializerMethodField()

    class Meta(InterruptSerializer.Meta):
        fields = [*InterruptSerializer.Meta.fields, "omitted"]
        read_only_fields = fields

    @staticmethod
    def rows(questions: QuerySet[Interrupt]) -> QuerySet[Interrupt]:
        """The questions without long members; short values beside their sizes."""
        return short(questions, *MEMBERS.values())

    @extend_schema_field(TEXT)
    def get_reason(self, row: Interrupt) -> Any:
        """Why the agent asked, if it is short."""
        return value(row, "reason")

    @extend_schema_field(TEXT)
    def get_message(self, row: Interrupt) -> Any:
        """The text of the question, if it is short."""
        return value(row, "message")

    @extend_schema_field(OBJECT)
    def get_response_schema(self, row: Interrupt) -> Any:
        """The JSON Schema that an answer must satisfy, if it is short."""
        return json.loads(value(row, "response_schema") or "null")

    @extend_schema_field(OBJECT)
    def get_metadata(self, row: Interrupt) -> Any:
        """The agent's data, if the whole question is short."""
        return json.loads(value(row, "question") or "{}").get("metadata")

    @extend_schema_field(ANY_JSON)
    def get_payload(self, row: Interrupt) -> Any:
        """The payload of the answer, if it is short."""
        return json.loads(value(row, "answer") or "{}").get("payload")

    @extend_schema_field({"type": "array", "items": {"enum": list(MEMBERS)}})
    def get_omitted(self, row: Interrupt) -> list[str]:
        """The members that are null here because their source is longer than 4 KB."""
        return [name for name, column in MEMBERS.items() if is_long(row, column)]


SHORT = ("approved", "reason", "arguments", "decisions")
"""Members of an answer that are a payload without ``status`` and ``payload`` around it."""


class AnswerSerializer(Body):
    """An answer to one question: ``{"status", "payload"?}``, or for an approval a decision alone.

    ``{"approved": false, "reason"?}`` and ``{"approved": true, "arguments"?}`` are for every
    framework, ``{"decisions"}`` is LangChain's own payload.
    """

    status = serializers.ChoiceField(["resolved", "cancelled"], required=False)
    payload = serializers.JSONField(required=False, allow_null=True)
    metadata = serializers.DictField(required=False)
    approved = serializers.BooleanField(required=False)
    reason = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    arguments = serializers.DictField(required=False)
    decisions = serializers.ListField(
        child=serializers.DictField(), max_length=langchain.MOST, required=False
    )


def _whole(values: dict[str, Any]) -> dict[str, Any]:
    """An answer without ``status`` or with a decision: with ``status`` and ``payload``."""
    payload = picked(values, SHORT)
    rest = {name: value for name, value in values.items() if name not in SHORT}
    if not payload:
        raise serializers.ValidationError({"status": ["This field is required."]})
    if ("approved" in payload) is ("decisions" in payload):
        raise serializers.ValidationError("Send approved or decisions.")
    if "payload" in rest or rest.get("status", "resolved") != "resolved":
        raise serializers.ValidationError("Send a payload or a decision, not both.")
    return {**rest, "status": "resolved", "payload": payload}


class AnsweredSerializer(serializers.Serializer[Any]):
    """``run`` brings the answer to the agent; null while other questions of its run are open."""

    interrupt = InterruptSerializer()
    run = RunSerializer(allow_null=True)


Rows = TeamQuerySet[Interrupt]


class ClaimSerializer(Body):
    """A claim: ``claimed`` false gives it up."""

    claimed = serializers.BooleanField(default=True)


class SnoozeSerializer(Body):
    """Until when; null puts the question back."""

    until = serializers.DateTimeField(allow_null=True)


class InterruptFilter(django_filters.FilterSet):
    """The query of the list of questions."""

    status = django_filters.MultipleChoiceFilter(choices=InterruptStatus.choices)
    thread_id = django_filters.CharFilter(field_name="thread__thread_id")
    run = django_filters.UUIDFilter()
    agent = django_filters.CharFilter(field_name="run__agent__slug")
    claimed = django_filters.BooleanFilter(method="by_claim")
    snoozed = django_filters.BooleanFilter(method="by_snooze")

    class Meta:
        model = Interrupt
        fields: list[str] = []

    def by_claim(self, rows: Rows, name: str, value: bool) -> Rows:
        """Questions that someone is answering, or the others."""
        return turns.claims(rows) if value else rows.exclude(pk__in=turns.claims(rows).values("pk"))

    def by_snooze(self, rows: Rows, name: str, value: bool) -> Rows:
        """Questions that the caller has snoozed, or the others."""
        return turns.snoozed(principal_of(self.request), rows, value)


class InterruptList(FromReplica, generics.ListAPIView[Interrupt]):
    """The questions of the runs that the caller may see."""

    serializer_class = InterruptRowSerializer
    pagination_class = NewestFirst
    filterset_class = InterruptFilter
    queryset = Interrupt.objects.none()

    def get_queryset(self) -> QuerySet[Interrupt]:
        """Unless filtered for, a subagent's question is left out while its parent asks it too."""
        questions = access.visible_interrupts(principal_of(self.request))
        if not {"run", "thread_id"} & self.request.query_params.keys():
            questions = inbox.each_once(questions)
        return InterruptRowSerializer.rows(questions)


class InterruptDetail(generics.RetrieveAPIView[Interrupt]):
    """One question."""

    serializer_class = InterruptSerializer
    queryset = Interrupt.objects.none()

    @extend_schema(responses={200: InterruptSerializer})
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One question."""
        question = access.find_interrupt(principal_of(request), kwargs["interrupt_id"])
        return Response(InterruptSerializer(question).data)


@starts
class InterruptAnswer(APIView):
    """The answer to one question."""

    @extend_schema(request=AnswerSerializer, responses={200: AnsweredSerializer})
    def post(self, request: Request, interrupt_id: UUID) -> Response:
        """Answer a question; the last answer that its run waits for starts the next run."""
        return Response(answered(principal_of(request), interrupt_id, request.data))


class InterruptClaim(APIView):
    """The claim of a question."""

    @extend_schema(request=ClaimSerializer, responses={200: InterruptSerializer})
    def post(self, request: Request, interrupt_id: UUID) -> Response:
        """Show colleagues for 15 minutes that you answer this question; it hinders nobody."""
        values = ClaimSerializer.read(request)
        row = turns.claim(principal_of(request), interrupt_id, values["claimed"])
        return Response(InterruptSerializer(row).data)


class InterruptSnooze(APIView):
    """When the caller wants to see a question again."""

    @extend_schema(request=SnoozeSerializer, responses={200: InterruptSerializer})
    def post(self, request: Request, interrupt_id: UUID) -> Response:
        """Take a question out of your own inbox until a time within 30 days, or put it back."""
        values = SnoozeSerializer.read(request)
        row = turns.snooze(principal_of(request), interrupt_id, values["until"])
        return Response(InterruptSerializer(row).data)


def answered(principal: Principal, interrupt_id: UUID, data: Any) -> dict[str, Any]:
    """Answer a question by ``data``; the fields of ``AnsweredSerializer``."""
    values = AnswerSerializer.read_data(data)
    if "status" not in values or not values.keys().isdisjoint(SHORT):
        values = _whole(values)
    run = start.answer(principal, interrupt_id, values)
    question = access.find_interrupt(principal, interrupt_id)
    return dict(AnsweredSerializer({"interrupt": question, "run": run}).data)
