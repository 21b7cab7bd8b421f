"""A plain function in a thread of its own, so that it does not block the event loop."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any


async def in_thread(work: Callable[[], Any], close: Callable[[], object] = lambda: None) -> Any:
    """Run ``work`` in a separate thread and await its value; ``close`` is called there after it.

    It is a daemon, not a pool's thread: an agent that never returns must delay neither the next
    agent nor the end of the process. A cancelled thread is left to notice ``ctx.cancelled``.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(value)
        else:
            done.set_exception(error)

    def body() -> None:
        value: Any = None
        error: BaseException | None = None
        try:
            try:
                value = work()
            finally:
                close()
        # Futures do not accept these.
        except (StopIteration, KeyboardInterrupt, SystemExit) as raised:
            error = RuntimeError(f"the agent raised {type(raised).__name__}: {raised}")
        except BaseException as raised:
            error = raised
        with suppress(RuntimeError):  # The loop is closed: there is no waiting caller.
            loop.call_soon_threadsafe(settle, value, error)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(body,), name="agent", daemon=True).start()
    return await done
