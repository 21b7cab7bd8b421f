"""The schemas of the operations that are described by hand, in OpenAPI 3.0."""

from typing import Any

Json = dict[str, Any]


def text(about: str = "") -> Json:
    return {"type": "string", **({"description": about} if about else {})}


def array(items: Json) -> Json:
    return {"type": "array", "items": items}


def ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def members(*required: str, **properties: Json) -> Json:
    """An object that can have other members as well."""
    shape: Json = {"type": "object", "properties": properties, "additionalProperties": {}}
    return {**shape, "required": list(required)} if required else shape


ANY_OBJECT = members()
OBJECTS = array(ANY_OBJECT)
FLAG = {"type": "boolean"}
WHOLE = {"type": "integer"}
CURSOR = {"oneOf": [WHOLE, {"type": "string"}]}
NULLABLE_TEXT = {"type": "string", "nullable": True}
BYTES = {"type": "string", "format": "binary"}
UUID = {"type": "string", "format": "uuid"}
ANYTHING: Json = {}

SHAPES: dict[str, Json] = {
    "RunAgentInput": {
        **members(
            threadId=text("The client's name of the thread; minted where absent, like runId."),
            runId=text(),
            parentRunId=NULLABLE_TEXT,
            protocolVersion=text("The version of AG-UI that the client reads, such as 1.0."),
            agentId=text("The agent, where the address names none."),
            onBusy={"enum": ["reject", "enqueue", "cancel_running"], "type": "string"},
            messages=OBJECTS,
            tools=OBJECTS,
            context=OBJECTS,
            resume=OBJECTS,
            state=ANYTHING,
            forwardedProps=ANYTHING,
        ),
        "description": "AG-UI's RunAgentInput, read leniently.",
    },
    "AgentsInfo": members(
        "agents",
        service=text(),
        version=text(),
        mode=text(),
        agents={"type": "object", "additionalProperties": ANY_OBJECT},
    ),
    "StopRequest": members(runId=text("Only this run of the thread.")),
    "StopAnswer": members("stopped", stopped=FLAG, message=text(), interrupt=ANY_OBJECT),
    "CopilotThreads": members("threads", threads=OBJECTS, nextCursor=NULLABLE_TEXT),
    "CopilotMessages": members("messages", messages=OBJECTS, nextCursor=NULLABLE_TEXT),
    "CopilotEvents": members("events", events=OBJECTS, nextCursor=NULLABLE_TEXT),
    "CopilotState": members(state=ANYTHING),
    "AlpineStart": members(
        task=text("This or github_issue_url is needed."),
        github_issue_url=text(),
        agent=text(),
        thread_id=text(),
        worktree_dir=text(),
        plan_mode=FLAG,
        stream_events=FLAG,
        enable_ag_ui=FLAG,
    ),
    "AlpineAnswer": members(
        "run_id",
        "request_id",
        run_id=UUID,
        request_id=text(),
        status={"enum": ["resolved", "cancelled"], "type": "string"},
        payload=ANYTHING,
    ),
    "AlpineRun": members(
        "status", run_id=NULLABLE_TEXT, status=text(), ag_ui_stream=NULLABLE_TEXT
    ),
    "ChatRequest": members(
        "id", "messages", id=text("The thread."), messages=OBJECTS, trigger=text(),
        messageId=NULLABLE_TEXT,
    ),
    "ChatStopped": members("stopped", stopped=FLAG),
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
    "EventPage": members(
        "events", "after", "head", "ended",
        events=array(members("seq", "event", seq=WHOLE, event=ANY_OBJECT)),
        after=CURSOR,
        head=CURSOR,
        ended=FLAG,
    ),
    "Alive": members("status", status=text(), protocol=text()),
    "Ready": members("status", status=text(), database=text(), bell=text(), workers=WHOLE),
}  # fmt: skip
