"""The webhooks resource. A secret is in the answer that makes it, and nowhere else."""

from typing import Any
from uuid import UUID

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agui_host.teams.api.bodies import without_body
from agui_host.teams.api.pages import FromReplica, NewestFirst
from agui_host.teams.authentication import principal_of
from runs.access import webhooks
from runs.api.webhooks.serializers import (
    DeliverySerializer,
    WebhookChangeSerializer,
    WebhookFieldsSerializer,
    WebhookSecretSerializer,
    WebhookSerializer,
)
from runs.models import DeliveryStatus, Webhook, WebhookDelivery


class WebhookList(generics.ListAPIView[Webhook]):
    """The team's webhooks, newest first, including disabled ones."""

    serializer_class = WebhookSerializer
    pagination_class = NewestFirst
    queryset = Webhook.objects.none()

    def get_queryset(self) -> QuerySet[Webhook]:
        return webhooks.visible(principal_of(self.request))

    @extend_schema(request=WebhookFieldsSerializer, responses={201: WebhookSecretSerializer})
    def post(self, request: Request) -> Response:
        """Make a webhook; its secret is shown this once."""
        values = WebhookFieldsSerializer.read(request)
        row, secret = webhooks.create(principal_of(request), values)
        return _with_secret(row, secret, 201)


class WebhookDetail(APIView):
    @extend_schema(responses={200: WebhookSerializer})
    def get(self, request: Request, webhook_id: UUID) -> Response:
        """One webhook."""
        row = webhooks.find(principal_of(request), webhook_id)
        return Response(WebhookSerializer(row).data)

    @extend_schema(request=WebhookChangeSerializer, responses={200: WebhookSerializer})
    def patch(self, request: Request, webhook_id: UUID) -> Response:
        """Change a webhook, or enable or disable it; fields that are left out stay."""
        principal = principal_of(request)
        webhooks.find(principal, webhook_id)
        row = webhooks.change(principal, webhook_id, WebhookChangeSerializer.read(request))
        return Response(WebhookSerializer(row).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, webhook_id: UUID) -> Response:
        """Delete a webhook with all its deliveries."""
        webhooks.remove(principal_of(request), webhook_id)
        return Response(status=204)


class WebhookRotate(APIView):
    @extend_schema(request=None, responses={200: WebhookSecretSerializer})
    @without_body
    def post(self, request: Request, webhook_id: UUID) -> Response:
        """Make a new secret; the old one signs along for 24 hours."""
        return _with_secret(*webhooks.rotate(principal_of(request), webhook_id), 200)


class WebhookTest(APIView):
    @extend_schema(request=None, responses={202: DeliverySerializer})
    @without_body
    def post(self, request: Request, webhook_id: UUID) -> Response:
        """Send a message of type ``webhook.test``."""
        delivery = webhooks.send_test(principal_of(request), webhook_id)
        return Response(DeliverySerializer(delivery).data, status=202)


class DeliveryFilter(django_filters.FilterSet):
    status = django_filters.ChoiceFilter(choices=DeliveryStatus.choices)

    class Meta:
        model = WebhookDelivery
        fields: list[str] = []


class Deliveries(FromReplica, generics.ListAPIView[WebhookDelivery]):
    """The webhook's deliveries, done and due, newest first."""

    serializer_class = DeliverySerializer
    pagination_class = NewestFirst
    filterset_class = DeliveryFilter
    queryset = WebhookDelivery.objects.none()

    def get_queryset(self) -> QuerySet[WebhookDelivery]:
        return webhooks.history(principal_of(self.request), self.kwargs["webhook_id"])


class Redeliver(APIView):
    @extend_schema(request=None, responses={202: DeliverySerializer})
    @without_body
    def post(self, request: Request, webhook_id: UUID, delivery_id: UUID) -> Response:
        """Deliver once more, under the same ``webhook-id``."""
        delivery = webhooks.redeliver(principal_of(request), webhook_id, delivery_id)
        return Response(DeliverySerializer(delivery).data, status=202)


def _with_secret(row: Webhook, secret: str, status: int) -> Response:
    members: dict[str, Any] = WebhookSerializer(row).data
    return Response({"secret": secret, **members}, status=status)
