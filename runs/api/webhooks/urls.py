from django.urls import path

from runs.api.webhooks import resource

urlpatterns = [
    path("webhooks", resource.WebhookList.as_view(), name="api-webhooks"),
    path("webhooks/<uuid:webhook_id>", resource.WebhookDetail.as_view(), name="api-webhook"),
    path(
        "webhooks/<uuid:webhook_id>/rotate",
        resource.WebhookRotate.as_view(),
        name="api-webhook-rotate",
    ),
    path(
        "webhooks/<uuid:webhook_id>/test", resource.WebhookTest.as_view(), name="api-webhook-test"
    ),
    path(
        "webhooks/<uuid:webhook_id>/deliveries",
        resource.Deliveries.as_view(),
        name="api-webhook-deliveries",
    ),
    path(
        "webhooks/<uuid:webhook_id>/deliveries/<uuid:delivery_id>/redeliver",
        resource.Redeliver.as_view(),
        name="api-webhook-redeliver",
    ),
]
