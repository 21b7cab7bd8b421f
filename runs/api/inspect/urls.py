from django.urls import path

from runs.api.inspect import archive, failure, findings, outline, saved_views, state

urlpatterns = [
    path("views", saved_views.SavedViewList.as_view(), name="api-views"),
    path("views/<uuid:view_id>", saved_views.SavedViewDetail.as_view(), name="api-view"),
    path("runs/import", archive.RunImport.as_view(), name="api-run-import"),
    path("runs/<uuid:run_id>/failure", failure.RunFailure.as_view(), name="api-run-failure"),
    path("runs/<uuid:run_id>/findings", findings.RunFindings.as_view(), name="api-run-findings"),
    path("runs/<uuid:run_id>/outline", outline.RunOutline.as_view(), name="api-run-outline"),
    path("runs/<uuid:run_id>/state", state.RunState.as_view(), name="api-run-state"),
    path(
        "runs/<uuid:run_id>/state/history",
        state.RunStateHistory.as_view(),
        name="api-run-state-history",
    ),
]
