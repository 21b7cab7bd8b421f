from django.urls import path

from runs.api import agents, erasure, interrupts, limits, views

urlpatterns = [
    path("agents", agents.AgentList.as_view(), name="api-agents"),
    path("agents/<slug:slug>", agents.AgentDetail.as_view(), name="api-agent"),
    path("runs", views.RunList.as_view(), name="api-runs"),
    path("runs/<uuid:run_id>", views.RunDetail.as_view(), name="api-run"),
    path("runs/<uuid:run_id>/cancel", views.RunCancel.as_view(), name="api-run-cancel"),
    path("runs/<uuid:run_id>/events", views.RunEvents.as_view(), name="api-run-events"),
    path("threads/<uuid:key>", erasure.ThreadErasure.as_view(), name="api-thread"),
    path("interrupts", interrupts.InterruptList.as_view(), name="api-interrupts"),
    path(
        "interrupts/<uuid:interrupt_id>", interrupts.InterruptDetail.as_view(), name="api-interrupt"
    ),
    path(
        "interrupts/<uuid:interrupt_id>/answer",
        interrupts.InterruptAnswer.as_view(),
        name="api-interrupt-answer",
    ),
    path("limits", limits.TeamLimits.as_view(), name="api-limits"),
]
