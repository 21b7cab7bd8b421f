"""Agents and children that are still running when nobody waits for them."""

import asyncio


def forget(task: "asyncio.Task[None]") -> None:
    """Retrieve the exception of a late task, so that asyncio does not complain about it."""
    if not task.cancelled():
        task.exception()
