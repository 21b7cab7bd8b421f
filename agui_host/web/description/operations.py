"""What ``agui_host.web.routing`` and the plain views of other wire formats answer, as a table.

DRF's resources describe themselves; these are the others. ``tests/web/description`` compares the
table with the routes, their methods with the doors, and the answers with real ones.
"""

from typing import Any, NamedTuple

from agui_host.dialects.tanstack.wire import LINES
from agui_host.web.addresses.shapes import (
    ANY_OBJECT,
    BYTES,
    OBJECTS,
    UUID,
    WHOLE,
    Json,
    array,
    members,
    ref,
    text,
)

STREAM, JSON = "text/event-stream", "application/json"
FORM, OPAQUE = "multipart/form-data", "application/octet-stream"
EVENTS = {STREAM: text("Server-sent events; each data is one AG-UI event.")}
FRAMES = {STREAM: text("Server-sent events in the frames of this wire format.")}


class Operation(NamedTuple):
    """``answers``: by status, a schema by media type; empty without a body.

    ``body``: the schema of JSON; ``media``: those of bodies of other types.
    """

    method: str
    path: str
    name: str
    about: str
    answers: dict[int, dict[str, Json]]
    body: Json | None = None
    query: dict[str, Json] = {}
    headers: tuple[str, ...] = ()
    body_needed: bool = True
    tag: str = "agui"
    public: bool = False
    media: dict[str, Json] = {}


def as_json(name: str, status: int = 200) -> dict[int, dict[str, Json]]:
    return {status: {JSON: ref(name)}}


RAW = {"raw": {"type": "boolean", "description": "false leaves out RAW and rawEvent."}}
BUSY = {"on_busy": {"type": "string", "enum": ["reject", "enqueue", "cancel_running"]}}
PROTOCOL = {"protocol": text("The version that a client of AG-UI 0.x reads, such as 0.0.43.")}
PAGE = {"limit": WHOLE, "cursor": text("nextCursor of the page before.")}
KEY = ("Idempotency-Key",)
START: dict[str, Any] = {
    "answers": {200: EVENTS}, "body": ref("RunAgentInput"), "query": {**BUSY, **RAW, **PROTOCOL},
    "headers": (*KEY, "Last-Event-ID"),
}  # fmt: skip
THREADS = "/agui/threads/{thread_id}"
RUN_STREAM = "/api/v1/runs/{run_id}/stream"
OFFSET = {
    "offset": text("-1, now, or Stream-Next-Offset of an answer."),
    "live": {"type": "string", "enum": ["long-poll", "sse"]},
}
RESPONSE = "/v1/responses/{response_id}"
OPENAI: dict[str, Any] = {"tag": "openai"}
CHAT: dict[str, Any] = {"tag": "chat"}
HEALTH: dict[str, Any] = {"tag": "health", "public": True}

AGUI = (
    Operation("post", "/agui", "agui_run", "Run an agent and stream its events.", **START),
    Operation("post", "/", "root_run", "The same as POST /agui.", **START),
    Operation(
        "post", "/agui/agent/{slug}/run", "agui_agent_run", "Run this agent and stream its events.",
        **START,
    ),
    Operation(
        "get", "/agui/agent/{slug}/run", "agui_agent_read",
        "For TanStack AI: a run's events after an offset, or a thread's content.",
        {200: {**EVENTS, LINES: text("The same events, a line of JSON each."), JSON: ANY_OBJECT}},
        query={"runId": text(), "offset": text("-1: all of it."), "threadId": text(), **RAW},
    ),
    Operation(
        "post", "/agui/agent/{slug}/connect", "agui_agent_connect",
        "A thread's present content as snapshots, then its live run.", {200: EVENTS},
        ref("RunAgentInput"), PROTOCOL,
    ),
    Operation(
        "post", "/agui/agent/{slug}/stop/{thread_id}", "agui_agent_stop",
        "Cancel the active runs of a thread, or one of them.", as_json("StopAnswer"),
        ref("StopRequest"), {"runId": text()}, body_needed=False,
    ),
    Operation("get", "/agui/info", "agui_info", "The agents and their capabilities.",
              as_json("AgentsInfo")),
    Operation("get", "/agui/threads", "agui_threads", "The team's threads, newest activity first.",
              as_json("CopilotThreads"), query={"agentId": text(), **PAGE}),
    Operation("get", f"{THREADS}/messages", "agui_thread_messages",
              "The newest messages, oldest first.", as_json("CopilotMessages"), query=PAGE),
    Operation("get", f"{THREADS}/events", "agui_thread_events",
              "The stored events of all runs, oldest first.", as_json("CopilotEvents"), query=PAGE),
    Operation("get", f"{THREADS}/state", "agui_thread_state", "The state.",
              as_json("CopilotState")),
)  # fmt: skip
INTELLIGENCE = (
    Operation("get", "/agui/intelligence/info", "intelligence_info",
              "The agents, for CopilotKit's Intelligence client.", as_json("AgentsInfo")),
    Operation("post", "/agui/intelligence/agent/{slug}/run", "intelligence_run",
              "Start a run whose events come through a channel.", {200: {JSON: ANY_OBJECT}},
              ref("RunAgentInput"), headers=KEY),
    Operation("post", "/agui/intelligence/agent/{slug}/connect", "intelligence_connect",
              "The channel of a thread; 204 for one without runs.",
              {200: {JSON: ANY_OBJECT}, 204: {}}, ref("RunAgentInput")),
)  # fmt: skip
RUNS = (
    Operation("get", "/api/v1/runs/{run_id}/export", "run_export", "All events so far as a file.",
              {200: {LINES: text("A stored event on each line."), JSON: ANY_OBJECT,
                     "text/html": text("The run as one page.")}},
              query={"format": {"type": "string",
                                "enum": ["ndjson", "messages", "trace", "html", "archive"]},
                     "at": {"type": "integer",
                            "description": "The last event of it, for ndjson and messages."}},
              tag="runs"),
    Operation(
        "get", RUN_STREAM, "run_stream_read", "The log for clients of Durable Streams.",
        {200: {JSON: OBJECTS, STREAM: FRAMES[STREAM]}, 204: {}, 304: {}},
        query={**OFFSET, "cursor": text()}, tag="runs",
    ),
    Operation(
        "head", RUN_STREAM, "run_stream_tail", "Where the log ends, in headers.", {200: {}},
        tag="runs",
    ),
    Operation(
        "post", RUN_STREAM, "run_stream_feed",
        "Feed a run of an external agent: a batch of AG-UI events, stored once.",
        {200: {}, 204: {}}, array(ref("AgUiEvent")),
        headers=("Producer-Id", "Producer-Epoch", "Producer-Seq", "Stream-Closed"),
        body_needed=False, tag="runs",
    ),
)  # fmt: skip
FILE_CONTENT = "/api/v1/files/{file_id}/content"
FILES = (
    Operation(
        "post", "/api/v1/files", "file_upload",
        "Upload a file, as the whole body or as the one file of a form.", as_json("File", 201),
        query={"name": text("Its name, where no form names it.")}, tag="files",
        media={FORM: members("file", file=BYTES), OPAQUE: BYTES},
    ),
    Operation("get", FILE_CONTENT, "file_content", "The bytes of a file, as an attachment.",
              {200: {OPAQUE: BYTES}}, tag="files"),
    Operation("head", FILE_CONTENT, "file_head", "The headers of its content.", {200: {}},
              tag="files"),
)  # fmt: skip
ALPINE = (
    Operation("post", "/agents/run", "alpine_run", "Start a run as Alpine's clients do.",
              as_json("AlpineRun", 202), ref("AlpineStart"), headers=KEY, tag="alpine"),
    Operation("post", "/agents/answer", "alpine_answer", "Answer a question of a run.",
              as_json("AlpineRun", 202), ref("AlpineAnswer"), tag="alpine"),
    Operation("get", "/runs/{run_id}/events", "alpine_events", "A run as Alpine's named events.",
              {200: FRAMES, 204: {}}, query={"after": WHOLE, "schema": text(),
              "capabilities": text()}, headers=("Last-Event-ID",), tag="alpine"),
)  # fmt: skip
AI_SDK = (
    Operation("post", "/api/chat/{slug}", "chat_send", "Start a run from a chat of the AI SDK.",
              {200: FRAMES}, ref("ChatRequest"), headers=KEY, **CHAT),
    Operation("get", "/api/chat/{slug}/{chat}", "chat_messages", "The chat as UIMessages.",
              {200: {JSON: OBJECTS}}, **CHAT),
    Operation("get", "/api/chat/{slug}/{chat}/stream", "chat_stream",
              "The message that is being made.", {200: FRAMES, 204: {}}, **CHAT),
    Operation("post", "/api/chat/{slug}/{chat}/stop", "chat_stop", "Cancel what runs in the chat.",
              as_json("ChatStopped", 202), **CHAT),
)  # fmt: skip
CONVERSATION = "/v1/conversations/{conversation_id}"
RESPONSES = (
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
PROBES = (
    Operation("get", "/health", "health", "Whether this process is alive.", as_json("Alive"),
              **HEALTH),
    Operation("get", "/ready", "ready", "Whether the host can do its work.",
              {**as_json("Ready"), **as_json("Ready", 503)}, **HEALTH),
)  # fmt: skip
OPERATIONS = (*AGUI, *INTELLIGENCE, *RUNS, *FILES, *ALPINE, *AI_SDK, *RESPONSES, *PROBES)
PATHS = {"run_id": UUID, "file_id": UUID}
"""The parameters of paths that are not simply a text."""
