"""OpenAI's Python client against ``/v1``, in this process."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

import openai
import pytest
from openai.types.responses import Response

from tests.acceptance.host import Host
from tests.conformance.scenarios.parts import args, call, result, text, thought

Json = dict[str, Any]
PLACE = {"type": "function", "name": "place", "description": "where", "parameters": {}}
DELTAS = {
    "text": ("response.output_text.delta", text("a", *"abcdefghij")),
    "call": (
        "response.mcp_call_arguments.delta",
        [*call("c", "{", *" " * 8, end=False), *args("c", "}"), result("c")],
    ),
}
PAUSE = {"sleep": 0.02}


@pytest.fixture
def client(host: Host) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{host.url}/v1", api_key=host.key, max_retries=0) as client:
        yield client


def ask(client: openai.OpenAI, *script: Json, **more: Any) -> Any:
    """A response of the scripted agent, or its stream."""
    body = {"forwardedProps": {"script": list(script)}}
    request = {"model": "scripted", "input": "hello", "extra_body": body, **more}
    return client.responses.create(**request)


def slowly(*script: Json) -> list[Json]:
    return [step for each in script for step in (each, PAUSE)]


def deltas(events: Any, kind: str = "response.output_text.delta") -> str:
    return "".join(each.delta for each in events if each.type == kind)


def test_the_models_and_refusals(client: openai.OpenAI) -> None:
    assert "docs" in [model.id for model in client.models.list()]
    with pytest.raises(openai.NotFoundError) as refusal:
        client.responses.create(model="nobody", input="x")
    assert refusal.value.body["type"] == "not_found_error"
    with pytest.raises(openai.AuthenticationError):
        client.with_options(api_key="wrong").models.list()


def test_a_second_response_and_chat_completions(client: openai.OpenAI) -> None:
    first = ask(client, {"text": "One."})
    assert first.output_text == "One."
    final: Response = ask(client, {"text": "Two."}, input="again", previous_response_id=first.id)
    assert final.previous_response_id == first.id
    (item,) = client.responses.input_items.list(final.id).data
    assert item.content[0].text == "again"
    body = {"forwardedProps": {"script": [{"text": "One."}]}}
    chat = client.chat.completions.create(
        model="scripted", messages=[{"role": "user", "content": "hello"}], extra_body=body
    )
    assert chat.choices[0].message.content == "One."


def test_reasoning_and_a_tool_of_the_agent(client: openai.OpenAI) -> None:
    script = [*thought("r", "Hm."), *text("a", "I look."), *call("c", "{}"), result("c")]
    made: Response = ask(client, *script)
    reasoning, message, look = made.output
    assert reasoning.summary[0].text == "Hm."
    assert message.content[0].text == made.output_text == "I look."
    assert (look.type, look.name, look.output) == ("mcp_call", "look", "42")
    *_, last = ask(client, *script, stream=True)
    assert (last.type, last.response.status) == ("response.completed", "completed")
    assert [item.type for item in last.response.output] == [item.type for item in made.output]


def test_a_tool_of_the_client(client: openai.OpenAI) -> None:
    first = ask(client, *call("c1", '{"of":"me"}', tool="place"), tools=[PLACE])
    (request,) = first.output
    assert (request.type, request.arguments) == ("function_call", '{"of":"me"}')
    output = {"type": "function_call_output", "call_id": request.call_id, "output": "Basel"}
    more = {"previous_response_id": first.id, "input": [output], "tools": [PLACE]}
    assert ask(client, {"text": "Basel, then."}, **more).output_text == "Basel, then."


def test_a_question_and_its_answer(client: openai.OpenAI) -> None:
    first = client.responses.create(model="approval", input="delete report.txt")
    (request,) = [item for item in first.output if item.type == "mcp_approval_request"]
    assert json.loads(request.arguments) == {"action": "delete", "target": "report.txt"}
    answer = {"type": "mcp_approval_response", "approval_request_id": request.id, "approve": True}
    more = {"previous_response_id": first.id, "input": [answer]}
    done = client.responses.create(model="approval", **more)
    assert done.output_text.startswith("Done, in the ledger")


def test_an_error_of_the_agent(client: openai.OpenAI) -> None:
    script = [{"text": "So far."}, {"raise": "no"}]
    retrying = client.with_options(max_retries=1)
    chat = {"model": "scripted", "messages": [{"role": "user", "content": "hello"}]}
    for send in (
        lambda: ask(retrying, *script),
        lambda: retrying.chat.completions.create(
            **chat, extra_body={"forwardedProps": {"script": script}}
        ),
    ):
        with pytest.raises(openai.InternalServerError) as error:
            send()
        retries = error.value.request.headers["x-stainless-retry-count"]
        assert retries == "0", "each request starts a run"
    *_, last = ask(client, *script, stream=True)
    assert last.type == "response.failed"
    made = client.responses.retrieve(last.response.id)
    assert (made.status, made.output_text) == ("failed", "So far.")
    assert made.error
    assert made.error.code == "server_error"


def test_cancel(client: openai.OpenAI) -> None:
    queued: Response = ask(client, {"text": "So far."}, {"forever": True}, background=True)
    assert client.responses.cancel(queued.id).status == "cancelled"
    assert client.responses.retrieve(queued.id).status == "cancelled"


@pytest.mark.parametrize("what", DELTAS)
def test_a_cut_stream_and_other_readers(client: openai.OpenAI, what: str) -> None:
    """The stream is cut in a text or a call's arguments; others join, and come late."""
    kind, script = DELTAS[what]
    with ask(client, *slowly(*script), stream=True, background=True) as stream:
        first = list(islice(stream, 6))
    assert first[-1].type == kind, "it was not cut there"
    key, after = first[0].response.id, first[-1].sequence_number
    second = list(client.responses.retrieve(key, stream=True))
    rest = list(client.responses.retrieve(key, stream=True, starting_after=after))
    late = list(client.responses.retrieve(key, stream=True))
    numbers = [each.sequence_number for each in second]
    assert numbers == [each.sequence_number for each in [*first, *rest]] == sorted(set(numbers))
    assert [each.to_dict() for each in late] == [each.to_dict() for each in second]
    (item,) = client.responses.retrieve(key).output
    whole = item.arguments if what == "call" else item.content[0].text
    assert deltas([*first, *rest], kind) == deltas(second, kind) == whole
    assert len(deltas(first, kind)) < len(whole)
