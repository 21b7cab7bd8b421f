"""LlamaIndex's AG-UI router at its defaults, with a scripted model in place of a real one.

``look up WORD`` calls a tool of the agent, ``add A and B`` the client's, ``fail`` raises, ``count``
counts for a minute. Anything else is answered with all that the user has said. ``/strict/run`` is
the same with an endpoint of OpenAI's protocol at ``STRICT_MODEL`` as its model, and writes what it
was given to the file ``INPUTS``, a run a line.
"""

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import scripted_model
from fastapi import FastAPI, Request, Response
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import ChatMessage, ChatResponse
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.llms.openai_like import OpenAILike
from llama_index.protocols.ag_ui.router import get_ag_ui_workflow_router
from scripted_model import Call, spoken


class Scripted(MockFunctionCallingLLM):
    """Streams words, as a model does."""

    async def astream_chat(self, messages: Any, **kwargs: Any) -> Any:
        return _answer(list(messages), [tool.metadata.name for tool in kwargs.get("tools") or ()])


async def _answer(messages: list[ChatMessage], offered: list[str]) -> AsyncIterator[ChatResponse]:
    users = [m.content or "" for m in messages if m.role == "user" and not _is_result(m)]
    result = messages[-1].content if _is_result(messages[-1]) else None
    reply = scripted_model.answer(users, result, offered)
    if isinstance(reply, Call):
        yield _call(*reply)
        return
    text = ""
    async for delta in spoken(reply):
        text += delta
        yield ChatResponse(message=ChatMessage(role="assistant", content=text), delta=delta)


def _is_result(message: ChatMessage) -> bool:
    return "tool_call_id" in message.additional_kwargs


def _call(name: str, arguments: dict[str, Any]) -> ChatResponse:
    block = ToolCallBlock(tool_call_id=str(uuid4()), tool_name=name, tool_kwargs=arguments)
    return ChatResponse(message=ChatMessage(role="assistant", blocks=[block]), delta="")


async def lookup(word: str) -> str:
    """What a word means."""
    return json.dumps({"word": word, "colour": "blue"})


async def now() -> str:
    """The time of day."""
    return "noon"


def strict(url: str) -> OpenAILike:
    """A model of somebody else that speaks OpenAI's protocol."""
    kind = {"is_chat_model": True, "is_function_calling_model": True}
    return OpenAILike(model="strict", api_base=url, api_key="x", max_retries=0, **kind)


app = FastAPI()
app.include_router(get_ag_ui_workflow_router(llm=Scripted(), backend_tools=[lookup]))


@app.middleware("http")
async def note(request: Request, respond: Callable[[Request], Awaitable[Response]]) -> Response:
    body = await request.body()
    if request.url.path == "/strict/run":
        with Path(os.environ["INPUTS"]).open("ab") as inputs:
            inputs.write(body + b"\n")
    return await respond(request)


if url := os.environ.get("STRICT_MODEL"):
    router = get_ag_ui_workflow_router(llm=strict(url), backend_tools=[lookup, now])
    app.include_router(router, prefix="/strict")
