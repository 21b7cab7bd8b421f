"""What ``agui_host.web.routing`` and the plain views of other wire formats answer, as a table.

DRF's resources describe themselves; these are the others. ``tests/web/description`` compares the
table with the routes, their methods with the doors, and the answers with real ones.
"""

from typing import Any

from agui_host import dialects
from agui_host.protocol.encoding import NDJSON
from agui_host.web.addresses.operation import (
    EVENTS,
    JSON,
    KEY,
    RAW,
    Operation,
    as_json,
)
from agui_host.web.addresses.shapes import (
    ANY_OBJECT,
    BASE,
    BYTES,
    UUID,
    WHOLE,
    Json,
    members,
    ref,
    text,
)
from runs.lifecycle.steering.messages import LONGEST, LONGEST_ID

FORM, OPAQUE = "multipart/form-data", "application/octet-stream"
BUSY = {"on_busy": {"type": "string", "enum": ["reject", "enqueue", "cancel_running"]}}
PROTOCOL = {"protocol": text("The version that a client of AG-UI 0.x reads, such as 0.0.43.")}
START: dict[str, Any] = {
    "answers": {200: EVENTS}, "body": ref("RunAgentInput"), "query": {**BUSY, **RAW, **PROTOCOL},
    "headers": (*KEY, "Last-Event-ID"),
}  # fmt: skip
HEALTH: dict[str, Any] = {"tag": "health", "public": True}

AGUI = (
    Operation("post", "/agui", "agui_run", "Run an agent and stream its events.", **START),
    Operation("post", "/", "root_run", "The same as POST /agui.", **START),
    Operation(
        "post", "/agui/agent/{slug}/run", "agui_agent_run", "Run this agent and stream its events.",
        **START,
    ),
    Operation(
        "post", "/agui/agent/{slug}/connect", "agui_agent_connect",
        "A thread's present content as snapshots, then its live run.", {200: EVENTS},
        ref("RunAgentInput"), PROTOCOL,
    ),
)  # fmt: skip
RUNS = (
    Operation("get", "/api/v1/runs/{run_id}/export", "run_export", "All events so far as a file.",
              {200: {NDJSON: text("A stored event on each line."), JSON: ANY_OBJECT,
                     "text/html": text("The run as one page.")}},
              query={"format": {"type": "string",
                                "enum": ["ndjson", "messages", "trace", "html", "archive"]},
                     "at": {"type": "integer",
                            "description": "The last event of it, for ndjson and messages."}},
              tag="runs"),
    Operation("post", "/api/v1/runs/{run_id}/messages", "run_say",
              "Send a message to a run that has not ended; its agent reads it from ctx.inbox.",
              {202: {JSON: members("seq", seq=WHOLE)}},
              {**members("id", "role", "content", id={**text(), "maxLength": LONGEST_ID},
                         role={"type": "string", "enum": ["user"]},
                         content={**text(), "maxLength": LONGEST}),
               "additionalProperties": False},
              tag="runs"),
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
PROBES = (
    Operation("get", "/health", "health", "Whether this process is alive.", as_json("Alive"),
              **HEALTH),
    Operation("get", "/ready", "ready", "Whether the host can do its work.",
              {**as_json("Ready"), **as_json("Ready", 503)}, **HEALTH),
)  # fmt: skip
PATHS = {"run_id": UUID, "file_id": UUID}
"""The parameters of paths that are not simply a text."""


def operations() -> list[Operation]:
    """The operations of the host and of its dialects."""
    host = (*AGUI, *RUNS, *FILES, *PROBES)
    return [*host, *(each for format in dialects.formats() for each in format.operations)]


def shapes() -> dict[str, Json]:
    """The schemas that these operations refer to."""
    return BASE | {
        name: shape for format in dialects.formats() for name, shape in format.shapes.items()
    }
