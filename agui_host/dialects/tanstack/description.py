"""TanStack AI's operation in the API's description."""

from agui_host.protocol.encoding import NDJSON
from agui_host.web.addresses.operation import EVENTS, JSON, RAW, Operation
from agui_host.web.addresses.shapes import ANY_OBJECT, text

OPERATIONS = (
    Operation(
        "get", "/agui/agent/{slug}/run", "agui_agent_read",
        "For TanStack AI: a run's events after an offset, or a thread's content.",
        {200: {**EVENTS, NDJSON: text("The same events, a line of JSON each."), JSON: ANY_OBJECT}},
        query={"runId": text(), "offset": text("-1: all of it."), "threadId": text(), **RAW},
    ),
)  # fmt: skip
