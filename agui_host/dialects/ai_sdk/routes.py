"""The AI SDK's addresses, and how its clients read a run."""

from django.urls import re_path

from agui_host.dialects.ai_sdk import description, views
from agui_host.dialects.ai_sdk.endpoints import chat, chat_stream
from agui_host.dialects.ai_sdk.fold import Stream
from agui_host.dialects.wire_format import Reader, WireFormat
from agui_host.kinds import START
from agui_host.web.addresses.route import Route, is_get, is_post

JUDGE = "tests/conformance/dialects/test_ai_sdk.py"
AGENT = r"^api/chat/(?P<slug>[-\w]+)"
CHAT = AGENT + r"/(?P<chat>.+?)"

FORMAT = WireFormat(
    readers=(Reader("AI SDK", "POST /api/chat/{slug}", JUDGE, Stream),),
    routes=(
        Route(address=AGENT + "/?$", app=chat, post=START, when=is_post),
        Route(address=AGENT + "/(?P<chat>.+)/stream/?$", app=chat_stream, when=is_get),
    ),
    views=(
        re_path(CHAT + r"/stop/?$", views.ChatStop.as_view(), name="chat-stop"),
        re_path(CHAT + r"/?$", views.ChatMessages.as_view(), name="chat-messages"),
    ),
    operations=description.OPERATIONS,
    shapes=description.SHAPES,
)
