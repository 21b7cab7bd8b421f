"""What clients leave out or spell otherwise, in the form of the schema table."""

from typing import Any

import pytest

from agui_host.protocol.errors import Invalid
from agui_host.protocol.input import lenient
from agui_host.protocol.input.run_agent_input import parse
from agui_host.protocol.intake.gate import gate


@pytest.mark.parametrize(
    ("value", "entries"),
    [(None, []), ({}, []), ({"name": "a"}, [{"name": "a"}]), ([{"name": "a"}], [{"name": "a"}])],
)
def test_a_list_of_objects(value: Any, entries: list[Any]) -> None:
    assert lenient.objects(value, "tools") == entries


@pytest.mark.parametrize("value", [3, "x", [1], [{}, None]])
def test_what_is_no_list_of_objects_is_refused_by_its_name(value: Any) -> None:
    with pytest.raises(Invalid) as refused:
        lenient.objects(value, "tools")
    assert refused.value.details == {"path": "tools"}


def test_ids_that_are_missing_are_the_same_each_time() -> None:
    message = {"role": "user", "content": "hi"}
    first, second = lenient.messages([message, message], "thread")
    assert first["id"] != second["id"], "the same words twice are two messages"
    assert lenient.messages([message, message], "thread") == [first, second]
    assert lenient.messages([message], "another")[0]["id"] != first["id"]
    assert lenient.messages([{**message, "id": "mine"}], "thread")[0]["id"] == "mine"


def test_a_message_gets_content_and_its_calls_a_type() -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": "{}"}}
    user, assistant = lenient.messages(
        [
            {"id": "u", "role": "user", "content": None, "tool_call_id": "t"},
            {"id": "a", "role": "assistant", "tool_calls": [call]},
        ],
        "",
    )
    assert user == {"id": "u", "role": "user", "content": "", "toolCallId": "t"}
    assert assistant == {
        "id": "a", "role": "assistant", "toolCalls": [{"type": "function", **call}],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ({"content": "x"}, "messages.0.role"),
        ({"role": "user", "content": ["x"]}, "messages.0.content.0"),
        ({"role": "user", "content": [{"type": "image"}]}, "messages.0.content.0.source"),
        ({"role": "tool", "content": [{"type": "binary"}]}, "messages.0.content.0.mimeType"),
    ],
)
def test_an_error_leads_to_its_place(message: dict[str, Any], path: str) -> None:
    with pytest.raises(Invalid) as refused:
        lenient.messages([message], "")
    assert refused.value.details == {"path": path}


@pytest.mark.parametrize(
    ("value", "entries"),
    [
        ({"city": "Basel", "n": 3}, [("city", "Basel"), ("n", "3")]),
        ({"value": "x"}, [("", "x")]),
        ([{"description": "d", "value": {"a": 1}}], [("d", '{"a":1}')]),
        ([{"value": None}], [("", "null")]),
    ],
)
def test_context_is_entries_of_text(value: Any, entries: list[tuple[str, str]]) -> None:
    read = [(entry["description"], entry["value"]) for entry in lenient.context(value)]
    assert read == entries


def test_tools_and_answers_need_their_names() -> None:
    assert lenient.tools([{"name": "t", "parameters": None}]) == [{"description": "", "name": "t"}]
    assert lenient.resume({"interrupt_id": "i", "payload": None, "metadata": None}) == [
        {"status": "resolved", "interruptId": "i", "payload": None}
    ]
    for read, path in ((lenient.tools, "tools.0.name"), (lenient.resume, "resume.0.interruptId")):
        with pytest.raises(Invalid) as refused:
            read([{"x": 1}])
        assert refused.value.details == {"path": path}


def test_an_answer_can_be_null() -> None:
    entry = {"interruptId": "i", "status": "resolved", "payload": None}
    body = parse({"resume": [{**entry, "metadata": None}]}).body
    assert body["resume"] == [entry]
    started = gate({"type": "RUN_STARTED", "threadId": "t", "runId": "r", "input": body})
    assert started["input"]["resume"] == [entry]
