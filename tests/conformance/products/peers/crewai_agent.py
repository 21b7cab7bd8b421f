"""CrewAI's flows behind ag-ui-crewai at its defaults, with scripted models in place of real ones.

``/flow`` talks: ``ask the crew ABOUT`` lets a crew of one agent work, ``add A and B`` calls the
client's tool, ``fail`` raises, ``count`` counts for a minute. ``/review`` asks a person.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import litellm
import scripted_model
from ag_ui_crewai import (
    CopilotKitState,
    add_crewai_flow_fastapi_endpoint,
    agui_feedback_provider,
    copilotkit_stream,
)
from crewai import Agent, BaseLLM, Crew, Task
from crewai.flow.flow import Flow, listen, start
from crewai.flow.human_feedback import human_feedback
from fastapi import FastAPI
from scripted_model import Call, spoken

Json = dict[str, Any]


class Talker(litellm.CustomLLM):
    """A provider of LiteLLM, through which flows call their models."""

    async def astreaming(self, model: str, messages: list[Json], **kwargs: Any) -> Any:
        offered = kwargs["optional_params"].get("tools") or []
        async for piece in _answer(messages, [tool["function"]["name"] for tool in offered]):
            yield {
                "text": "", "tool_use": None, "is_finished": False, "finish_reason": "",
                "usage": None, "index": 0, **piece,
            }  # fmt: skip


async def _answer(messages: list[Json], offered: list[str]) -> AsyncIterator[Json]:
    users = [each["content"] for each in messages if each["role"] == "user"]
    result = messages[-1]["content"] if messages[-1]["role"] == "tool" else None
    reply = scripted_model.answer(users, result, offered)
    if isinstance(reply, Call):
        yield _call(*reply)
        return
    async for piece in spoken(reply):
        yield {"text": piece}
    yield {"is_finished": True, "finish_reason": "stop"}


def _call(name: str, arguments: Json) -> Json:
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": str(uuid4()), "type": "function", "function": function, "index": 0}
    return {"tool_use": call, "is_finished": True, "finish_reason": "tool_calls"}


litellm.custom_provider_map = [{"provider": "scripted", "custom_handler": Talker()}]


class Researcher(BaseLLM):
    """The model of the crew's agent."""

    def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        return "Thought: I know.\nFinal Answer: blue"


def research(word: str) -> str:
    """What a crew finds out."""
    agent = Agent(
        role="Researcher", goal="Find out", backstory="Curious", llm=Researcher(model="scripted")
    )
    task = Task(description=f"Look up {word}", expected_output="A word", agent=agent)
    return Crew(agents=[agent], tasks=[task]).kickoff().raw


LOOKUP = {
    "type": "function",
    "function": {
        "name": "lookup",
        "description": "What a word means.",
        "parameters": {"type": "object", "properties": {"word": {"type": "string"}}},
    },
}


class Talk(Flow[CopilotKitState]):
    @start()
    async def chat(self) -> None:
        """Until the model has nothing more to look up."""
        while True:
            answer = await self._ask()
            self.state.messages.append(answer)
            calls = [
                each for each in answer.get("tool_calls") or () if each.function.name == "lookup"
            ]
            if not calls:
                return
            for each in calls:
                output = await asyncio.to_thread(
                    research, json.loads(each.function.arguments)["word"]
                )
                result = {"role": "tool", "content": output, "tool_call_id": each.id}
                self.state.messages.append(result)

    async def _ask(self) -> Any:
        stream = await litellm.acompletion(
            model="scripted/talker",
            messages=list(self.state.messages),
            tools=[*self.state.copilotkit.actions, LOOKUP],
            stream=True,
        )
        return (await copilotkit_stream(stream)).choices[0].message


class Review(Flow[CopilotKitState]):
    @start()
    @human_feedback(message="Publish this?", provider=agui_feedback_provider)
    def draft(self) -> str:
        return "A draft"

    @listen(draft)
    async def publish(self, decision: Any) -> None:
        words = f"You decided {decision.feedback}."
        self.state.messages.append({"role": "assistant", "id": str(uuid4()), "content": words})


app = FastAPI()
add_crewai_flow_fastapi_endpoint(app, Talk(), "/flow")
add_crewai_flow_fastapi_endpoint(app, Review(), "/review")
