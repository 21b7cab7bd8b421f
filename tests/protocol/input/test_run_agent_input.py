"""RunAgentInput: lenient where a guess is safe, strict with a path where it could be wrong."""

import json
from typing import Any

import pytest
from ag_ui.core import RunAgentInput
from hypothesis import given
from hypothesis import strategies as st

from agui_host.protocol import strict_json
from agui_host.protocol.errors import BadRequest, HostError, Invalid
from agui_host.protocol.input.run_agent_input import OnBusy, RunRequest, parse
from agui_host.protocol.intake.gate import gate


def body_of(**data: Any) -> dict[str, Any]:
    return parse({"threadId": "t", "runId": "r", **data}).body


def messages_of(*messages: Any) -> list[dict[str, Any]]:
    parsed: list[dict[str, Any]] = body_of(messages=list(messages))["messages"]
    return parsed


class TestLeniency:
    def test_nothing_but_an_object_is_needed(self) -> None:
        request = parse({})
        assert request.body == {
            "threadId": request.thread_id,
            "runId": request.run_id,
            "messages": [],
            "tools": [],
            "context": [],
            "state": {},
            "forwardedProps": {},
        }
        assert request.thread_id != request.run_id
        assert parse({}).run_id != request.run_id

    def test_the_body_that_flagpilots_frontend_sends(self) -> None:
        request = parse(
            {
                "thread_id": "8f1f0e62-63a0-4b46-a5b5-6f5cbd7c3f3d",
                "run_id": "0c2b2e3b-8a8e-4d2f-9d2c-0f4c1a1f0a11",
                "agent_id": "flagpilot_orchestrator",
                "messages": [{"role": "user", "content": "Analyze this contract for risks..."}],
                "context": [],
                "state": {},
            }
        )
        assert request.thread_id == "8f1f0e62-63a0-4b46-a5b5-6f5cbd7c3f3d"
        assert request.run_id == "0c2b2e3b-8a8e-4d2f-9d2c-0f4c1a1f0a11"
        assert request.agent == "flagpilot_orchestrator"
        assert "agent_id" not in request.body
        [message] = request.body["messages"]
        assert message.pop("id")
        assert message == {"role": "user", "content": "Analyze this contract for risks..."}

    def test_snake_case_is_read_as_the_protocol_spells_it(self) -> None:
        body = parse(
            {
                "thread_id": "t",
                "run_id": "r",
                "parent_run_id": "p",
                "protocol_version": "1.0",
                "forwarded_props": {"a": 1},
                "messages": [
                    {
                        "id": "1",
                        "role": "assistant",
                        "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}],
                    },
                    {"id": "2", "role": "tool", "tool_call_id": "c", "content": "42"},
                    {"id": "3", "role": "activity", "activity_type": "PLAN", "content": {}},
                ],
                "resume": [{"interrupt_id": "i", "status": "cancelled"}],
            }
        ).body
        assert [body["threadId"], body["runId"], body["parentRunId"]] == ["t", "r", "p"]
        assert body["protocolVersion"] == "1.0"
        assert body["forwardedProps"] == {"a": 1}
        assert body["messages"][0]["toolCalls"] == [
            {"type": "function", "id": "c", "function": {"name": "f", "arguments": "{}"}}
        ]
        assert body["messages"][1]["toolCallId"] == "c"
        assert body["messages"][2]["activityType"] == "PLAN"
        assert body["resume"] == [{"interruptId": "i", "status": "cancelled"}]

    def test_the_protocols_own_spelling_wins(self) -> None:
        assert parse({"thread_id": "snake", "threadId": "camel"}).thread_id == "camel"

    @pytest.mark.parametrize("name", ["tools", "context", "messages", "state", "forwardedProps"])
    def test_null_is_the_same_as_nothing(self, name: str) -> None:
        assert body_of(**{name: None}) == body_of()

    def test_an_empty_object_for_a_list(self) -> None:
        assert body_of(context={}, tools={}, resume={}) == body_of()

    def test_a_draft_resume_is_one_object(self) -> None:
        body = body_of(resume={"interruptId": "i", "payload": {"approved": True}})
        assert body["resume"] == [
            {"interruptId": "i", "status": "resolved", "payload": {"approved": True}}
        ]

    def test_context_values_that_are_no_strings_become_json(self) -> None:
        body = body_of(context=[{"description": "d", "value": {"a": [1]}}, {"value": "plain"}])
        assert [entry["value"] for entry in body["context"]] == ['{"a":[1]}', "plain"]

    @pytest.mark.parametrize("as_list", [False, True])
    def test_context_as_an_object_is_one_entry_per_key(self, as_list: bool) -> None:
        entries = {"a": 1, "city": "Basel", "of": {"b": [None]}}
        body = body_of(context=[entries] if as_list else entries)
        assert body["context"] == [
            {"description": "a", "value": "1"},
            {"description": "city", "value": "Basel"},
            {"description": "of", "value": '{"b":[null]}'},
        ]
        entry = {"description": "d", "value": "v"}
        assert body_of(context=entry)["context"] == [entry]

    def test_a_tool_needs_no_more_than_a_name(self) -> None:
        tools = body_of(tools=[{"name": "f", "parameters": None, "renderer": "x"}])["tools"]
        assert tools == [{"name": "f", "description": ""}]

    def test_state_and_props_may_be_any_json(self) -> None:
        for value in ([1], "text", 0, False, {"a": {"b": None}}):
            body = body_of(state=value, forwardedProps=value)
            assert body["state"] == value
            assert body["forwardedProps"] == value

    def test_unknown_members_roles_and_parts_are_left_out(self) -> None:
        body = body_of(
            unknown=1,
            messages=[
                {"id": "1", "role": "narrator", "content": "?"},
                {"id": "2", "role": "user", "content": "!", "mood": "good", "toolCalls": 5},
                {
                    "id": "3",
                    "role": "user",
                    "content": [
                        {"type": "hologram", "data": 1},
                        {"type": "image", "source": {"type": "telepathy", "value": "x"}},
                        {"type": "text", "text": "kept", "font": "serif"},
                    ],
                },
            ],
        )
        assert "unknown" not in body
        assert body["messages"] == [
            {"id": "2", "role": "user", "content": "!"},
            {"id": "3", "role": "user", "content": [{"type": "text", "text": "kept"}]},
        ]

    def test_media_parts_keep_their_sources(self) -> None:
        url = {"type": "url", "value": "https://example.org/a.png"}
        data = {"type": "data", "value": "YQ==", "mime_type": "text/csv"}
        file = {"type": "file", "value": "file-1", "provider": "openai"}
        [message] = messages_of(
            {
                "id": "1",
                "role": "user",
                "content": [
                    {"type": "image", "source": url, "id": "p"},
                    {"type": "document", "source": data, "metadata": {"filename": "a.csv"}},
                    {"type": "audio", "source": file, "metadata": None},
                ],
            }
        )
        assert message["content"] == [
            {"type": "image", "id": "p", "source": url},
            {
                "type": "document",
                "metadata": {"filename": "a.csv"},
                "source": {"type": "data", "value": "YQ==", "mimeType": "text/csv"},
            },
            {"type": "audio", "source": file},
        ]

    def test_binary_parts_of_older_clients_become_media_parts(self) -> None:
        [message] = messages_of(
            {
                "id": "1",
                "role": "user",
                "content": [
                    {"type": "binary", "mimeType": "image/png", "data": "YQ=="},
                    {"type": "binary", "mime_type": "text/csv", "url": "u", "filename": "a.csv"},
                    {"type": "binary", "mimeType": "image/png", "id": "nobody-knows-where"},
                ],
            }
        )
        image = {"type": "data", "value": "YQ==", "mimeType": "image/png"}
        table = {"type": "url", "value": "u", "mimeType": "text/csv"}
        assert message["content"] == [
            {"type": "image", "source": image},
            {"type": "document", "metadata": {"filename": "a.csv"}, "source": table},
        ]

    def test_null_members_of_messages_are_left_out(self) -> None:
        message = {"id": "1", "role": "assistant", "content": None, "name": None, "toolCalls": None}
        assert messages_of(message) == [{"id": "1", "role": "assistant"}]
        assert messages_of({"id": "1", "role": "user", "content": None})[0]["content"] == ""

    def test_minted_message_ids_are_stable_for_a_retry(self) -> None:
        greeting = {"role": "user", "content": "hi"}
        first, again = messages_of(greeting, greeting), messages_of(greeting, greeting)
        assert first == again
        assert first[0]["id"] != first[1]["id"]
        other_run = parse({"threadId": "t", "runId": "r2", "messages": [greeting]}).body
        assert other_run["messages"][0]["id"] != first[0]["id"]

    def test_the_agent_and_the_policy_are_found_where_clients_put_them(self) -> None:
        assert parse({"agentId": "a"}).agent == "a"
        assert parse({"forwardedProps": {"agent_id": "a"}}).agent == "a"
        assert parse({"agentId": "a"}, agent="address").agent == "address"
        assert parse({}).agent is None
        assert parse({"onBusy": "enqueue"}).on_busy == OnBusy.ENQUEUE
        assert parse({"forwarded_props": {"on_busy": "reject"}}).on_busy == OnBusy.REJECT
        assert parse({"onBusy": "enqueue"}, on_busy="reject").on_busy == OnBusy.REJECT


USER = {"id": "1", "role": "user"}
CALL = {"id": "c", "function": {"name": "f", "arguments": "{}"}}
WRONG: dict[str, dict[str, Any]] = {
    "threadId": {"threadId": 5},
    "runId": {"run_id": ["r"]},
    "parentRunId": {"parentRunId": "x" * 256},
    "protocolVersion": {"protocolVersion": 1.0},
    "agentId": {"agentId": {}},
    "onBusy": {"onBusy": "sometimes"},
    "messages": {"messages": {"role": "user"}},
    "messages.0": {"messages": ["hi"]},
    "messages.1.role": {"messages": [{**USER, "content": ""}, {"content": "hi"}]},
    "messages.0.id": {"messages": [{"id": 1, "role": "user", "content": "hi"}]},
    "messages.0.content": {"messages": [{**USER, "content": 5}]},
    "messages.0.content.0": {"messages": [{**USER, "content": ["hi"]}]},
    "messages.0.content.0.text": {"messages": [{**USER, "content": [{"type": "text"}]}]},
    "messages.0.content.0.id": {
        "messages": [{**USER, "content": [{"type": "text", "text": "", "id": 1}]}]
    },
    "messages.0.content.0.source": {"messages": [{**USER, "content": [{"type": "image"}]}]},
    "messages.0.content.0.source.mimeType": {
        "messages": [
            {**USER, "content": [{"type": "image", "source": {"type": "data", "value": "x"}}]}
        ]
    },
    "messages.0.content.0.mimeType": {
        "messages": [{**USER, "content": [{"type": "binary", "data": "x"}]}]
    },
    "messages.0.metadata": {"messages": [{**USER, "content": "", "metadata": []}]},
    "messages.0.name": {"messages": [{**USER, "content": "", "name": 1}]},
    "messages.0.toolCallId": {"messages": [{"id": "1", "role": "tool", "content": "42"}]},
    "messages.0.activityType": {"messages": [{"id": "1", "role": "activity", "content": {}}]},
    "messages.0.toolCalls": {"messages": [{"role": "assistant", "toolCalls": {}}]},
    "messages.0.toolCalls.0.function": {
        "messages": [{"role": "assistant", "toolCalls": [{"id": "c"}]}]
    },
    "messages.0.toolCalls.0.id": {
        "messages": [{"role": "assistant", "toolCalls": [{**CALL, "id": None}]}]
    },
    "messages.0.toolCalls.0.type": {
        "messages": [{"role": "assistant", "toolCalls": [{**CALL, "type": "custom"}]}]
    },
    "messages.0.toolCalls.0.function.arguments": {
        "messages": [{"role": "assistant", "toolCalls": [{"id": "c", "function": {"name": "f"}}]}]
    },
    "tools": {"tools": "f"},
    "tools.0.name": {"tools": [{"description": "no name"}]},
    "tools.0.description": {"tools": [{"name": "f", "description": 5}]},
    "tools.0.metadata": {"tools": [{"name": "f", "metadata": "m"}]},
    "context": {"context": ["c"]},
    "context.0.description": {"context": [{"description": 1, "value": "v"}]},
    "resume": {"resume": "yes"},
    "resume.0.interruptId": {"resume": [{"status": "resolved"}]},
    "resume.0.status": {"resume": [{"interruptId": "i", "status": "maybe"}]},
    "resume.0.metadata": {"resume": [{"interruptId": "i", "metadata": 1}]},
}


class TestStrictness:
    @pytest.mark.parametrize("path", WRONG)
    def test_a_wrong_type_is_told_with_its_place(self, path: str) -> None:
        with pytest.raises(Invalid) as refused:
            parse(WRONG[path])
        assert refused.value.details == {"path": path}
        assert refused.value.message.startswith(f"{path} must be ")

    @pytest.mark.parametrize("name", ["threadId", "runId", "parentRunId"])
    def test_ids_have_a_greatest_length(self, name: str) -> None:
        assert body_of(**{name: "x" * 255})[name] == "x" * 255
        with pytest.raises(Invalid):
            parse({name: "x" * 256})

    @pytest.mark.parametrize("data", [None, [], "text", 5, True])
    def test_a_body_that_is_no_object(self, data: Any) -> None:
        with pytest.raises(BadRequest):
            parse(data)


TEXT = st.text(max_size=6)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-1, 1) | TEXT,
    lambda part: st.lists(part, max_size=3) | st.dictionaries(TEXT, part, max_size=3),
    max_leaves=8,
)
OPEN = st.dictionaries(TEXT, ANY, max_size=2)


def members(required: dict[str, Any], **optional: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional)


def several(part: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(part, max_size=3)


SOURCE = st.one_of(
    members({"type": st.just("data"), "value": TEXT, "mime_type": TEXT}),
    members({"type": st.just("url"), "value": TEXT}, mimeType=TEXT),
    members({"type": st.just("file"), "value": TEXT}, provider=TEXT),
    members({"type": TEXT}),
)
PART = st.one_of(
    members({"type": st.just("text"), "text": TEXT}, metadata=ANY, id=TEXT),
    members({"type": st.sampled_from(["image", "document"]), "source": SOURCE}, metadata=ANY),
    members({"type": st.just("binary"), "mimeType": TEXT}, data=TEXT, url=TEXT, filename=TEXT),
    members({"type": TEXT}),
)
TOOL_CALL = members(
    {"id": TEXT, "function": members({"name": TEXT, "arguments": TEXT})},
    type=st.just("function"),
    metadata=OPEN,
)
MESSAGE = st.one_of(
    members({"role": st.sampled_from(["system", "developer"])}, content=TEXT, name=TEXT),
    members({"role": st.just("user"), "content": TEXT | several(PART)}, id=TEXT, metadata=OPEN),
    members({"role": st.just("assistant")}, content=TEXT, toolCalls=several(TOOL_CALL)),
    members({"role": st.just("tool"), "tool_call_id": TEXT}, content=several(PART), error=TEXT),
    members({"role": st.just("reasoning")}, content=TEXT, encryptedValue=TEXT),
    members({"role": st.just("activity"), "activityType": TEXT, "content": OPEN}, name=TEXT),
    members({"role": TEXT}),
)
INPUT = members(
    {},
    threadId=TEXT,
    run_id=TEXT,
    parentRunId=TEXT,
    messages=several(MESSAGE),
    tools=several(members({"name": st.just("f")}, description=TEXT, parameters=ANY)),
    context=several(members({}, description=TEXT, value=ANY)),
    resume=several(members({"interruptId": st.just("i")}, payload=ANY, metadata=OPEN)),
    state=ANY,
    forwardedProps=ANY,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) in a JSON value."""
    keys = value if isinstance(value, dict) else range(len(value) if isinstance(value, list) else 0)
    here = [(value, key) for key in keys]
    return here + [place for _, key in here for place in places(value[key])]


@st.composite
def spoilt(draw: st.DrawFn) -> Any:
    """An input with one value in it replaced by anything."""
    value: Any = [draw(INPUT)]
    container, key = draw(st.sampled_from(places(value)))
    container[key] = draw(ANY)
    return value[0]


def read(value: Any) -> RunRequest | None:
    try:
        return parse(strict_json.loads(json.dumps(value).encode()))
    except HostError as refused:
        if not 400 <= refused.status < 500:
            raise
        return None


@given(INPUT | spoilt())
def test_any_json_is_refused_or_is_a_whole_input(value: Any) -> None:
    if (request := read(value)) is None:
        return
    RunAgentInput.model_validate(request.body)
    echoed = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "input": request.body}
    assert gate(echoed)["input"] == request.body
    assert json.loads(strict_json.dumps(request.body)) == request.body


@given(INPUT)
def test_reading_what_was_read_changes_nothing(value: Any) -> None:
    if (request := read(value)) is not None:
        assert parse(request.body).body == request.body
