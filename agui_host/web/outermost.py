"""Once its headers are sent, a stream bypasses the middleware stack.

With its first message they have done all they do for it. As long as it is open, their frames would
take seven kilobytes of each reader, and each event would pass all of them.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from agui_host.web.scope import App, Receive, Scope, Send

EXCHANGE = "agui.exchange"
"""Where a scope holds the request's ``Exchange``."""


class Exchange:
    """A request and its answer, as the server passes them to the outermost app."""

    __slots__ = ("_apart", "receive", "send", "task")

    def __init__(self, receive: Receive, send: Send) -> None:
        self.receive, self.send = receive, send
        self.task: asyncio.Task[None] | None = None
        """What answers the request, once the apps around it have returned."""
        self._apart: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self, handling: Coroutine[Any, Any, None]) -> None:
        """Answer the request in a separate task; return at its end, or when it is ``set_apart``.

        The task has the context of here, whatever the apps around undo in theirs.
        """
        self.task = asyncio.create_task(handling)
        self.task.add_done_callback(self.set_apart)
        try:
            await self._apart
        except asyncio.CancelledError:
            self.task.cancel()
            await asyncio.wait({self.task})
            raise
        self.task.remove_done_callback(self.set_apart)
        if self.task.done():
            self.task.result()

    def at_end(self, call: Callable[[object], object]) -> None:
        """Call it when the answer is over: for an app that returns, now or after the stream."""
        if self.task is None or self.task.done():
            call(None)
        else:
            self.task.add_done_callback(call)

    def set_apart(self, _: object = None) -> None:
        """Let the apps around the request return, while its task continues."""
        if not self._apart.done():
            self._apart.set_result(None)


class Outermost:
    """ASGI middleware: waits for a stream that has been set apart."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[EXCHANGE] = exchange = Exchange(receive, send)
        await self.app(scope, receive, send)
        task = exchange.task
        del exchange, scope, receive, send  # An open stream needs none of them.
        if task is not None:
            await task
