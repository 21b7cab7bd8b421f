"""Addresses of other wire formats that are no streams."""

from django.urls import re_path

from agui_host.dialects.ai_sdk import views as ai_sdk

CHAT = r"^api/chat/(?P<slug>[-\w]+)/(?P<chat>.+?)"

urlpatterns = [
    re_path(CHAT + r"/stop/?$", ai_sdk.ChatStop.as_view(), name="chat-stop"),
    re_path(CHAT + r"/?$", ai_sdk.ChatMessages.as_view(), name="chat-messages"),
]
