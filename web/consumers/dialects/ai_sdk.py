"""POST /api/chat/{slug}, GET /api/chat/{slug}/{chat}/stream: the AI SDK's UI message stream."""

from backends.postgres.bridge import db, db_read
from protocol.dialects.ai_sdk import request as chat_request
from protocol.dialects.ai_sdk.stream import Stream
from protocol.dialects.fold import Frame
from protocol.encoding import encode
from protocol.input.run_agent_input import digest_of
from runs.access import access, start
from runs.access.dialects import chats, resumes
from runs.access.start import StartOutcome
from runs.models import Run
from teams.authentication import Principal
from web.asgi_http import Request, answer, endpoint
from web.consumers import arriving
from web.consumers.agui import authenticate
from web.consumers.dialects.teller import Teller
from web.consumers.opening import opened
from web.consumers.stream import Logs, stream_run
from web.scope import Send
from web.shares import parsing

DONE = b"data: [DONE]\n\n"
VERSION = (b"x-vercel-ai-ui-message-stream", b"v1")


@endpoint
async def chat(request: Request, send: Send) -> None:
    """Start a run from a chat's messages and follow it. Leaving does not cancel it."""
    principal = await authenticate(request)
    async with opened(principal):
        message = await parsing.body(request, principal.team.pk, chat_request.read)
        slug, key = request.kwargs["slug"], request.headers.get("idempotency-key")
        digest = digest_of(slug, message.digest)
        outcome: StartOutcome = await db(
            chats.begin, principal, message.input, agent=slug, key=key, digest=digest
        )
        run = outcome.run
        fold = Stream(
            message.continues or str(run.pk), calls=message.calls, approvals=message.approvals
        )
        del message  # It must not live as long as the stream.
        await _stream(request, send, principal, [run], fold)


@endpoint
async def chat_stream(request: Request, send: Send) -> None:
    """Replay the message that is being made, then follow it; 204 if there is none.

    A page that loaded while it was being made gets it once more when it is finished.
    """
    principal = await arriving.caller(request)
    turn = await db_read(_live_turn, principal, request.kwargs["slug"], request.kwargs["chat"])
    if not turn:
        await answer(send, 204)
        return
    async with opened(principal):
        await _stream(request, send, principal, turn, Stream(str(turn[0].pk)))


def _live_turn(principal: Principal, slug: str, thread_id: str) -> list[Run]:
    access.require(principal, "view")
    start.find_agent(principal, slug)
    return resumes.turn(principal, thread_id)


async def _stream(
    request: Request, send: Send, principal: Principal, runs: list[Run], fold: Stream
) -> None:
    await stream_run(
        request,
        send,
        principal,
        Logs.of(principal, *runs),
        view=Teller(fold, _framed, runs=len(runs), farewell=DONE),
        headers=[VERSION],
    )


def _framed(number: int, frame: Frame) -> bytes:
    return b"data: %b\n\n" % encode(frame)
