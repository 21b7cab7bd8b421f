"""LlamaIndex's AG-UI router as an agent of the host: results and whole answers come by snapshot.

Its model is scripted, or an endpoint of OpenAI's protocol that refuses what OpenAI refuses.
"""

import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.host import Host
from tests.conformance.products.conftest import PEERS, python, served
from tests.conformance.products.nightly import frameworks, strict_model
from tests.conformance.products.nightly.strict_model import Model
from tests.conformance.products.readers import ADD, responses, runs

pytestmark = [pytest.mark.soak, pytest.mark.judge, pytest.mark.timeout(900)]
PACKAGE = "llama-index-protocols-ag-ui"
Json = dict[str, Any]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the agent notes what it was given."""
    return tmp_path_factory.mktemp("inputs") / "inputs"


@pytest.fixture(scope="module")
def model() -> Iterator[Model]:
    with strict_model.serving() as model:
        yield model


@pytest.fixture(scope="module")
def llama(
    desk: Host, model: Model, inputs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Host]:
    folder, where = tmp_path_factory.mktemp("llama"), {"INPUTS": str(inputs)}
    how = {"python": python(PACKAGE), "cwd": PEERS, "STRICT_MODEL": model.url, **where}
    agents = {"llama": "/run", "llama-strict": "/strict/run"}
    with served(desk, "llama_index_agent:app", folder, agents, **how):
        yield desk


@pytest.mark.parametrize("situation", frameworks.ALL, ids=lambda each: each.__name__)
async def test_a_situation(llama: Host, situation: Callable[[Host, str], Awaitable[None]]) -> None:
    await situation(llama, "llama")


async def test_a_tool_of_the_agent(llama: Host) -> None:
    result = '{"word": "sky", "colour": "blue"}'
    await frameworks.tool_of_the_agent(llama, "llama", result)


SAID = ["look up sky", "what time is it?", "add 2 and 3", "look up sea", "and now?"]
"""Tools of the agent, with arguments and without, and the client's, which gets no answer."""
CALLS = [
    ("lookup", {"word": "sky"}), ("now", {}), ("add", {"a": "2", "b": "3"}),
    ("lookup", {"word": "sea"}),
]  # fmt: skip
BLUE = '{"word": "sky", "colour": "blue"}'


@pytest.mark.parametrize("wire", ["conversation", "snapshot"])
def test_a_strict_endpoint_takes_the_history(
    llama: Host, model: Model, inputs: Path, wire: str
) -> None:
    """What the host gives the agent is what OpenAI takes, and so is what LlamaIndex makes of it."""
    thread, known = f"strict-{wire}", list[Json]()
    for words in SAID:
        if wire == "conversation":
            by_conversation(llama, thread, words)
        else:
            known = by_snapshot(llama, thread, [*known, stray(words), user(words)])
        assert model.refused == [], words
    rows = runs(llama, thread)
    assert [each["status"] for each in rows] == ["succeeded"] * len(SAID)
    lines = inputs.read_text().splitlines()[-len(SAID) :]
    histories = [history_of(line) for line in lines]
    assert [strict_model.fault(each) for each in histories] == [""] * len(SAID)
    history = histories[-1]
    assert [each["content"] for each in history if each["role"] == "user"] == SAID
    calls = [call["function"] for each in history for call in each.get("tool_calls") or []]
    assert [(call["name"], json.loads(call["arguments"])) for call in calls] == CALLS
    results = [each["content"] for each in history if each["role"] == "tool"]
    assert (results[:2], len(results)) == ([BLUE, "noon"], len(CALLS))
    heard = [each for each in model.asked[-1]["messages"] if strict_model.is_user(each)]
    assert [strict_model.text_of(each["content"]) for each in heard] == SAID


def history_of(line: str) -> list[Json]:
    """The messages that the agent was given, as a chat model has them."""
    names = {"toolCalls": "tool_calls", "toolCallId": "tool_call_id"}
    messages = json.loads(line)["messages"]
    return [{names.get(name, name): value for name, value in each.items()} for each in messages]


def user(words: str) -> Json:
    return {"id": f"u-{words}", "role": "user", "content": words}


def stray(words: str) -> Json:
    """A result that belongs to no call, as a client with two threads sends it."""
    return {"id": f"stray-{words}", "role": "tool", "toolCallId": "nobodys", "content": "x"}


def by_conversation(host: Host, thread: str, words: str) -> None:
    """A client that sends its words alone; the host has the history."""
    with responses(host) as client:
        answer = client.responses.create(
            model="llama-strict", input=words, tools=[ADD], conversation=thread
        )
    assert answer.status == "completed", answer.error


def by_snapshot(host: Host, thread: str, messages: list[Json]) -> list[Json]:
    """A client of AG-UI, which sends all it has, and has what the newest snapshot says."""
    tool = {name: ADD[name] for name in ("name", "description", "parameters")}
    body = {"threadId": thread, "messages": messages, "tools": [tool]}
    with host.client() as client:
        answer = client.post("/agui/agent/llama-strict/run", json=body)
    assert answer.status_code == 200, answer.text
    lines = [line for line in answer.text.splitlines() if line.startswith("data:")]
    events = [json.loads(line.removeprefix("data:")) for line in lines]
    snapshots = [each["messages"] for each in events if each["type"] == "MESSAGES_SNAPSHOT"]
    return list(snapshots[-1])
