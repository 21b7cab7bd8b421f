"""The AI SDK's operations in the API's description."""

from typing import Any

from agui_host.web.addresses.operation import (
    FRAMES,
    JSON,
    KEY,
    Operation,
    as_json,
)
from agui_host.web.addresses.shapes import (
    FLAG,
    NULLABLE_TEXT,
    OBJECTS,
    Json,
    members,
    ref,
    text,
)

CHAT: dict[str, Any] = {"tag": "chat"}
OPERATIONS = (
    Operation("post", "/api/chat/{slug}", "chat_send", "Start a run from a chat of the AI SDK.",
              {200: FRAMES}, ref("ChatRequest"), headers=KEY, **CHAT),
    Operation("get", "/api/chat/{slug}/{chat}", "chat_messages", "The chat as UIMessages.",
              {200: {JSON: OBJECTS}}, **CHAT),
    Operation("get", "/api/chat/{slug}/{chat}/stream", "chat_stream",
              "The message that is being made.", {200: FRAMES, 204: {}}, **CHAT),
    Operation("post", "/api/chat/{slug}/{chat}/stop", "chat_stop", "Cancel what runs in the chat.",
              as_json("ChatStopped", 202), **CHAT),
)  # fmt: skip
SHAPES: dict[str, Json] = {
    "ChatRequest": members(
        "id", "messages", id=text("The thread."), messages=OBJECTS, trigger=text(),
        messageId=NULLABLE_TEXT,
    ),
    "ChatStopped": members("stopped", stopped=FLAG),
}  # fmt: skip
