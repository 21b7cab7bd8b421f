"""The bell, the only module that sends on the channel layer: lossy, never needed for correctness.

Listeners get positions and, as an optimisation, fresh events; a listener that misses a message
reads Postgres. So nothing here fails or delays its caller: one second, then a log line.
"""

import asyncio
import threading
from collections.abc import Iterable
from concurrent.futures import CancelledError
from typing import Any

import structlog
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from channels_redis.pubsub import RedisPubSubChannelLayer

from agui_host.backends import metrics, valkey
from agui_host.backends.postgres import bridge

log = structlog.get_logger(__name__)
TIMEOUT = 1.0
PING_EVERY, SILENCE = 5, 5.0
"""Seconds of silence after which a subscriber pings, and those it then waits for an answer."""
CONNECTING = 2.0

Message = dict[str, Any]


class BellLayer(RedisPubSubChannelLayer):  # type: ignore[misc]  # the library ships no types
    """The pub/sub layer with one pipelined publish for many groups, and an ear for silence.

    The layer's own ``group_send`` takes a lock and a round trip per group: 100 runs would wait 11
    ms per commit; the pipeline needs 1.2 ms. And its subscriber would read for ever from a
    connection that a failover left open but dead.
    """

    def __init__(self, hosts: Iterable[str], **options: Any) -> None:
        connection = {"health_check_interval": PING_EVERY, "socket_connect_timeout": CONNECTING}
        super().__init__(hosts=valkey.hosts(list(hosts), connection), **options)

    async def group_send_many(self, items: Iterable[tuple[str, Message]]) -> None:
        """Publish each ``(group, message)``; one round trip per Valkey host."""
        layer = self._get_layer()
        by_shard: dict[Any, list[tuple[str, bytes]]] = {}
        for group, message in items:
            channel = layer._get_group_channel_name(group)
            by_shard.setdefault(layer._get_shard(channel), []).append(
                (channel, self.serialize(message))
            )
        for shard, messages in by_shard.items():
            shard._ensure_redis()
            pipeline = shard._redis.pipeline(transaction=False)
            for channel, data in messages:
                pipeline.publish(channel, data)
            await pipeline.execute()

    async def hang_up_on_silence(self) -> None:
        """Close subscribed connections that no longer answer; the layer then subscribes again."""
        now = asyncio.get_running_loop().time()
        for shard in self._get_layer()._shards:
            connection = shard._pubsub and shard._pubsub.connection
            if connection is None or not connection.is_connected:
                continue
            # redis-py pings, but never looks whether an answer came, which would move this time.
            if 0 < connection.next_health_check < now - SILENCE:
                log.warning("bell.silent", seconds=PING_EVERY + SILENCE)
                await connection.disconnect(nowait=True)


async def ring(items: Iterable[tuple[str, Message]]) -> bool:
    """Publish within ``TIMEOUT`` seconds; False if the notification could not be published."""
    try:
        async with asyncio.timeout(TIMEOUT):
            await get_channel_layer().group_send_many(items)
    except Exception as error:
        metrics.lost_bells.inc()
        log.warning("bell.lost", error=repr(error))
        return False
    return True


def ring_now(items: Iterable[tuple[str, Message]]) -> bool:
    """``ring`` for synchronous code: the reaper, a cancel of a queued run, a revocation."""
    return _now(list(items))


def reachable() -> bool:
    """Whether a message can be published right now (synchronous, a second at most)."""
    return _now([("ready", {"type": "ready"})])


def _now(items: list[tuple[str, Message]]) -> bool:
    if not threading.main_thread().is_alive():
        return False  # The interpreter is exiting: threads can no longer be started.
    if (home := bridge.HOME.get()) is not None and home.is_running():
        # A loop of our own would open a connection, and close it after this one message.
        ringing = asyncio.run_coroutine_threadsafe(ring(items), home)
        try:
            return ringing.result(2 * TIMEOUT)
        except (TimeoutError, CancelledError):
            ringing.cancel()
            return False
    try:
        return async_to_sync(ring)(items)
    except RuntimeError as error:
        if "shutdown" not in str(error):
            raise
        return False
