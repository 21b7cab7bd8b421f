from django.urls import path

from runs.api.evaluation import resource

urlpatterns = [
    path("runs/<uuid:run_id>/labels", resource.RunLabels.as_view(), name="api-run-labels"),
    path("datasets", resource.DataSetList.as_view(), name="api-data-sets"),
    path("datasets/<uuid:data_set_id>", resource.DataSetDetail.as_view(), name="api-data-set"),
    path(
        "datasets/<uuid:data_set_id>/runs",
        resource.DataSetRuns.as_view(),
        name="api-data-set-runs",
    ),
    path(
        "datasets/<uuid:data_set_id>/runs/<uuid:run_id>",
        resource.DataSetRunDetail.as_view(),
        name="api-data-set-run",
    ),
    path(
        "datasets/<uuid:data_set_id>/export",
        resource.DataSetExport.as_view(),
        name="api-data-set-export",
    ),
    path("datasets/<uuid:data_set_id>/trials", resource.Trials.as_view(), name="api-trials"),
    path("trials/<uuid:trial_id>", resource.TrialDetail.as_view(), name="api-trial"),
]
