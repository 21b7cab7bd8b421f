"""OpenAI's Agents SDK with an agent of the host as its model, case by case.

``OPENAI_BASE_URL`` and ``OPENAI_API_KEY`` are all that leads it there. It prints what it saw.
"""

import asyncio
import json
from typing import Any

from agents import (
    Agent,
    HostedMCPTool,
    OpenAIChatCompletionsModel,
    OpenAIConversationsSession,
    Runner,
    SQLiteSession,
    function_tool,
)
from openai import AsyncOpenAI

Json = dict[str, Any]


@function_tool
def add(a: int, b: int) -> int:
    """The sum."""
    return a + b


@function_tool(name_override="add", needs_approval=True)
def guarded(a: int, b: int) -> int:
    """The sum, if a person agrees."""
    return a + b


def agent(wire: str = "responses", tools: tuple[Any, ...] = ()) -> Agent[Any]:
    model = "concierge"
    if wire == "chat":
        chat = OpenAIChatCompletionsModel(model, AsyncOpenAI())
        return Agent(name="Desk", model=chat, tools=list(tools))
    return Agent(name="Desk", model=model, tools=list(tools))


async def sqlite(wire: str) -> Json:
    """Turns whose history the SDK keeps and sends; one has a tool, one is streamed."""
    desk, session = agent(wire, (add,)), SQLiteSession("talk")
    texts = []
    for words in ("my name is Ada", "add 2 and 3"):
        texts.append((await Runner.run(desk, words, session=session)).final_output)
    streamed = Runner.run_streamed(desk, "add 4 and 5", session=session)
    deltas = []
    async for event in streamed.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            deltas.append(event.data.delta)
    texts.append(streamed.final_output)
    texts.append((await Runner.run(desk, "who am I?", session=session)).final_output)
    kinds = [item.get("type", "message") for item in await session.get_items()]
    return {"texts": texts, "deltas": deltas, "kinds": kinds}


async def chained() -> Json:
    """Turns of which only the newest is sent, by the id of the response before."""
    desk, texts, last, ids = agent(tools=(add,)), [], None, []
    for words in ("my name is Ada", "add 2 and 3", "who am I?"):
        done = await Runner.run(
            desk, words, previous_response_id=last, auto_previous_response_id=True
        )
        last = done.last_response_id
        texts.append(done.final_output)
        ids += [response.response_id for response in done.raw_responses]
    return {"texts": texts, "responses": ids}


async def conversation() -> Json:
    """Turns in a conversation of the host, by its id."""
    made = await AsyncOpenAI().conversations.create()
    desk, texts = agent(tools=(add,)), []
    for words in ("my name is Ada", "add 2 and 3", "who am I?"):
        done = await Runner.run(desk, words, conversation_id=made.id)
        texts.append(done.final_output)
    items = [item.type async for item in AsyncOpenAI().conversations.items.list(made.id)]
    return {"texts": texts, "conversation": made.id, "kinds": items[::-1]}


async def conversations_session() -> Json:
    """The SDK's own session over conversations, which it reads, adds to and takes from."""
    desk, session = agent(tools=(add,)), OpenAIConversationsSession()
    texts = []
    for words in ("my name is Ada", "add 2 and 3", "who am I?"):
        texts.append((await Runner.run(desk, words, session=session)).final_output)
    kinds = [item.get("type", "message") for item in await session.get_items()]
    popped = await session.pop_item()
    left = len(await session.get_items())
    await session.clear_session()
    return {"texts": texts, "kinds": kinds, "popped": popped, "left": left}


async def approval(wire: str) -> Json:
    """The SDK's own approval of its tool: the run waits in the program, not in the host."""
    desk, session = agent(wire, (guarded,)), SQLiteSession("guarded")
    texts = []
    for answer in (True, False):
        done = await Runner.run(desk, "add 2 and 3", session=session)
        (item,) = done.interruptions
        state = done.to_state()
        if answer:
            state.approve(item)
        else:
            state.reject(item)
        texts.append((await Runner.run(desk, state, session=session)).final_output)
    return {"texts": texts}


async def question(how: str) -> Json:
    """A question of the host's agent, answered by the SDK's callback for hosted tools."""
    answers = {"yes": {"approve": True}, "no": {"approve": False, "reason": "too dear"}}
    hosted = HostedMCPTool(
        tool_config={"type": "mcp", "server_label": "host", "server_url": "https://host.example"},
        on_approval_request=lambda request: answers[how],
    )
    desk, session = agent(tools=(hosted,)), SQLiteSession("asked")
    plain = await Runner.run(desk, "ask")
    chain = await Runner.run(desk, "ask", auto_previous_response_id=True)
    first = await Runner.run(desk, "ask", session=session)
    again = await Runner.run(desk, "ask", session=session)
    return {"texts": [each.final_output for each in (plain, chain, first, again)]}


CASES = {
    "sqlite-responses": lambda: sqlite("responses"),
    "sqlite-chat": lambda: sqlite("chat"),
    "chained": chained,
    "conversation": conversation,
    "conversations-session": conversations_session,
    "approval-responses": lambda: approval("responses"),
    "approval-chat": lambda: approval("chat"),
    "question-yes": lambda: question("yes"),
    "question-no": lambda: question("no"),
}


async def main() -> Json:
    """What each case saw; they run at once."""
    return dict(zip(CASES, await asyncio.gather(*(case() for case in CASES.values())), strict=True))


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main()), default=str))
