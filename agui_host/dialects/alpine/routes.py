"""Alpine's addresses, and how its clients read a run."""

from django.urls import path

from agui_host.dialects.alpine import description
from agui_host.dialects.alpine.endpoints import alpine
from agui_host.dialects.alpine.fold import Alpine
from agui_host.dialects.alpine.views import AlpineAnswer, AlpineRun
from agui_host.dialects.wire_format import Reader, WireFormat
from agui_host.web.addresses.route import Route, wants_event_stream

FORMAT = WireFormat(
    readers=(
        Reader("Alpine", "GET /runs/{id}/events", "tests/dialects/alpine/test_alpine.py", Alpine),
    ),
    routes=(Route(address="runs/<uuid:run_id>/events", app=alpine, when=wants_event_stream),),
    views=(
        path("agents/run", AlpineRun.as_view(), name="alpine-run"),
        path("agents/answer", AlpineAnswer.as_view(), name="alpine-answer"),
    ),
    operations=description.OPERATIONS,
    shapes=description.SHAPES,
)
