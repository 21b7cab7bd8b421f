"""An operation of the API's description, for addresses that do not describe themselves."""

from typing import Any, NamedTuple

from agui_host.web.addresses.shapes import Json, ref, text

STREAM, JSON = "text/event-stream", "application/json"
EVENTS = {STREAM: text("Server-sent events; each data is one AG-UI event.")}
FRAMES = {STREAM: text("Server-sent events in the frames of this wire format.")}
RAW = {"raw": {"type": "boolean", "description": "false leaves out RAW and rawEvent."}}
PAGE: dict[str, Any] = {
    "limit": {"type": "integer"}, "cursor": text("nextCursor of the page before."),
}  # fmt: skip
KEY = ("Idempotency-Key",)


class Operation(NamedTuple):
    """``answers``: by status, a schema by media type; empty without a body.

    ``body``: the schema of JSON; ``media``: those of bodies of other types; ``refusal``: the schema
    of an error, if it is not the host's.
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
    refusal: Json | None = None


def as_json(name: str, status: int = 200) -> dict[int, dict[str, Json]]:
    return {status: {JSON: ref(name)}}
