"""Schedules as JSON, and the fields that a team can set."""

import json
from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from agui_host.protocol import patient_json
from agui_host.protocol.input.run_agent_input import MAX_ID
from agui_host.runtimes.models import ON_BUSY
from agui_host.teams.api.bodies import Body
from runs.access.schedules import manage
from runs.lifecycle.schedules import ticks
from runs.models import Missed, Schedule, StopReason, ThreadPolicy
from runs.models.short import is_long, value


class LastTickSerializer(serializers.Serializer[Any]):
    """The newest tick: the run that it started, or why it did not."""

    tick = serializers.DateTimeField()
    at = serializers.DateTimeField(help_text="When the host dealt with it.")
    run = serializers.UUIDField(allow_null=True)
    error = serializers.DictField(
        child=serializers.CharField(), allow_null=True, help_text="`code` and `message`."
    )


class ScheduleSerializer(serializers.ModelSerializer[Schedule]):
    """A schedule, its next runs, and the result of its last tick."""

    cron = serializers.SerializerMethodField()
    input = serializers.SerializerMethodField()
    thread_id = serializers.SerializerMethodField()
    on_busy = serializers.SerializerMethodField()
    paused = serializers.SerializerMethodField()
    stopped_reason = serializers.ChoiceField(
        StopReason.choices, source="stopped", allow_blank=True, help_text="Empty while it runs."
    )
    next_runs = serializers.SerializerMethodField()
    last = serializers.SerializerMethodField()

    class Meta:
        model = Schedule
        fields = [
            "id", "name", "agent", "cron", "time_zone", "run_at", "input", "thread", "thread_id",
            "on_busy", "missed", "paused", "stopped_reason", "next_at", "next_runs", "last",
            "runs_as", "created_at",
        ]  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_cron(self, row: Schedule) -> str | None:
        return row.cron or None

    @extend_schema_field(serializers.JSONField())
    def get_input(self, row: Schedule) -> Any:
        return patient_json.loads(row.input)

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_thread_id(self, row: Schedule) -> str | None:
        return row.thread_id or None

    @extend_schema_field(serializers.ChoiceField(ON_BUSY, allow_null=True))
    def get_on_busy(self, row: Schedule) -> str | None:
        return row.on_busy or None

    def get_paused(self, row: Schedule) -> bool:
        return row.stopped == StopReason.PAUSED

    @extend_schema_field(serializers.ListField(child=serializers.DateTimeField()))
    def get_next_runs(self, row: Schedule) -> list[datetime]:
        return manage.next_runs(row)

    @extend_schema_field(LastTickSerializer(allow_null=True))
    def get_last(self, row: Schedule) -> dict[str, Any] | None:
        if row.last_tick is None:
            return None
        error = {"code": row.last_code, "message": row.last_message} if row.last_code else None
        return {"tick": row.last_tick, "at": row.last_at, "run": row.last_run, "error": error}


class LocalTimeField(serializers.DateTimeField):
    """A time without an offset is in the schedule's time zone."""

    def enforce_timezone(self, value: datetime) -> datetime:
        """The time as it was sent."""
        return value


class ScheduleRowSerializer(ScheduleSerializer):
    """A schedule in a list, which leaves out a long input: the schedule itself has it."""

    omitted = serializers.SerializerMethodField()

    class Meta(ScheduleSerializer.Meta):
        fields = [*ScheduleSerializer.Meta.fields, "omitted"]
        read_only_fields = fields

    @extend_schema_field(serializers.JSONField(allow_null=True))
    def get_input(self, row: Schedule) -> Any:
        return json.loads(value(row, "input") or "null")

    @extend_schema_field({"type": "array", "items": {"enum": ["input"]}})
    def get_omitted(self, row: Schedule) -> list[str]:
        return ["input"] if is_long(row, "input") else []


class ScheduleFieldsSerializer(Body):
    """The fields that a team can set on a schedule."""

    name = serializers.CharField(max_length=120, allow_blank=True, required=False)
    agent = serializers.SlugField(
        max_length=64, required=False, help_text="Default: the team's default agent."
    )
    cron = serializers.CharField(
        max_length=ticks.LONGEST,
        allow_null=True,
        required=False,
        help_text="Five fields, such as `0 9 * * 1-5`; or set run_at.",
    )
    run_at = LocalTimeField(
        allow_null=True,
        required=False,
        help_text="For one run; without an offset it is in time_zone.",
    )
    time_zone = serializers.CharField(
        max_length=64, required=False, help_text="Default: the team's."
    )
    input = serializers.JSONField(
        required=False,
        help_text="A RunAgentInput without ids; `{{scheduled_at}}`, `{{scheduled_date}}` and "
        "`{{schedule_id}}` in it are replaced.",
    )
    thread = serializers.ChoiceField(ThreadPolicy.choices, required=False)
    thread_id = serializers.CharField(
        max_length=MAX_ID, allow_null=True, required=False, help_text="For a fixed thread."
    )
    on_busy = serializers.ChoiceField(ON_BUSY, allow_null=True, required=False)
    missed = serializers.ChoiceField(Missed.choices, required=False)
    paused = serializers.BooleanField(required=False)


class ScheduleChangeSerializer(ScheduleFieldsSerializer):
    """A change; members that are left out stay."""
