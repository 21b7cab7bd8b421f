"""Reads ``{"say": TEXT, "to": THREAD}``."""

from typing import Any

from agui_host.protocol.input.fields import text_at
from agui_host.protocol.input.members import known_members


def read(body: Any) -> dict[str, Any]:
    """The RunAgentInput of a body. Raises BadRequest, Invalid."""
    members = known_members(body, ("say", "to"))
    words = {"id": "said", "role": "user", "content": text_at(members, "say", "say")}
    return {"threadId": text_at(members, "to", "to"), "messages": [words]}
