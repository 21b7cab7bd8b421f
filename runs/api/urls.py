from django.urls import path

from runs.api import views

urlpatterns = [
    path("runs", views.RunList.as_view(), name="api-runs"),
    path("runs/<uuid:run_id>", views.RunDetail.as_view(), name="api-run"),
    path("runs/<uuid:run_id>/cancel", views.RunCancel.as_view(), name="api-run-cancel"),
    path("runs/<uuid:run_id>/events", views.RunEvents.as_view(), name="api-run-events"),
]
