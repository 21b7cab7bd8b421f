from django.urls import path

from runs.api.alerts import resource

urlpatterns = [
    path("alerts", resource.AlertList.as_view(), name="api-alerts"),
    path("alerts/<uuid:alert_id>", resource.AlertDetail.as_view(), name="api-alert"),
    path("alerts/<uuid:alert_id>/snooze", resource.AlertSnooze.as_view(), name="api-alert-snooze"),
    path(
        "alerts/<uuid:alert_id>/history", resource.AlertHistory.as_view(), name="api-alert-history"
    ),
]
