from django.urls import path

from runs.api.inspect import failure, outline

urlpatterns = [
    path("runs/<uuid:run_id>/failure", failure.RunFailure.as_view(), name="api-run-failure"),
    path("runs/<uuid:run_id>/outline", outline.RunOutline.as_view(), name="api-run-outline"),
]
