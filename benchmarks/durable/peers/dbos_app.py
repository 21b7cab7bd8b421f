"""DBOS below FastAPI: ``python dbos_app.py PORT``; its system database is DATABASE_URL.

A run is a workflow. Its agent is one step, as a model's call would be; ``?exactly=1`` lets the
workflow itself write each delta, which DBOS promises to do once.
"""

import json
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

import script
import uvicorn
from dbos import DBOS, SetWorkflowID
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

app = FastAPI()
DBOS(
    config={
        "name": "durable",
        "system_database_url": os.environ["DATABASE_URL"],
        "sys_db_pool_size": 40,
        # A restarted process continues the workflows of its own version.
        "application_version": "1",
        "log_level": "WARNING",
    }
)
KEY = "deltas"


@DBOS.step()
async def speak(message: str) -> None:
    """The agent as a step."""
    async for delta in script.deltas(message):
        await DBOS.write_stream_async(KEY, delta)


@DBOS.workflow()
async def run(message: str, exactly: bool) -> None:
    """A run."""
    if exactly:
        async for delta in script.deltas(message):
            await DBOS.write_stream_async(KEY, delta)
    else:
        await speak(message)
    await DBOS.close_stream_async(KEY)


@app.get("/health")
async def health() -> dict[str, str]:
    return {"status": "ok"}


@app.post("/runs/{run_id}")
async def start(run_id: str, request: Request, exactly: int = 0) -> StreamingResponse:
    """Start a run and read it."""
    message = (await request.body()).decode()
    with SetWorkflowID(run_id):
        await DBOS.start_workflow_async(run, message, bool(exactly))
    return StreamingResponse(read(run_id, 0), media_type="text/event-stream")


@app.get("/runs/{run_id}/events")
async def events(run_id: str, after: int = 0) -> StreamingResponse:
    """Read a run from an offset."""
    return StreamingResponse(read(run_id, after), media_type="text/event-stream")


@app.get("/runs/{run_id}")
async def status(run_id: str) -> dict[str, Any]:
    """What DBOS says of a run."""
    workflow = await DBOS.get_workflow_status_async(run_id)
    return {"status": workflow.status if workflow else None}


async def read(run_id: str, after: int) -> AsyncIterator[bytes]:
    offset = after
    async for value in DBOS.read_stream_async(run_id, KEY, offset=offset):
        offset += 1
        yield f"id: {offset}\ndata: {json.dumps({'delta': value})}\n\n".encode()
    yield b"event: end\ndata: {}\n\n"


if __name__ == "__main__":
    DBOS.launch()
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
