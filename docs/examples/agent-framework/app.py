"""An agent of the Microsoft Agent Framework with an AG-UI endpoint, and no model behind it.

The stand-in "model" asks for a booking, and says how it went. Put a client of yours in its place.
"""

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    tool,
)
from agent_framework_ag_ui import add_agent_framework_fastapi_endpoint
from fastapi import FastAPI


class StandIn(FunctionInvocationLayer, BaseChatClient):
    """Answers the last message."""

    def _inner_get_response(self, *, messages: Any, stream: bool, **kwargs: Any) -> Any:
        return self._build_response_stream(self._answer(messages[-1]))

    async def _answer(self, last: Any) -> AsyncIterator[ChatResponseUpdate]:
        results = [each.result for each in last.contents if each.type == "function_result"]
        if results:
            parts = [Content.from_text(word) for word in ("It is ", f"{results[0]}.")]
        elif "book" in last.text:
            call = Content.from_function_call(f"call-{uuid4()}", "book", arguments='{"seats": 4}')
            parts = [Content.from_text("One moment. "), call]
        else:
            parts = [Content.from_text(word) for word in ("You ", "said ", f"{last.text}.")]
        message = str(uuid4())
        for part in parts:
            yield ChatResponseUpdate(role="assistant", contents=[part], message_id=message)


@tool(approval_mode="always_require")
def book(seats: int) -> str:
    """Book a table."""
    return f"booked for {seats}"


app = FastAPI()
agent = Agent(client=StandIn(), name="booking", tools=[book])
add_agent_framework_fastapi_endpoint(app, agent, "/agent", single_user=True)
