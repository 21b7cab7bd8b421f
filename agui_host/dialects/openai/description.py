"""OpenAI's operations in the API's description."""

from typing import Any

from agui_host.web.addresses.operation import (
    FRAMES,
    JSON,
    KEY,
    Operation,
    as_json,
)
from agui_host.web.addresses.shapes import (
    ANYTHING,
    FLAG,
    NULLABLE_TEXT,
    OBJECTS,
    WHOLE,
    Json,
    members,
    ref,
    text,
)

RESPONSE = "/v1/responses/{response_id}"
OPENAI: dict[str, Any] = {"tag": "openai", "refusal": ref("OpenAIError")}
CONVERSATION = "/v1/conversations/{conversation_id}"
OPERATIONS = (
    Operation("post", "/v1/responses", "openai_response_create", "Start a run as a response.",
              {200: {JSON: ref("OpenAIObject"), **FRAMES}}, ref("ResponseRequest"), headers=KEY,
              **OPENAI),
    Operation("get", RESPONSE, "openai_response_retrieve", "A response, or its stream.",
              {200: {JSON: ref("OpenAIObject"), **FRAMES}},
              query={"stream": {"type": "boolean"}, "starting_after": WHOLE}, **OPENAI),
    Operation("delete", RESPONSE, "openai_response_delete", "Erase a response.",
              as_json("OpenAIObject"), **OPENAI),
    Operation("post", f"{RESPONSE}/cancel", "openai_response_cancel", "Stop a response.",
              as_json("OpenAIObject"), **OPENAI),
    Operation("get", f"{RESPONSE}/input_items", "openai_response_input",
              "The request's input items, newest first.", as_json("OpenAIList"), **OPENAI),
    Operation("post", "/v1/conversations", "openai_conversation_create",
              "Make a conversation, with items and metadata.", as_json("OpenAIObject"),
              ref("OpenAIObject"), body_needed=False, **OPENAI),
    Operation("get", CONVERSATION, "openai_conversation_retrieve", "A conversation.",
              as_json("OpenAIObject"), **OPENAI),
    Operation("post", CONVERSATION, "openai_conversation_update", "Keep other metadata.",
              as_json("OpenAIObject"), ref("OpenAIObject"), **OPENAI),
    Operation("delete", CONVERSATION, "openai_conversation_delete",
              "Erase a conversation with its runs.", as_json("OpenAIObject"), **OPENAI),
    Operation("get", f"{CONVERSATION}/items", "openai_conversation_items",
              "The items of a conversation.", as_json("OpenAIList"),
              query={"limit": WHOLE, "order": {"type": "string"}, "after": {"type": "string"}},
              **OPENAI),
    Operation("post", f"{CONVERSATION}/items", "openai_conversation_add", "Add items.",
              as_json("OpenAIList"), ref("OpenAIObject"), **OPENAI),
    Operation("get", f"{CONVERSATION}/items/{{item_id}}", "openai_conversation_item", "One item.",
              as_json("OpenAIObject"), **OPENAI),
    Operation("delete", f"{CONVERSATION}/items/{{item_id}}", "openai_conversation_remove",
              "Remove an item from the history.", as_json("OpenAIObject"), **OPENAI),
    Operation("post", "/v1/chat/completions", "openai_completion_create",
              "Start a run as a chat completion.", {200: {JSON: ref("OpenAIObject"), **FRAMES}},
              ref("CompletionRequest"), headers=KEY, **OPENAI),
    Operation("get", "/v1/models", "openai_models", "The team's agents.", as_json("OpenAIList"),
              **OPENAI),
    Operation("get", "/v1/models/{slug}", "openai_model", "One agent.", as_json("OpenAIObject"),
              **OPENAI),
)  # fmt: skip
SHAPES: dict[str, Json] = {
    "ResponseRequest": members(
        "model", "input",
        model=text("The agent's slug."),
        input={"oneOf": [text(), OBJECTS]},
        stream=FLAG,
        background=FLAG,
        instructions=NULLABLE_TEXT,
        previous_response_id=NULLABLE_TEXT,
    ),
    "CompletionRequest": members(
        "model", "messages", model=text("The agent's slug."), messages=OBJECTS, stream=FLAG
    ),
    "OpenAIObject": members(id=text(), object=text()),
    "OpenAIList": members("data", data=OBJECTS),
    "OpenAIError": members(
        "error",
        error=members("message", message=text(), type=text(), param=NULLABLE_TEXT, code=ANYTHING),
    ),
}  # fmt: skip
