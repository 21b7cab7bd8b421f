"""The groups of the bell that a process listens to, all on one separate channel."""

import asyncio
from collections.abc import Callable, Set

import structlog
from channels.layers import get_channel_layer

log = structlog.get_logger(__name__)
SECONDS = 1.0


class Subscriptions:
    """Joined when a reader needs one; repaired and dropped by the hub's tick."""

    def __init__(self) -> None:
        self._held: set[str] = set()
        self._joining: dict[str, asyncio.Task[bool]] = {}
        self._channel: str | None = None
        self._lock = asyncio.Lock()

    async def channel(self) -> str:
        """The one channel of this process; the first readers all ask for it at once."""
        async with self._lock:
            if self._channel is None:
                self._channel = await get_channel_layer().new_channel()
            return self._channel

    async def join(self, group: str) -> bool:
        """Return once subscribed, or False after a second without Valkey.

        The subscription is a task shared by all that wait for the group. If one of them is
        cancelled, that must neither end the task nor get lost: on Python 3.11 ``wait_for``, in
        which redis-py sends, may swallow a cancellation, and the reader would stay.
        """
        if group in self._held:
            return True
        task = self._joining.get(group)
        if task is None:
            task = self._joining[group] = asyncio.create_task(self._add(group))
            task.add_done_callback(lambda _: self._joining.pop(group, None))
        return await asyncio.shield(task)

    async def settle(self, channels: Set[str]) -> None:
        """Unsubscribe unused groups, retry those that could not be joined, leave a dead Valkey."""
        await get_channel_layer().hang_up_on_silence()
        for group in self._held - channels:
            self._held.discard(group)
            await self._ask("group_discard", group, lambda _: None)
        for group in channels - self._held:
            if not await self._add(group):
                break

    async def _add(self, group: str) -> bool:
        return await self._ask("group_add", group, self._held.add)

    async def _ask(self, verb: str, group: str, done: Callable[[str], None]) -> bool:
        """Call the layer, for a second at most; False if it did not answer."""
        layer = get_channel_layer()
        try:
            async with asyncio.timeout(SECONDS):
                await getattr(layer, verb)(group, await self.channel())
        except Exception as error:
            log.warning("hub.no_bell", verb=verb, error=repr(error))
            return False
        done(group)
        return True
