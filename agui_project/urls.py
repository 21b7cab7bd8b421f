"""Django's URLs. Streams are in ``agui_host.web.routing``."""

from django.contrib import admin
from django.urls import include, path

from agui_host.web.health import ready
from agui_project.api_docs import ApiDocs, Description

urlpatterns = [
    path("api/v1/", include("runs.api.urls")),
    path("api/v1/", include("agui_host.teams.api.urls")),
    path("api/v1/", include("agui_host.apply.urls")),
    path("", include("agui_host.scim.urls")),
    path("", include("agui_host.dialects.urls")),
    path("api/schema/", Description.as_view(), name="schema"),
    path("api/docs/", ApiDocs.as_view(url_name="schema"), name="docs"),
    path("admin/", admin.site.urls),
    path("ready", ready, name="ready"),
    path("", include("agui_host.dashboard.urls")),
]
handler400 = "agui_host.web.answers.bad_request"
handler403 = "agui_host.web.answers.permission_denied"
handler404 = "agui_host.web.answers.not_found"
handler500 = "agui_host.web.answers.server_error"
