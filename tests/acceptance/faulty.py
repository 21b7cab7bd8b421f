"""A web process whose bell drops, doubles and delays, and says how often at /faults."""

import asyncio
import collections
import json
import os
import random
from typing import Any

import agui_host.web.application

FIRED: collections.Counter[str] = collections.Counter()


def web_application() -> Any:
    """The real application; only the bell's messages pass through the injector."""
    application = agui_host.web.application.application()
    from events.hub import Hub  # after the application: it needs the app registry

    real = Hub.deliver
    chances = random.Random(int(os.environ.get("FAULTS_SEED", "1")))

    def deliver(self: Hub, message: dict[str, Any]) -> None:
        choice = chances.random()
        if choice < 0.2:
            FIRED["drop"] += 1
        elif choice < 0.4:
            FIRED["double"] += 1
            real(self, message)
            real(self, message)
        elif choice < 0.6:
            FIRED["delay"] += 1
            asyncio.get_running_loop().call_later(chances.random() * 0.2, real, self, message)
        else:
            real(self, message)

    Hub.deliver = deliver  # type: ignore[method-assign]

    async def with_report(scope: Any, receive: Any, send: Any) -> None:
        if scope.get("path") == "/faults":
            headers = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": json.dumps(FIRED).encode()})
        else:
            await application(scope, receive, send)

    return with_report
