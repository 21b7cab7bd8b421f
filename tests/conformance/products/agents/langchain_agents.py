"""LangChain's HumanInTheLoopMiddleware behind ag-ui-langgraph, without a real model.

``/default`` is served as its page shows it: a question is a CUSTOM ``on_interrupt``. ``/outcome``
has its option for questions of AG-UI 1.
"""

from collections.abc import AsyncIterator
from typing import Any

from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver


class ScriptedModel(BaseChatModel):
    """Pays what it is told to; says what came of it."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("only streams")

    async def _astream(
        self, messages: Any, *args: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            yield _chunk(content=f"{last.content}.")
            return
        call = {"name": "pay", "id": f"call-{len(messages)}", "index": 0, "type": "tool_call_chunk"}
        yield _chunk(tool_call_chunks=[{**call, "args": '{"amount": 5, "to": "Ann"}'}])


def _chunk(content: str = "", **fields: Any) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=AIMessageChunk(content=content, **fields))


@tool
def pay(amount: int, to: str) -> str:
    """Pay somebody."""
    return f"Paid {amount} to {to}"


app = FastAPI()
for path, options in (("/default", {}), ("/outcome", {"emit_interrupt_outcome": True})):
    graph = create_agent(
        ScriptedModel(), [pay], checkpointer=InMemorySaver(),
        middleware=[HumanInTheLoopMiddleware(interrupt_on={"pay": True})],
    )  # fmt: skip
    add_langgraph_fastapi_endpoint(app, LangGraphAgent(name=path, graph=graph, **options), path)
