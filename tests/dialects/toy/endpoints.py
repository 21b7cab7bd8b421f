"""POST /toy/{slug}: starts a run and streams it."""

from agui_host.dialects.toy import request as toy
from agui_host.dialects.toy.fold import Words

from agui_host.backends.postgres.bridge import db
from agui_host.dialects import chats
from agui_host.dialects.teller import Teller
from agui_host.protocol.encoding import encode
from agui_host.protocol.input.run_agent_input import digest_of
from agui_host.protocol.strict_json import dumps
from agui_host.protocol.wire.fold import Frame
from agui_host.teams.authentication import Principal
from agui_host.web.asgi_http import Request
from agui_host.web.consumers.opening import opened
from agui_host.web.consumers.stream import Logs, stream_run
from agui_host.web.scope import Send
from agui_host.web.shares import parsing


async def say(request: Request, send: Send, principal: Principal) -> None:
    """Start a run of the agent and follow it."""
    data = await parsing.body(request, principal.team.pk, toy.read)
    slug, digest = request.kwargs["slug"], digest_of("toy", dumps(data))
    async with opened(principal):
        outcome = await db(chats.begin, principal, data, agent=slug, key=None, digest=digest)
        run = outcome.run
        view = Teller(Words(str(run.pk)), _line)
        await stream_run(request, send, principal, Logs.of(principal, run), view=view)


def _line(number: int, frame: Frame) -> bytes:
    return b"id: %d\ndata: %b\n\n" % (number, encode(frame))
