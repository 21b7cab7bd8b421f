"""Webhooks and deliveries as JSON, and the fields that a team can set."""

from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from agui_host.teams.api.bodies import Body
from runs.models import DeliveryStatus, Webhook, WebhookDelivery
from runs.models.webhook import EVENTS, Stop


class WebhookSerializer(serializers.ModelSerializer[Webhook]):
    """A webhook without its secret."""

    events = serializers.ListField(child=serializers.ChoiceField(EVENTS))
    agents = serializers.ListField(child=serializers.CharField(), allow_null=True)
    disabled_reason = serializers.ChoiceField(
        Stop.choices, source="stopped", allow_blank=True, help_text="Empty while it is enabled."
    )
    failing_since = serializers.DateTimeField(
        allow_null=True, help_text="Nothing has been delivered since; null if the newest try did."
    )

    class Meta:
        model = Webhook
        fields = [
            "id", "url", "events", "agents", "contents", "enabled", "disabled_reason",
            "failing_since", "created_by", "created_at",
        ]  # fmt: skip
        read_only_fields = fields


class WebhookSecretSerializer(WebhookSerializer):
    """A webhook with its new secret, this once."""

    secret = serializers.CharField(read_only=True, help_text="whsec_… and 32 bytes in Base64.")

    class Meta(WebhookSerializer.Meta):
        fields = ["secret", *WebhookSerializer.Meta.fields]
        read_only_fields = fields


class WebhookFieldsSerializer(Body):
    """The fields that a team can set on a webhook."""

    url = serializers.CharField(max_length=2_000)
    events = serializers.ListField(
        child=serializers.ChoiceField(EVENTS), allow_empty=False, max_length=len(EVENTS)
    )
    agents = serializers.ListField(
        child=serializers.SlugField(max_length=64),
        allow_null=True,
        allow_empty=False,
        max_length=100,
        required=False,
        help_text="Slugs of the agents whose runs it is about; null for all.",
    )
    contents = serializers.BooleanField(
        required=False, help_text="Whether messages contain results, questions and answers."
    )


class WebhookChangeSerializer(WebhookFieldsSerializer):
    """A change; members that are left out stay."""

    url = serializers.CharField(max_length=2_000, required=False)
    events = serializers.ListField(
        child=serializers.ChoiceField(EVENTS),
        allow_empty=False,
        max_length=len(EVENTS),
        required=False,
    )
    enabled = serializers.BooleanField(required=False)


class AttemptSerializer(serializers.Serializer[Any]):
    """One try: the receiver's ``status``, or why there is none."""

    at = serializers.DateTimeField()
    status = serializers.IntegerField(allow_null=True)
    error = serializers.CharField()
    ms = serializers.IntegerField()


class DeliverySerializer(serializers.ModelSerializer[WebhookDelivery]):
    """A delivery; its ``id`` is the ``webhook-id`` that the receiver gets."""

    next_try_at = serializers.SerializerMethodField()
    attempts = AttemptSerializer(many=True)

    class Meta:
        model = WebhookDelivery
        fields = [
            "id", "type", "status", "thread", "run", "interrupt", "attempts", "next_try_at",
            "created_at", "ended_at",
        ]  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(serializers.DateTimeField(allow_null=True))
    def get_next_try_at(self, row: WebhookDelivery) -> datetime | None:
        return row.due_at if row.status == DeliveryStatus.PENDING else None
