from django.urls import path

from agui_host.apply import api

urlpatterns = [
    path("operator/host", api.Host.as_view(), name="api-operator-host"),
    path("operator/plan", api.Plan.as_view(), name="api-operator-plan"),
]
