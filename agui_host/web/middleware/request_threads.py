"""Threads for Django's views: a request has one to itself, and the next request has it again."""

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from asgiref.sync import ThreadSensitiveContext

from agui_host.web.scope import Receive, Scope, Send


class RequestThreads:
    """ASGI middleware for Django: gives each request an idle thread.

    By itself Django starts two threads for each request, and the second waits for the first. The
    event loop stands still until a new thread has had the interpreter: with other processes on its
    cores that was a tenth of its time. There are as many threads as requests at the same time,
    which the gate bounds.
    """

    def __init__(self, app: Any) -> None:
        self.app = app
        self.idle: deque[ThreadPoolExecutor] = deque()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        thread = self.idle.pop() if self.idle else ThreadPoolExecutor(1, "request")
        try:
            async with ThreadSensitiveContext(executor=thread):
                await self.app(scope, receive, send)
        except asyncio.CancelledError:
            # Its view may still be at work: the thread is idle when it comes to this.
            thread.submit(self.idle.append, thread)
            raise
        except BaseException:
            self.idle.append(thread)
            raise
        self.idle.append(thread)
