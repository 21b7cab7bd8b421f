from django.urls import path

from agui_host.apply import api, people

urlpatterns = [
    path("operator/host", api.Host.as_view(), name="api-operator-host"),
    path("operator/people/<str:login>", people.Person.as_view(), name="api-operator-person"),
    path("operator/plan", api.Plan.as_view(), name="api-operator-plan"),
]
