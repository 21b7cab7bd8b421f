"""The fields of a run in the API."""

import json
from typing import Any

from django.db.models import Case, F, Func, IntegerField, QuerySet, When
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from runs.lifecycle import repetition
from runs.models import Run
from runtimes.models import ON_BUSY


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
            "status",
            "started_by",
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
        return None if run.result is None else json.loads(run.result)

    @extend_schema_field({"type": "array", "items": {"type": "object"}, "nullable": True})
    def get_usage(self, run: Run) -> Any:
        """The tokens that the agent reported, by provider and model."""
        return None if run.usage is None else json.loads(run.usage)


LONG = ("result", "usage")
SHORT = 4_096
"""Bytes of a value that a list shows; one run has all of it."""


def _size(name: str) -> Func:
    return Func(F(name), function="octet_length", output_field=IntegerField())


class RunRowSerializer(RunSerializer):
    """A run in a list, which leaves out long values: the run itself has them."""

    omitted = serializers.SerializerMethodField()

    class Meta(RunSerializer.Meta):
        fields = [*RunSerializer.Meta.fields, "omitted"]
        read_only_fields = fields

    @staticmethod
    def rows(runs: QuerySet[Run]) -> QuerySet[Run]:
        """The runs without what may be long; short results and usages beside their sizes."""
        sizes = {f"{name}_bytes": _size(name) for name in LONG}
        short = {
            f"short_{name}": Case(When(**{f"{name}_bytes__lte": SHORT}, then=F(name)))
            for name in LONG
        }
        rows = runs.defer("input", "context", *LONG).annotate(**sizes).annotate(**short)
        return rows.annotate(repeated_by_id=repetition.REPEATED_BY)

    @extend_schema_field(serializers.UUIDField(allow_null=True))
    def get_repeated_by(self, run: Any) -> str | None:
        """The run that the host has started instead of this one, which lost its worker."""
        return None if run.repeated_by_id is None else str(run.repeated_by_id)

    @extend_schema_field({"description": "As in the run; null if it is longer than 4 KB."})
    def get_result(self, run: Any) -> Any:
        """The ``result`` of its RUN_FINISHED, if it is short."""
        return None if run.short_result is None else json.loads(run.short_result)

    @extend_schema_field({"type": "array", "items": {"type": "object"}, "nullable": True})
    def get_usage(self, run: Any) -> Any:
        """The tokens that the agent reported, if they are short."""
        return None if run.short_usage is None else json.loads(run.short_usage)

    @extend_schema_field({"type": "array", "items": {"enum": ["result", "usage"]}})
    def get_omitted(self, run: Any) -> list[str]:
        """The members that are null here because they are longer than 4 KB."""
        return [name for name in LONG if (getattr(run, f"{name}_bytes") or 0) > SHORT]


class StartSerializer(serializers.Serializer[Any]):
    """The body of POST /api/v1/runs (for the documentation; ``start`` reads it)."""

    agent = serializers.SlugField(required=False, help_text="Default: the team's default agent.")
    input = serializers.JSONField(help_text="A RunAgentInput; ids are minted where absent.")
    on_busy = serializers.ChoiceField(ON_BUSY, required=False)
