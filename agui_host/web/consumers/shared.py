"""GET /shared/{token}/runs/{id}/events: a run for readers with a link, in the link view."""

from uuid import UUID

from agui_host.backends.postgres.bridge import db
from agui_host.teams import authentication
from agui_host.web.asgi_http import Request, answer, endpoint
from agui_host.web.consumers import opening
from agui_host.web.consumers.arriving import Arrival
from agui_host.web.consumers.full_links import full_links
from agui_host.web.consumers.link_logs import link_logs
from agui_host.web.consumers.stream import Logs, stream_run
from agui_host.web.scope import Send
from runs.access import access, sharing, sight
from runs.access.sharing import Opened
from runs.access.sight import Sight
from runs.models import Run


@endpoint
async def shared_events(request: Request, send: Send) -> None:
    """Stream a shared run from the cursor, by default from its start.

    The log is read from its first event in any case: the hidden parts depend on earlier events. 204
    for a cursor at the end of an ended run, which stops an EventSource.
    """
    with full_links.remembered(request.kwargs["token"]):
        await _stream(request, send)


async def _stream(request: Request, send: Send) -> None:
    opened, run, alone = await db(_open, request)
    arrival = Arrival.at(request, opened.principal, run)
    if arrival.has_all:
        await answer(send, 204)
        return
    view = link_logs.reader(
        run.pk, opened.grant.redact, arrival.after, team=run.team_id, alone=alone
    )
    async with opening.opened(opened.principal):
        await stream_run(
            request,
            send,
            opened.principal,
            Logs([run.pk], run.team_id, doubtful=[]),  # The view is of the run alone, if need be.
            view=view,
            turn=view.log.lock,
            whole=alone is None,
            headers=[(b"referrer-policy", b"no-referrer")],
        )


def _open(request: Request) -> tuple[Opened, Run, Sight | None]:
    run_id: UUID = request.kwargs["run_id"]
    opened = sharing.open_link(request.kwargs["token"], authentication.person(request.cookies))
    run = access.find(opened.principal, run_id)
    return opened, run, sight.of(opened.principal, run)
