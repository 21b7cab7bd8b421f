"""The ASGI application of a web process."""

import asyncio
import os
import warnings
from functools import partial
from importlib import import_module

from django.conf import settings
from django.core.asgi import get_asgi_application

from agui_host.backends import interpreter

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")
# WhiteNoise streams static files as WSGI would; Django reads such a file whole and warns about it.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous")
with interpreter.importing():
    django = get_asgi_application()
    # All pages and the API: the first request would import them and hold up every stream.
    import_module(settings.ROOT_URLCONF)

# Imported only now, because consumers need the app registry.
from channels.routing import ProtocolTypeRouter  # noqa: E402

from agui_host.backends import metrics, tracing  # noqa: E402
from agui_host.backends.postgres.clock_watch import ClockWatch  # noqa: E402
from agui_host.web import routing  # noqa: E402
from agui_host.web.bodies import Bodies  # noqa: E402
from agui_host.web.gated import Gated, Whole  # noqa: E402
from agui_host.web.health import Alive  # noqa: E402
from agui_host.web.middleware.compression import Compressed  # noqa: E402
from agui_host.web.middleware.front import Front  # noqa: E402
from agui_host.web.middleware.request_threads import RequestThreads  # noqa: E402
from agui_host.web.middleware.static_files import StaticFiles  # noqa: E402
from agui_host.web.outermost import Outermost  # noqa: E402
from agui_host.web.proxy_probe import ProbedSockets  # noqa: E402
from agui_host.web.scope import Receive, Scope, Send  # noqa: E402
from agui_host.web.tracing.traced import traced  # noqa: E402
from agui_project import cli  # noqa: E402
from runs.lifecycle.handover import links  # noqa: E402
from runs.worker import reaper  # noqa: E402
from runs.worker.scheduler import Scheduler  # noqa: E402


async def lifespan(scope: Scope, receive: Receive, send: Send) -> None:
    """Run reaper and scheduler next to the requests: runs also end and begin without a worker."""
    await receive()
    interpreter.settle()
    tasks = [
        asyncio.create_task(reaper.run_forever(), name="reaper"),
        asyncio.create_task(Scheduler().run(), name="schedules"),
        asyncio.create_task(metrics.watch_loop(), name="loop-lag"),
        asyncio.create_task(ClockWatch().run(), name="clock"),
        asyncio.create_task(links.links().keep(), name="links"),
    ]
    await send({"type": "lifespan.startup.complete"})
    while (await receive())["type"] != "lifespan.shutdown":
        pass
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.to_thread(tracing.close)
    await send({"type": "lifespan.shutdown.complete"})


tracing.begin("web", cli.version())
views = RequestThreads(django)
router = routing.http(Whole(views))
kind_of = partial(routing.kind_of, router)
inner = Alive(Bodies(Gated(router, kind_of), partial(routing.in_pieces, router)))
answered = StaticFiles(Compressed(traced(inner, router)))
websocket = routing.websocket()
application = ProtocolTypeRouter(
    {
        "http": Outermost(Front(answered, router)),
        "websocket": ProbedSockets(Front(Gated(websocket, kind_of), websocket)),
        "lifespan": lifespan,
    }
)
