"""AGUIServer: one agent as an AG-UI server, an ASGI app without a framework.

For workshops and for agents in separate processes; the run host then hosts it as an ``http``
agent. Serve it with any ASGI server, such as ``granian --interface asgi module:app``.
"""

import asyncio
import json
import logging
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any

from agui_client.emitter import AGUIEventEmitter
from agui_client.reading import TERMINAL

Scope = dict[str, Any]
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Agent = Any
"""An async generator function over the input (a dict), or an object with such a ``run``; it yields
text, dicts or SDK events."""

MAX_BODY = 16 * 1024 * 1024
log = logging.getLogger(__name__)


class AGUIServer:
    """POST ``/`` runs the agent, GET ``/health`` answers while the server is up."""

    def __init__(
        self, agent: Agent | None = None, title: str = "AG-UI agent", description: str = ""
    ) -> None:
        self.agent = agent
        self.title = title
        self.description = description

    def set_agent(self, agent: Agent) -> None:
        """Serve another agent from the next run on."""
        self.agent = agent

    def create_app(self) -> App:
        """The ASGI app."""
        return self._serve

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "http":
            match scope["method"], scope["path"]:
                case "GET", "/health":
                    about = {"title": self.title, "description": self.description}
                    await _json(send, 200, {"status": "healthy", "protocol": "AG-UI", **about})
                case "POST", "/":
                    await self._run(receive, send)
                case _, "/" | "/health":
                    await _json(send, 405, _error("method_not_allowed", "POST / or GET /health."))
                case _:
                    await _json(send, 404, _error("not_found", "POST / or GET /health."))

    async def _run(self, receive: Receive, send: Send) -> None:
        if self.agent is None:
            await _json(send, 503, _error("no_agent", "set_agent() was not called."))
            return
        body = await _body(receive)
        try:
            input = json.loads(body) if body is not None else None
        except ValueError:
            input = None
        if not isinstance(input, dict):
            await _json(send, 400, _error("bad_request", "The body must be a RunAgentInput."))
            return
        for camel, snake in (("threadId", "thread_id"), ("runId", "run_id")):
            input[camel] = str(input.get(camel) or input.get(snake) or uuid.uuid4())
        emitter = AGUIEventEmitter(input["threadId"], input["runId"])
        headers = [
            (b"content-type", emitter.content_type.encode()),
            (b"cache-control", b"no-cache, no-transform"),
            (b"x-accel-buffering", b"no"),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        running = asyncio.ensure_future(_stream(self.agent, input, emitter, send))
        leaving = asyncio.ensure_future(_until_left(receive))
        await asyncio.wait({running, leaving}, return_when=asyncio.FIRST_COMPLETED)
        for task in (running, leaving):  # A client that hangs up has cancelled the run.
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _stream(agent: Agent, input: Message, emitter: AGUIEventEmitter, send: Send) -> None:
    async def out(text: str) -> None:
        await send({"type": "http.response.body", "body": text.encode(), "more_body": True})

    started = ended = False
    try:
        async with aclosing(_events(agent, input, emitter)) as events:
            async for kind, text in events:
                if not started and kind != "RUN_STARTED":
                    await out(emitter.emit_run_started())
                started = True
                await out(text)
                if ended := kind in TERMINAL:
                    break
        if not started:
            await out(emitter.emit_run_started())
        if not ended:
            await out(emitter.emit_run_finished())
    except Exception:
        log.exception("the agent raised")
        if not started:
            await out(emitter.emit_run_started())
        await out(emitter.emit_run_error("The agent failed.", "AGENT_ERROR"))
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _events(
    agent: Agent, input: Message, emitter: AGUIEventEmitter
) -> AsyncGenerator[tuple[str, str], None]:
    """(type, encoded) of all that the agent yields; text becomes one message."""
    run = agent.run if hasattr(agent, "run") else agent
    talking = False
    async with aclosing(run(input)) as items:
        async for item in items:
            if isinstance(item, str):
                if not talking:
                    yield "TEXT_MESSAGE_START", emitter.emit_text_start()
                talking = True
                if item:
                    yield "TEXT_MESSAGE_CONTENT", emitter.emit_text_content(item)
                continue
            if talking:
                yield "TEXT_MESSAGE_END", emitter.emit_text_end()
                talking = False
            yield _encoded(item)
    if talking:
        yield "TEXT_MESSAGE_END", emitter.emit_text_end()


def _encoded(item: Any) -> tuple[str, str]:
    event = item if isinstance(item, dict) else json.loads(item.model_dump_json(by_alias=True))
    return event["type"], f"data: {json.dumps(event)}\n\n"


async def _body(receive: Receive) -> bytes | None:
    """The request's body; None if it is too large or the client left."""
    body: bytes = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if message["type"] == "http.disconnect" or len(body) > MAX_BODY:
            return None
        if not message.get("more_body"):
            return body


async def _until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _live(receive: Receive, send: Send) -> None:
    while True:
        kind = (await receive())["type"]
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return


async def _json(send: Send, status: int, content: object) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(content).encode()})


def _error(code: str, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "details": {}}}
