"""POST /api/chat/{slug}, GET /api/chat/{slug}/{chat}/stream: the AI SDK's UI message stream."""

from collections.abc import Mapping
from types import MappingProxyType

from agui_host.backends.postgres.bridge import db, db_read
from agui_host.dialects.ai_sdk import request as chat_request
from agui_host.dialects.ai_sdk import resumes
from agui_host.dialects.ai_sdk import verbs as chat_starts
from agui_host.dialects.ai_sdk.fold import Stream, refusal
from agui_host.dialects.teller import Teller
from agui_host.protocol.encoding import encode
from agui_host.protocol.errors import HostError
from agui_host.protocol.input.numbers import whole
from agui_host.protocol.input.run_agent_input import digest_of
from agui_host.protocol.wire.fold import Frame
from agui_host.teams.authentication import Principal
from agui_host.web import sse
from agui_host.web.asgi_http import Request, answer, endpoint
from agui_host.web.consumers import arriving
from agui_host.web.consumers.agui import authenticate
from agui_host.web.consumers.opening import opened
from agui_host.web.consumers.stream import Logs, stream_run
from agui_host.web.scope import Send
from agui_host.web.shares import parsing
from runs.access import access, start
from runs.access.start import StartOutcome
from runs.models import ENDED, Run

DONE = b"data: [DONE]\n\n"
RUN = "x-workflow-run-id"
"""The header by which ``WorkflowChatTransport`` comes back to a run whose stream broke."""
TAIL = "x-workflow-stream-tail-index"
"""The number of the last frame, by which it knows where an index from the end is."""
MOST_FRAMES = 10**11
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
            chat_starts.begin, principal, message, agent=slug, key=key, digest=digest
        )
        run = outcome.run
        fold = Stream(
            message.continues or str(run.pk), calls=message.calls, approvals=message.approvals
        )
        del message  # It must not live as long as the stream.
        await _stream(request, send, principal, [run], fold, {RUN: str(run.pk)})


@endpoint
async def chat_stream(request: Request, send: Send) -> None:
    """Replay the message that is being made, then follow it; 204 if there is none.

    A page that loaded while it was being made gets it once more when it is finished. Our clients
    get the id of a run in place of the chat's: with it a client gets the run, ended or not, from
    the frame ``startIndex`` on. With a ``startIndex`` a chat's name gets its newest message.
    """
    principal = await arriving.caller(request)
    name, start = request.kwargs["chat"], _start(request.query.get("startIndex"))
    replay = await db_read(_resumed, principal, request.kwargs["slug"], name, start)
    if isinstance(replay, resumes.Again):
        async with opened(principal):
            runs, fold, skip = replay.runs, replay.fold, replay.skip
            names = {RUN: str(runs[-1].pk)}
            if replay.tail is not None:
                names[TAIL] = str(replay.tail)
            end = b"" if replay.finishes else _framed(0, {"type": "finish"})
            await _stream(request, send, principal, runs, fold, names, skip=skip, end=end)
        return
    if not replay:
        await answer(send, 204)
        return
    async with opened(principal):
        await _stream(request, send, principal, replay, Stream(str(replay[0].pk)))


def _start(text: str | None) -> int | None:
    """The ``startIndex`` of ``WorkflowChatTransport``: below zero it counts from the end."""
    if text is None:
        return None
    number = whole(text.removeprefix("-"), 0, MOST_FRAMES) or 0
    return -number if text.startswith("-") else number


def _resumed(
    principal: Principal, slug: str, name: str, index: int | None
) -> resumes.Again | list[Run]:
    """The run of that id, else the turn of the chat of that id."""
    if again := resumes.of_run(principal, name, index or 0):
        return again
    access.require(principal, "view")
    start.find_agent(principal, slug)
    if index is not None:
        return resumes.of_chat(principal, name, index) or []
    return resumes.turn(principal, name)


async def _stream(
    request: Request,
    send: Send,
    principal: Principal,
    runs: list[Run],
    fold: Stream,
    names: Mapping[str, str] = MappingProxyType({}),
    *,
    skip: int = 0,
    end: bytes = b"",
) -> None:
    await stream_run(
        request,
        send,
        principal,
        Logs.of(principal, *runs),
        view=Teller(fold, _framed, runs=len(runs), farewell=end + DONE, skip=skip),
        headers=[VERSION, *((name.encode(), value.encode()) for name, value in names.items())],
        wire=WIRE,
        corrected=request.scope["method"] == "GET" or runs[-1].status in ENDED,
    )


def _framed(number: int, frame: Frame) -> bytes:
    return b"data: %b\n\n" % encode(frame)


def _reset(error: HostError) -> bytes:
    return b"".join([*(_framed(0, frame) for frame in refusal(error)), DONE])


WIRE = sse.EVENTS._replace(reset=_reset)
