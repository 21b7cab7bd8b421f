"""Events and inputs that lack a member, or have values that are no JSON.

Each test is a public report about some host or client, named in its first line.
"""

import json

from tests.acceptance.reports.talk import (
    connect,
    ending,
    input_of,
    need,
    play,
    pyrun,
    snapshot,
    uid,
    user,
)


def test_raw_event_object():
    """google/adk-python#5026: an object that is no JSON in rawEvent must not end the run."""
    events = pyrun("object", "rawEvent")
    need(
        ending(events)["type"] == "RUN_FINISHED",
        f"{ending(events)['type']} {ending(events).get('message')}",
    )
    text = "".join(e.get("delta", "") for e in events if e["type"] == "TEXT_MESSAGE_CONTENT")
    need(text == "before after", f"text {text!r}")


def test_custom_without_value():
    """ag-ui dotnet custom-and-raw-events.json: CUSTOM without value is legal."""
    events = play([{"type": "CUSTOM", "name": "heartbeat"}, {"say": "after"}])
    need(ending(events)["type"] == "RUN_FINISHED", f"{ending(events)}")


def test_tool_result_datetime():
    """ag-ui-protocol/ag-ui#428: a tool result with a datetime/Decimal."""
    for value in ("datetime", "decimal", "uuid"):
        events = pyrun(value, "toolresult")
        need(
            ending(events)["type"] == "RUN_FINISHED",
            f"{value}: {ending(events)['type']} {ending(events).get('message')}",
        )


def test_replace_missing_member():
    """CopilotKit/CopilotKit#4934: replace of a member that is not there yet."""
    thread = uid("t-")
    events = play(
        [
            {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/steps", "value": ["a"]}]},
            {
                "type": "STATE_DELTA",
                "delta": [{"op": "replace", "path": "/steps", "value": ["a", "b"]}],
            },
            {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/steps/-", "value": "c"}]},
        ],
        thread,
    )
    _, state = snapshot(connect(thread))
    need(ending(events)["type"] == "RUN_FINISHED", str(ending(events)))
    need(
        state and state.get("steps") == ["a", "b", "c"],
        f"the state is {state}: the agent's steps are lost",
    )


def test_document_only():
    """microsoft/agent-framework#6224.

    A document with metadata, a tool with parameters, no text.
    """
    tool = {
        "name": "request_approval",
        "description": "Ask",
        "parameters": {"type": "object", "properties": {"a": {"type": "string"}}},
    }
    agent_input = input_of(
        uid("t-"),
        [
            user(
                [
                    {
                        "type": "document",
                        "source": {
                            "type": "url",
                            "value": "https://example.com/d.pdf",
                            "mimeType": "application/pdf",
                        },
                        "metadata": {"name": "d.pdf", "size": 7},
                    }
                ]
            )
        ],
        tools=[tool],
    )
    part = agent_input["messages"][-1]["content"][0]
    need(
        part["metadata"] == {"name": "d.pdf", "size": 7} and agent_input["tools"] == [tool],
        json.dumps(agent_input)[:400],
    )


def test_tool_without_parameters():
    """ag-ui sdks/fixtures/null-omission.json: a tool without parameters, bare null state."""
    agent_input = input_of(
        uid("t-"), tools=[{"name": "search", "description": "Search the web"}], state=None
    )
    need(agent_input["tools"][0]["name"] == "search", str(agent_input["tools"]))
