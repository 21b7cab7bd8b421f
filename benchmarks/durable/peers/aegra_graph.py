"""The graph that Aegra serves (``aegra.json`` names it): one node, which writes each delta."""

from typing import TypedDict

import script
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    """What a run is given, and how many deltas it said."""

    message: str
    count: int


async def speak(state: State) -> dict[str, int]:
    """The agent."""
    write, count = get_stream_writer(), 0
    async for delta in script.deltas(state["message"]):
        write({"delta": delta})
        count += 1
    return {"count": count}


graph = StateGraph(State)
graph.add_node("speak", speak)
graph.add_edge(START, "speak")
graph.add_edge("speak", END)
graph = graph.compile()
