"""The fields of a run in the API."""

import json
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Left, Length
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from agui_host.protocol import patient_json
from agui_host.runtimes.models import ON_BUSY
from runs.lifecycle import repetition
from runs.models import Feedback, Run, Thumb, without_bodies
from runs.models.short import SHORT, is_long, short, value


class RunErrorSerializer(serializers.Serializer[Any]):
    """Why a run failed."""

    code = serializers.CharField()
    message = serializers.CharField()


class RunSerializer(serializers.ModelSerializer[Run]):
    """A run: ``id`` is the host's, ``run_id`` and ``thread_id`` are the client's names."""

    id = serializers.UUIDField(source="journal_id", read_only=True)
    thread_id = serializers.CharField(source="thread.thread_id", read_only=True)
    agent = serializers.SlugField(source="agent.slug", read_only=True)
    repeats = serializers.UUIDField(source="repeats_id", read_only=True, allow_null=True)
    repeated_by = serializers.SerializerMethodField()
    events = serializers.IntegerField(source="journal.head", read_only=True)
    events_url = serializers.SerializerMethodField()
    websocket_url = serializers.SerializerMethodField()
    stream_url = serializers.SerializerMethodField()
    asked = serializers.SerializerMethodField()
    answered = serializers.SerializerMethodField()
    error = serializers.SerializerMethodField()
    result = serializers.SerializerMethodField()
    usage = serializers.SerializerMethodField()

    class Meta:
        model = Run
        fields = [
            "id",
            "run_id",
            "attempt",
            "repeats",
            "repeated_by",
            "thread_id",
            "parent_run_id",
            "agent",
            "agent_version",
            "status",
            "asked",
            "answered",
            "started_by",
            "end_user",
            "created_at",
            "started_at",
            "ended_at",
            "cancel_requested_at",
            "purged_at",
            "events",
            "error",
            "result",
            "usage",
            "tool_calls",
            "subagents",
            "tokens_in",
            "tokens_out",
            "cost",
            "queued_ms",
            "ttft_ms",
            "events_url",
            "websocket_url",
            "stream_url",
        ]
        read_only_fields = fields

    def get_asked(self, run: Run) -> str:
        """The first 200 characters of the question; empty if it has no text or is hidden."""
        return run.asked or ""

    def get_answered(self, run: Run) -> str:
        """The first 200 characters of the agent's last text, once the run has ended."""
        return run.answered or ""

    def get_events_url(self, run: Run) -> str:
        """Where its events are, as a page or a stream."""
        return f"/api/v1/runs/{run.pk}/events"

    def get_websocket_url(self, run: Run) -> str:
        """The address of its socket."""
        return f"/ws/runs/{run.pk}/"

    def get_stream_url(self, run: Run) -> str:
        """Where clients of Durable Streams read it, and feed it if its agent is external."""
        return f"/api/v1/runs/{run.pk}/stream"

    @extend_schema_field(serializers.UUIDField(allow_null=True))
    def get_repeated_by(self, run: Run) -> str | None:
        """The run that the host has started instead of this one, which lost its worker."""
        key = repetition.repeated_by(run) if run.error_code else None
        return None if key is None else str(key)

    @extend_schema_field(RunErrorSerializer(allow_null=True))
    def get_error(self, run: Run) -> dict[str, str] | None:
        """Code and message of a run that failed; null for any other."""
        if not run.error_code:
            return None
        return {"code": run.error_code, "message": run.error_message}

    @extend_schema_field({"description": "Any JSON that the agent returned."})
    def get_result(self, run: Run) -> Any:
        """The ``result`` of its RUN_FINISHED."""
        return None if run.result is None else patient_json.loads(run.result)

    @extend_schema_field({"type": "array", "items": {"type": "object"}, "nullable": True})
    def get_usage(self, run: Run) -> Any:
        """The tokens that the agent reported, by provider and model."""
        return None if run.usage is None else json.loads(run.usage)


LONG = ("result", "usage")


class RunRowSerializer(RunSerializer):
    """A run in a list, which leaves out long values: the run itself has them."""

    thumbs_up = serializers.IntegerField(read_only=True, help_text="Of it and its answers.")
    thumbs_down = serializers.IntegerField(read_only=True, help_text="Of it and its answers.")
    omitted = serializers.SerializerMethodField()

    class Meta(RunSerializer.Meta):
        fields = [*RunSerializer.Meta.fields, "thumbs_up", "thumbs_down", "omitted"]
        read_only_fields = fields

    @staticmethod
    def rows(runs: QuerySet[Run]) -> QuerySet[Run]:
        """The runs without long members; short values beside their sizes."""
        runs = without_bodies(runs)
        return short(runs, *LONG).annotate(
            error_beginning=Left("error_message", SHORT),
            error_length=Length("error_message"),
            repeated_by_id=repetition.REPEATED_BY,
            thumbs_up=thumbs(Thumb.UP),
            thumbs_down=thumbs(Thumb.DOWN),
        )

    @extend_schema_field(RunErrorSerializer(allow_null=True))
    def get_error(self, run: Any) -> dict[str, str] | None:
        """Code and message of a run that failed; of a message its first 4,096 characters."""
        return {"code": run.error_code, "message": run.error_beginning} if run.error_code else None

    @extend_schema_field(serializers.UUIDField(allow_null=True))
    def get_repeated_by(self, run: Any) -> str | None:
        """The run that the host has started instead of this one, which lost its worker."""
        return None if run.repeated_by_id is None else str(run.repeated_by_id)

    @extend_schema_field({"description": "As in the run; null if it is longer than 4 KB."})
    def get_result(self, run: Any) -> Any:
        """The ``result`` of its RUN_FINISHED, if it is short."""
        return _json(value(run, "result"))

    @extend_schema_field({"type": "array", "items": {"type": "object"}, "nullable": True})
    def get_usage(self, run: Any) -> Any:
        """The tokens that the agent reported, if they are short."""
        return _json(value(run, "usage"))

    @extend_schema_field({"type": "array", "items": {"enum": ["error", "result", "usage"]}})
    def get_omitted(self, run: Any) -> list[str]:
        """The members that are not whole here because they are longer than 4 KB."""
        cut = ["error"] if run.error_length > SHORT else []
        return cut + [name for name in LONG if is_long(run, name)]


def thumbs(kind: Thumb) -> Coalesce:
    """How often people have rated a run, or an answer in it, so; as a column of the run."""
    rows = Feedback.objects.filter(run=OuterRef("pk"), thumb=kind).order_by().values("run")
    return Coalesce(Subquery(rows.annotate(number=Count("pk")).values("number")), 0)


def _json(text: str | None) -> Any:
    return None if text is None else json.loads(text)


class StartSerializer(serializers.Serializer[Any]):
    """The body of POST /api/v1/runs (for the documentation; ``start`` reads it)."""

    agent = serializers.SlugField(required=False, help_text="Default: the team's default agent.")
    input = serializers.JSONField(help_text="A RunAgentInput; ids are minted where absent.")
    on_busy = serializers.ChoiceField(ON_BUSY, required=False)
