"""LlamaIndex's AG-UI router at its defaults, with a scripted model in place of a real one.

``look up WORD`` calls a tool of the agent, ``add A and B`` the client's, ``fail`` raises, ``count``
counts for a minute. Anything else is answered with all that the user has said.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

from fastapi import FastAPI
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import ChatMessage, ChatResponse
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.protocols.ag_ui.router import get_ag_ui_workflow_router


class Scripted(MockFunctionCallingLLM):
    """Streams words, as a model does."""

    async def astream_chat(self, messages: Any, **kwargs: Any) -> Any:
        return _answer(list(messages), [tool.metadata.name for tool in kwargs.get("tools") or ()])


async def _answer(messages: list[ChatMessage], offered: list[str]) -> AsyncIterator[ChatResponse]:
    users = [m.content or "" for m in messages if m.role == "user" and not _is_result(m)]
    if _is_result(messages[-1]):
        words = f"The result is {messages[-1].content}."
    elif users[-1] == "fail":
        raise RuntimeError("the model is away")
    elif users[-1] == "count":
        words = " ".join(map(str, range(600)))
    elif users[-1].startswith("look up "):
        yield _call("lookup", {"word": users[-1].removeprefix("look up ")})
        return
    elif users[-1].startswith("add "):
        a, b = users[-1].removeprefix("add ").split(" and ")
        yield _call(next(name for name in offered if name != "lookup"), {"a": a, "b": b})
        return
    else:
        words = f"You said {', then '.join(users)}."
    text = ""
    for word in words.split(" "):
        delta = f"{' ' if text else ''}{word}"
        text += delta
        yield ChatResponse(message=ChatMessage(role="assistant", content=text), delta=delta)
        if users[-1] == "count":
            await asyncio.sleep(0.1)


def _is_result(message: ChatMessage) -> bool:
    return "tool_call_id" in message.additional_kwargs


def _call(name: str, arguments: dict[str, Any]) -> ChatResponse:
    block = ToolCallBlock(tool_call_id=str(uuid4()), tool_name=name, tool_kwargs=arguments)
    return ChatResponse(message=ChatMessage(role="assistant", blocks=[block]), delta="")


async def lookup(word: str) -> str:
    """What a word means."""
    return json.dumps({"word": word, "colour": "blue"})


app = FastAPI()
app.include_router(get_ag_ui_workflow_router(llm=Scripted(), backend_tools=[lookup]))
