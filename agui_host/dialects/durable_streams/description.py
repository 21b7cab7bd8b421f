"""The operations of a run's stream in the API's description."""

from agui_host.web.addresses.operation import FRAMES, JSON, STREAM, Operation
from agui_host.web.addresses.shapes import OBJECTS, array, ref, text

RUN_STREAM = "/api/v1/runs/{run_id}/stream"
OFFSET = {
    "offset": text("-1, now, or Stream-Next-Offset of an answer."),
    "live": {"type": "string", "enum": ["long-poll", "sse"]},
}
OPERATIONS = (
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
