from django.urls import path

from runs.api.inspect import outline

urlpatterns = [
    path("runs/<uuid:run_id>/outline", outline.RunOutline.as_view(), name="api-run-outline"),
]
