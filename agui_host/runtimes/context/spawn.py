"""Starting another agent of the team from inside a run: the interface of ``RunContext.spawn``."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol


class ChildRun(Protocol):
    """A run of another agent: iterate over it for its events, as they are stored, in wire form."""

    agent: str
    id: str
    """The run's id at the host, as in ``/api/v1/runs/{id}``."""
    thread_id: str
    run_id: str

    def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        """The events from the first unread one to the terminal one."""
        ...

    async def end(self) -> dict[str, Any]:
        """Wait for the terminal event, skipping unread events."""
        ...


Spawn = Callable[[str, Mapping[str, Any]], AbstractAsyncContextManager[ChildRun]]
