"""LangGraph behind ag-ui-langgraph, as its page shows it, without a model.

``/plain`` returns its message whole, so that only a snapshot brings it. ``/default`` and
``/outcome`` ask: the first by a CUSTOM ``on_interrupt`` alone, the other by the outcome as well.
"""

import json
from typing import Any

from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

WEATHER = "It is sunny in Basel."
QUESTION = "Approve 5 EUR?"


def tell(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage(content=WEATHER)]}


def ask(state: MessagesState) -> dict[str, Any]:
    answer = interrupt({"question": QUESTION})
    return {"messages": [AIMessage(content=f"You said {json.dumps(answer)}.")]}


app = FastAPI()
for path, node, options in (
    ("/plain", tell, {}),
    ("/default", ask, {}),
    ("/outcome", ask, {"emit_interrupt_outcome": True}),
):
    graph = StateGraph(MessagesState)
    graph.add_node("answer", node)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    compiled = graph.compile(checkpointer=InMemorySaver())
    add_langgraph_fastapi_endpoint(app, LangGraphAgent(name=path, graph=compiled, **options), path)
