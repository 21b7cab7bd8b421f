"""What every framework's agent goes through behind the host; a judge's test calls each."""

import json
from typing import Any

import openai
import pytest

from tests.acceptance.host import Host, wait_for
from tests.conformance.products.readers import (
    ADD,
    last_answers,
    messages,
    responses,
    runs,
    spoken,
)


async def two_turns(host: Host, slug: str) -> None:
    """The second turn has the first; nobody reads an answer twice."""
    first, thread = "You said hello.", f"turns-{slug}"
    second = "You said hello, then who am I?."
    with responses(host) as client:
        for text, answer in (("hello", first), ("who am I?", second)):
            response = client.responses.create(model=slug, input=text, conversation=thread)
            assert (response.status, response.output_text) == ("completed", answer)
    assert spoken(host, thread) == [
        ("user", "hello"), ("assistant", first), ("user", "who am I?"), ("assistant", second),
    ]  # fmt: skip
    read = await last_answers(host, slug, thread)
    assert read == dict.fromkeys(read, second)


async def chat_completions(host: Host, slug: str) -> None:
    """A chat that sends its whole history each time is one thread."""
    history: list[Any] = []
    with responses(host) as client:
        for number in range(3):
            history.append({"role": "user", "content": f"turn {number}"})
            stream = client.chat.completions.create(
                model=slug,
                messages=history,
                extra_headers={"X-OpenWebUI-Chat-Id": f"chat-{slug}"},
                stream=True,
            )
            deltas = [piece.choices[0].delta.content or "" for piece in stream if piece.choices]
            history.append({"role": "assistant", "content": "".join(deltas)})
    turns = ", then ".join(f"turn {number}" for number in range(3))
    assert history[-1]["content"] == f"You said {turns}."
    assert [each["status"] for each in runs(host, f"chat-{slug}")] == ["succeeded"] * 3


async def tool_of_the_agent(host: Host, slug: str, result: str) -> None:
    """Its call has its result, which nobody is asked for; the next turn is answered as well."""
    thread = f"lookup-{slug}"
    with responses(host) as client:
        response = client.responses.create(model=slug, input="look up sky", conversation=thread)
        assert response.output_text == f"The result is {result}."
        (run,) = runs(host, thread)
        outcome = host.events(run["id"])[-1]["event"].get("outcome", {})
        assert outcome.get("pendingToolCallIds", []) == []
        history = messages(host, thread)
        assert [each["role"] for each in history] == ["user", "assistant", "tool", "assistant"]
        (call,) = history[1]["toolCalls"]
        assert json.loads(call["args"]) == {"word": "sky"}
        assert (history[2]["toolCallId"], history[2]["content"]) == (call["id"], result)
        again = client.responses.create(model=slug, input="again", conversation=thread)
        assert again.output_text == "You said look up sky, then again."
    with host.client() as client:
        chat = client.get(f"/api/chat/{slug}/{thread}").json()
    (part,) = [part for part in chat[1]["parts"] if "toolCallId" in part]
    assert (part["state"], part["input"]) == ("output-available", {"word": "sky"})
    assert part["output"] in (result, json.loads(result) if result[0] == "{" else result)


async def tool_of_the_client(host: Host, slug: str) -> None:
    """A call of the application's tool waits for its result, and goes on with it."""
    thread = f"add-{slug}"
    with responses(host) as client:
        asked = client.responses.create(
            model=slug, input="add 2 and 3", tools=[ADD], conversation=thread
        )
        (call,) = [item for item in asked.output if item.type == "function_call"]
        assert (call.name, json.loads(call.arguments)) == ("add", {"a": "2", "b": "3"})
        assert asked.output_text == ""
        output: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "5"}
        done = client.responses.create(model=slug, input=[output], tools=[ADD], conversation=thread)
    assert (done.status, done.output_text) == ("completed", "The result is 5.")
    history = messages(host, thread)
    assert [each["role"] for each in history] == ["user", "assistant", "tool", "assistant"]


async def error(host: Host, slug: str) -> None:
    """An agent that fails ends its run; the thread goes on."""
    thread = f"fail-{slug}"
    with responses(host) as client:
        with pytest.raises(openai.InternalServerError):
            client.responses.create(model=slug, input="fail", conversation=thread)
        assert runs(host, thread)[-1]["status"] == "failed"
        later = client.responses.create(model=slug, input="hello", conversation=thread)
    assert (later.status, later.output_text) == ("completed", "You said fail, then hello.")


async def cancel(host: Host, slug: str) -> None:
    """A cancelled run keeps what it has said, and the next turn has a history without holes."""
    thread = f"count-{slug}"
    with responses(host) as client:
        begun = client.responses.create(
            model=slug, input="count", conversation=thread, background=True
        )
        retrieve = client.responses.retrieve
        wait_for(lambda: " 3 " in retrieve(begun.id).output_text, "it to count")
        assert client.responses.cancel(begun.id).status in ("in_progress", "cancelled")
        wait_for(lambda: retrieve(begun.id).status == "cancelled", "it to stop")
        assert retrieve(begun.id).output_text.startswith("0 1 2 3 ")
        later = client.responses.create(model=slug, input="hello", conversation=thread)
    assert (later.status, later.output_text) == ("completed", "You said count, then hello.")


ALL = (two_turns, chat_completions, tool_of_the_client, error, cancel)
"""All but those that differ between frameworks."""
