"""CopilotKit's routes that are not streams: with and without a slash, and under /api too."""

from django.urls import re_path

from agui_host.dialects.copilotkit import runtime, threads

BASE = r"^(?:api/)?agui"

urlpatterns = [
    re_path(BASE + r"/info/?$", runtime.Info.as_view(), name="agui-info"),
    re_path(
        BASE + r"/intelligence/info/?$",
        runtime.IntelligenceInfo.as_view(),
        name="agui-intelligence-info",
    ),
    re_path(
        BASE + r"/agent/(?P<slug>[-\w]+)/stop/(?P<thread_id>.+?)/?$",
        runtime.Stop.as_view(),
        name="agui-stop",
    ),
    re_path(BASE + r"/threads/?$", threads.ThreadList.as_view(), name="agui-threads"),
    re_path(
        BASE + r"/threads/(?P<thread_id>.+)/messages/?$",
        threads.ThreadMessages.as_view(),
        name="agui-thread-messages",
    ),
    re_path(
        BASE + r"/threads/(?P<thread_id>.+)/events/?$",
        threads.ThreadEvents.as_view(),
        name="agui-thread-events",
    ),
    re_path(
        BASE + r"/threads/(?P<thread_id>.+)/state/?$",
        threads.ThreadState.as_view(),
        name="agui-thread-state",
    ),
]
