"""An AG-UI agent that sends the streams of ``ag-ui-validate``'s conformance corpus.

``forwardedProps.fixture`` names one, by its path below the corpus.
"""

import json
from collections.abc import AsyncIterator
from importlib import resources
from typing import Any

from fastapi import FastAPI
from fastapi.responses import StreamingResponse

Json = dict[str, Any]
CORPUS = resources.files("ag_ui_validate") / "spec" / "fixtures"
EVENT_STREAM = "text/event-stream"
app = FastAPI()


def lines(path: str) -> list[str]:
    """The lines of a stream, which need not be JSON."""
    return [line for line in (CORPUS / path).read_text("utf-8").splitlines() if line.strip()]


@app.post("/agent")
def agent(body: Json) -> StreamingResponse:
    path = body["forwardedProps"]["fixture"]
    if path.endswith(".jsonl"):
        frames = [f"data: {line}\n\n" for line in lines(path)]
        return StreamingResponse(_sent(frames, whole=True), media_type=EVENT_STREAM)
    scenario = json.loads((CORPUS / path).read_text("utf-8"))
    chunks = [chunk["text"] for chunk in scenario["chunks"]]  # Without the pauses between them.
    whole = not scenario.get("abnormalEof")
    return StreamingResponse(_sent(chunks, whole=whole), media_type=scenario["contentType"])


async def _sent(pieces: list[str], *, whole: bool) -> AsyncIterator[str]:
    for piece in pieces:
        yield piece
    if not whole:
        raise ConnectionResetError  # The server drops the connection.
