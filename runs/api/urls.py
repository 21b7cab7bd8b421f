from django.urls import include, path

from runs.api import (
    agents,
    comments,
    grants,
    interrupts,
    knowledge,
    left_threads,
    runs,
    threads,
    tickets,
)
from runs.api.steering import messages

urlpatterns = [
    path("agents", agents.AgentList.as_view(), name="api-agents"),
    path("agents/<slug:slug>", agents.AgentDetail.as_view(), name="api-agent"),
    path("runs", runs.RunList.as_view(), name="api-runs"),
    path("runs/<uuid:run_id>", runs.RunDetail.as_view(), name="api-run"),
    path("runs/<uuid:run_id>/cancel", runs.RunCancel.as_view(), name="api-run-cancel"),
    path("runs/<uuid:run_id>/context", runs.RunContext.as_view(), name="api-run-context"),
    path("runs/<uuid:run_id>/events", runs.RunEvents.as_view(), name="api-run-events"),
    path("runs/<uuid:run_id>/messages", messages.RunMessages.as_view(), name="api-run-messages"),
    path("runs/<uuid:run_id>/comments", comments.Comments.as_view(), name="api-comments"),
    path(
        "runs/<uuid:run_id>/comments/<uuid:comment_id>",
        comments.CommentDetail.as_view(),
        name="api-comment",
    ),
    path("runs/<uuid:run_id>/feedback", comments.Ratings.as_view(), name="api-feedback"),
    path("", include("runs.api.inspect.urls")),
    path("threads", threads.Threads.as_view(), name="api-threads"),
    path("threads/<uuid:key>", threads.ThreadDetail.as_view(), name="api-thread"),
    path("left-threads", left_threads.LeftThreads.as_view(), name="api-left-threads"),
    path("left-threads/<uuid:key>", left_threads.LeftThread.as_view(), name="api-left-thread"),
    path(
        "left-threads/<uuid:key>/hand-over",
        left_threads.HandOver.as_view(),
        name="api-left-thread-hand-over",
    ),
    path("grants", grants.GrantList.as_view(), name="api-grants"),
    path("grants/<uuid:grant_id>", grants.GrantDetail.as_view(), name="api-grant"),
    path("interrupts", interrupts.InterruptList.as_view(), name="api-interrupts"),
    path(
        "interrupts/<uuid:interrupt_id>", interrupts.InterruptDetail.as_view(), name="api-interrupt"
    ),
    path("interrupts/<uuid:interrupt_id>/claim", interrupts.InterruptClaim.as_view()),
    path("interrupts/<uuid:interrupt_id>/snooze", interrupts.InterruptSnooze.as_view()),
    path(
        "interrupts/<uuid:interrupt_id>/answer",
        interrupts.InterruptAnswer.as_view(),
        name="api-interrupt-answer",
    ),
    path("tickets", tickets.TicketMint.as_view(), name="api-tickets"),
    path("documents", knowledge.DocumentList.as_view(), name="api-documents"),
    path("documents/<uuid:document_id>", knowledge.DocumentDetail.as_view(), name="api-document"),
    path("wisdom", knowledge.WisdomList.as_view(), name="api-wisdom"),
    path("wisdom/<uuid:note_id>", knowledge.WisdomDetail.as_view(), name="api-wisdom-note"),
    path("profile", knowledge.ProfileDetail.as_view(), name="api-profile"),
    path("", include("runs.api.files.urls")),
    path("", include("runs.api.webhooks.urls")),
    path("", include("runs.api.budgets.urls")),
    path("", include("runs.api.alerts.urls")),
    path("", include("runs.api.evaluation.urls")),
    path("", include("runs.api.schedules.urls")),
    path("", include("runs.api.usage.urls")),
]
