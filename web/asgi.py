"""The ASGI application of a web process."""

import asyncio
import gc
import os
import warnings

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")
# WhiteNoise streams static files as WSGI would; Django reads such a file whole and warns about it.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous")
django = get_asgi_application()

# Imported only now, because consumers need the app registry.
from channels.routing import ProtocolTypeRouter  # noqa: E402

from backends import metrics  # noqa: E402
from runs.worker.worker import reap_forever  # noqa: E402
from web import routing  # noqa: E402
from web.bodies import Bodies, RefuseNul  # noqa: E402
from web.cors import Cors  # noqa: E402
from web.gated import Gated, Whole  # noqa: E402
from web.health import Alive  # noqa: E402
from web.request_id import RequestId  # noqa: E402
from web.scope import Receive, Scope, Send  # noqa: E402


async def lifespan(scope: Scope, receive: Receive, send: Send) -> None:
    """Run the reaper beside the requests, so that runs end even if no worker is left."""
    await receive()
    # Nothing imported so far will ever be garbage: a full collection over it took 90 ms.
    gc.collect()
    gc.freeze()
    tasks = [
        asyncio.create_task(reap_forever(), name="reaper"),
        asyncio.create_task(metrics.watch_loop(), name="loop-lag"),
    ]
    await send({"type": "lifespan.startup.complete"})
    while (await receive())["type"] != "lifespan.shutdown":
        pass
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await send({"type": "lifespan.shutdown.complete"})


application = ProtocolTypeRouter(
    {
        "http": RequestId(Cors(Alive(RefuseNul(Bodies(Gated(routing.http(Whole(django)))))))),
        "websocket": RequestId(RefuseNul(Gated(routing.websocket()))),
        "lifespan": lifespan,
    }
)
