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

BASE: dict[str, Json] = {
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
