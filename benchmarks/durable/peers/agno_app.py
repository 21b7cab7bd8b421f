"""Agno's AgentOS with its durable queue: ``python agno_app.py PORT``; DATABASE_URL, REDIS_URL."""

import os
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import script
import uvicorn
from agno.agent import Agent
from agno.db.postgres import PostgresDb
from agno.job_queue import QueueConfig
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.os import AgentOS


@dataclass
class Scripted(Model):
    """A model that says what the last message asks for."""

    id: str = "scripted"
    name: str = "Scripted"
    provider: str = "durable"

    async def ainvoke_stream(self, messages: Any, **_: Any) -> AsyncIterator[ModelResponse]:
        async for delta in script.deltas(messages[-1].content):
            yield ModelResponse(role="assistant", content=delta)

    def invoke(self, *_: Any, **__: Any) -> ModelResponse:
        raise NotImplementedError

    async def ainvoke(self, *_: Any, **__: Any) -> ModelResponse:
        raise NotImplementedError

    def invoke_stream(self, *_: Any, **__: Any) -> Iterator[ModelResponse]:
        raise NotImplementedError

    def _parse_provider_response(self, response: Any, **_: Any) -> ModelResponse:
        return response  # type: ignore[no-any-return]

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        return response  # type: ignore[no-any-return]


db = PostgresDb(db_url=os.environ["DATABASE_URL"])
app = AgentOS(
    agents=[Agent(id="scripted", name="Scripted", model=Scripted(), db=db, telemetry=False)],
    db=db,
    queue=QueueConfig(
        durable=True,
        redis=os.environ["REDIS_URL"],
        max_concurrency=100,
        max_attempts=int(os.environ.get("MAX_ATTEMPTS", "1")),
        lock_grace_seconds=int(os.environ.get("LOCK_GRACE", "60")),
        stop_timeout_seconds=2,
        retry_delay_seconds=1,
    ),
    telemetry=False,
).get_app()

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
