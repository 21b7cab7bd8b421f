"""POST /agui: a stock AG-UI client starts a run and reads it as server-sent events."""

from agui_project.asgi_http import Request, Send, endpoint
from agui_project.bridge import db
from runs import cursors, entry
from runs.consumers.events import stream_run
from teams import authentication
from teams.authentication import Principal


@endpoint
async def agui(request: Request, send: Send) -> None:
    """Start the run, then follow it. Leaving does not cancel it; coming back is a GET."""
    principal = await authenticate(request)
    body = await request.body()
    started = await db(
        entry.enter_agui,
        principal,
        body,
        agent=request.kwargs.get("slug"),
        on_busy=request.query.get("on_busy"),
        key=request.headers.get("idempotency-key"),
        cursor=cursors.asked(request.headers, {}),
    )
    await stream_run(request, send, principal, started.run.pk, started.after)


async def authenticate(request: Request) -> Principal:
    """Who asks. A cookie alone is not enough for a POST: the page must be one of ours."""
    principal = await db(authentication.resolve, request.headers, request.cookies)
    authentication.guard_cookie(
        principal,
        request.headers,
        host=request.headers.get("host", ""),
        scheme=request.scheme,
        json_body=True,
    )
    return principal
