"""/health (is this process alive) and /ready (can it do its work)."""

from collections.abc import Callable

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from agui_host.backends import bell, epochs, ringer
from agui_host.backends.postgres import clock
from agui_host.backends.postgres.servers import replica
from agui_host.embedded import embedded, paths
from agui_host.errors import MethodNotAllowed
from agui_host.protocol.strict_json import dumps
from agui_host.web import proxy_probe
from agui_host.web.asgi_http import answer_error
from agui_host.web.scope import App, Receive, Scope, Send
from agui_project import release
from runs.lifecycle.chores import lags

ALIVE = dumps(
    {
        "status": "healthy",
        "protocol": "AG-UI",
        "version": release.version(),
        "commit": release.commit(),
    }
).encode()
ALIVE_HEADERS = [
    (b"content-type", b"application/json"),
    (b"content-length", str(len(ALIVE)).encode()),
]

# Workers of the previous release, which count while there are no others, have only a registration
# in Procrastinate.
WORKERS = """
with live as (
    select draining from runs_worker where heartbeat > now() - make_interval(secs => %(lost)s))
select case when exists (select from live) then (select count(*) from live where not draining)
       else (select count(*) from procrastinate_workers
              where last_heartbeat > now() - make_interval(secs => %(lost)s)) end
"""


class Alive:
    """ASGI middleware: answers /health before everything that could be busy.

    Liveness depends on no other process, no slot of the gate and no thread.
    """

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != "/health":
            return await self.app(scope, receive, send)
        if proxy_probe.is_asked(scope):
            return await proxy_probe.stream(send)
        if scope["method"] not in ("GET", "HEAD"):
            return await answer_error(send, MethodNotAllowed(headers={"Allow": "GET, HEAD"}))
        body = ALIVE if scope["method"] == "GET" else b""
        await send({"type": "http.response.start", "status": 200, "headers": ALIVE_HEADERS})
        await send({"type": "http.response.body", "body": body})


class Probes:
    """Middleware: a probe addresses the machine by IP, which is not one of this host's names."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return ready(request) if request.path_info == "/ready" else self.get_response(request)


@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """Readiness: 503 without a migrated database; without bell or workers it is degraded.

    Without the bell readers are served by polling; without workers runs wait in the queue. On a
    full disk nothing can start, and PostgreSQL can be down for that reason. ``clock`` is there if
    that of this process is wrong: by so many seconds it is ahead of the database's. ``epoch`` is
    that of the database's history. ``replica`` shows whether a read replica is read; the primary is
    otherwise. ``late`` names the chores that do not keep pace with the runs; it is absent else.
    """
    workers = live_workers()
    full = embedded.own_engines()["postgres"] and paths.disk_is_full(
        settings.AGUI_DATA_DIR / "postgres"
    )
    checks: dict[str, str | int | float] = {
        "database": "disk full" if full else "ok" if workers is not None else "down",
        "bell": _bell(),
        "workers": workers or 0,
        "epoch": epochs.latest,
    }
    if (ahead := clock.ahead()) is not None:
        checks["clock"] = ahead
    if replica.is_set():
        checks["replica"] = replica.health.summary()
    if workers is not None and (late := lags.late()):
        checks["late"] = ", ".join(late)
    if workers is None:
        return JsonResponse({"status": "unavailable", **checks}, status=503)
    degraded = full or checks["bell"] != "ok" or not workers
    return JsonResponse({"status": "degraded" if degraded else "ready", **checks})


def _bell() -> str:
    """A server that passes messages on and refuses to count is not fit for work, either."""
    state = ringer.state()
    return state if state != "ok" or bell.reachable() else "down"


def live_workers() -> int | None:
    """How many workers have a heartbeat and take runs; None while the database is away."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(WORKERS, {"lost": settings.AGUI_WORKER_LOST_AFTER})
            workers = int(cursor.fetchone()[0])
        epochs.read(connection.connection)
        return workers
    except (DatabaseError, InterfaceError):
        return None
