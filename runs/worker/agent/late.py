"""Agents that are still running when their run has ended."""

import asyncio


def forget(task: "asyncio.Task[None]") -> None:
    """Retrieve a late agent's exception, so that asyncio does not complain about it."""
    if not task.cancelled():
        task.exception()
