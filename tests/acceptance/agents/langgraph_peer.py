"""A remote agent of somebody else's making: LangGraph behind ag-ui-langgraph, without a real model.

"book": the model calls a tool, which asks (an interrupt); the answer decides what it says. "talk":
it speaks for half a minute. What happens here is written to stderr: the peer's own log.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt

SPEECH = 600
"""Words, half a minute. LangChain lets a model that it streams from go on after a cancel."""


def log(text: str) -> None:
    print(f"peer: {text}", file=sys.stderr, flush=True)


class ScriptedModel(BaseChatModel):
    """Answers by what was said last."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("only streams")

    async def _astream(
        self, messages: Any, *args: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            for word in ("The ", "table ", f"is {last.content}."):
                yield _chunk(content=word)
        elif "book" in str(last.content):
            yield _chunk(content="One moment. ")
            call = {"name": "book", "id": "call-1", "index": 0, "type": "tool_call_chunk"}
            yield _chunk(tool_call_chunks=[{**call, "args": ""}])
            for part in ('{"seats"', ": 4}"):
                more = {**call, "name": None, "id": None, "args": part}
                yield _chunk(tool_call_chunks=[more])
        else:
            log("talking")
            for _ in range(SPEECH):
                yield _chunk(content="and ")
                await asyncio.sleep(0.05)


def _chunk(content: str = "", **fields: Any) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=AIMessageChunk(content=content, id="said", **fields))


@tool
def book(seats: int) -> str:
    """Book a table."""
    answer = interrupt({"question": f"Book {seats} seats?"})
    log(f"answered {answer}")
    # A page answers a question without a schema by true, a program mostly by an object.
    is_yes = answer is True or (isinstance(answer, dict) and bool(answer.get("approved")))
    return "booked" if is_yes else "not booked"


async def speak(state: MessagesState) -> Any:
    return {"messages": [await ScriptedModel().ainvoke(state["messages"])]}


class LoggedAgent(LangGraphAgent):
    """Says in the peer's log when a run is cut off from outside."""

    async def run(self, input: Any) -> AsyncIterator[Any]:
        try:
            async for event in super().run(input):
                yield event
        except asyncio.CancelledError:
            log(f"run {input.run_id} cancelled")
            raise


graph = StateGraph(MessagesState)
graph.add_node("speak", speak)
graph.add_node("tools", ToolNode([book]))
graph.add_edge(START, "speak")
graph.add_conditional_edges("speak", tools_condition)
graph.add_edge("tools", "speak")
agent = LoggedAgent(
    name="booking",
    graph=graph.compile(checkpointer=InMemorySaver()),
    emit_interrupt_outcome=True,
)
app = FastAPI()
add_langgraph_fastapi_endpoint(app, agent, "/agent")
