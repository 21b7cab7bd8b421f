"""A graph of two nodes with tools, each of which leaves a line when a tool really runs."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from langgraph.config import get_config
from langgraph.graph import END, START, MessagesState, StateGraph

from agui_host import RunContext, agent
from agui_host.frameworks import langgraph

FACTS = "The first tool found 21. "
ANSWER = "So the second says 42."


class Speaking(BaseChatModel):
    """Says the words of the last message, one by one."""

    id: str
    words: str

    @property
    def _llm_type(self) -> str:
        return "speaking"

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("only streams")

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        for number, word in enumerate(self.words.split(" ")):
            if number:
                word = f" {word}"
            yield ChatGenerationChunk(message=AIMessageChunk(content=word, id=self.id))
            if self.id == "second" and number == 2:
                await reach("sending")
            await asyncio.sleep(world().pause)


class World:
    """The run that plays here: its folder, where it waits for its worker's end, and its pace."""

    def __init__(self, ctx: RunContext) -> None:
        self.folder = Path(ctx.forwarded_props["folder"])
        self.pause = ctx.forwarded_props.get("pause", 0.01)
        self.stops_at = "" if ctx.recovered else ctx.forwarded_props.get("stops_at", "")
        self.released = asyncio.Event()

    def note(self, name: str) -> None:
        with (self.folder / "tools").open("a") as file:
            file.write(f"{name}\n")


worlds: dict[str, World] = {}


def world() -> World:
    return worlds[get_config()["configurable"]["thread_id"]]


async def reach(point: str) -> None:
    here = world()
    if here.stops_at == point:
        await asyncio.sleep(0.3)  # What was sent is stored.
        (here.folder / "fired").touch()
        await here.released.wait()


async def first(state: MessagesState) -> dict[str, Any]:
    await reach("before")
    world().note("first")
    await reach("first")
    spoken = await Speaking(id="first", words=FACTS).ainvoke(state["messages"])
    return {"messages": [spoken]}


async def second(state: MessagesState) -> dict[str, Any]:
    await reach("between")
    world().note("second")
    await reach("second")
    spoken = await Speaking(id="second", words=ANSWER).ainvoke(state["messages"])
    return {"messages": [spoken]}


graph = StateGraph(MessagesState)
graph.add_node("first", first)
graph.add_node("second", second)
graph.add_edge(START, "first")
graph.add_edge("first", "second")
graph.add_edge("second", END)


@agent("two-nodes", recovery="continue")
async def two_nodes(ctx: RunContext) -> AsyncIterator[Any]:
    from agui_host.frameworks import checkpoints

    worlds[checkpoints.key_of(ctx.team, ctx.thread_id, ctx.agent)] = World(ctx)
    async for event in langgraph.events(ctx, graph):
        yield event
