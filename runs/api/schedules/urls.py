from django.urls import path

from runs.api.schedules import resource

urlpatterns = [
    path("schedules", resource.ScheduleList.as_view(), name="api-schedules"),
    path("schedules/<uuid:schedule_id>", resource.ScheduleDetail.as_view(), name="api-schedule"),
    path(
        "schedules/<uuid:schedule_id>/run", resource.ScheduleRun.as_view(), name="api-schedule-run"
    ),
]
