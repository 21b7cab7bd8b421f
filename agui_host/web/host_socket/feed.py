"""The team's feed on a socket: entries after a cursor, then new ones."""

import asyncio
import contextvars
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings

from agui_host.backends import epochs
from agui_host.backends.epochs import Reset
from agui_host.backends.postgres.bridge import db, db_read
from agui_host.errors import Forbidden
from agui_host.protocol.ids import Position
from agui_host.teams.authentication import Principal
from agui_host.web.host_socket import frames
from agui_host.web.host_socket.credit import FeedCredit
from agui_host.web.host_socket.outgoing import Outgoing
from agui_host.web.host_socket.subscriptions import PIECE, End, Slow
from runs.access import feed as access_feed
from runs.access.feed import News
from runs.lifecycle import feed

log = structlog.get_logger(__name__)


class Feeds:
    """Numbers the feeds that sockets of this process read, once per tick, and wakes the readers."""

    def __init__(self) -> None:
        self._readers: dict[UUID, set[asyncio.Event]] = {}
        self._newest: dict[UUID, tuple[int, int]] = {}
        self._ticking: asyncio.Task[None] | None = None

    @contextmanager
    def reading(self, team: UUID) -> Iterator[asyncio.Event]:
        """An event that is set when the team's feed has new entries."""
        news = asyncio.Event()
        self._readers.setdefault(team, set()).add(news)
        if self._ticking is None:
            nobody = contextvars.Context()  # it serves all readers, not the first one's request
            self._ticking = asyncio.create_task(self._tick(), name="feeds", context=nobody)
        try:
            yield news
        finally:
            self._readers[team].discard(news)
            if not self._readers[team]:
                del self._readers[team]
                self._newest.pop(team, None)

    async def _tick(self) -> None:
        """Look until there was no reader for a tick."""
        try:
            while self._readers:
                try:
                    newest = await db(_newest, list(self._readers))
                except Exception as error:
                    log.warning("feeds.not_read", error=repr(error))
                else:
                    self._wake(newest)
                await asyncio.sleep(settings.AGUI_HUB_TICK)
        finally:
            self._ticking = None

    def _wake(self, newest: dict[UUID, int]) -> None:
        for team, position in newest.items():
            if (now := (position, epochs.latest)) != self._newest.get(team):
                self._newest[team] = now
                for news in self._readers.get(team, ()):
                    news.set()


def _newest(teams: list[UUID]) -> dict[UUID, int]:
    for team in teams:
        feed.number(team)
    return {team: feed.bounds(team).newest for team in teams}


@functools.cache
def _feeds_of(loop: asyncio.AbstractEventLoop) -> Feeds:
    return Feeds()


class FeedSubscription:
    """A team's feed from a position on; it never ends by itself."""

    run: UUID | None = None
    in_full: bool = False

    def __init__(
        self,
        name: str,
        outgoing: Outgoing,
        window: int,
        position: Position,
        *,
        team: UUID,
        standing: Callable[[], Principal],
    ) -> None:
        self.name, self.details = name, dict[str, Any]()
        self.credit = FeedCredit(window)
        self._outgoing = outgoing
        self._position = position
        self._known = epochs.FIRST
        self._team = team
        self._standing = standing

    async def follow(self) -> End:
        """Send the entries; returns why no more will come."""
        try:
            with _feeds_of(asyncio.get_running_loop()).reading(self._team) as news:
                while True:
                    news.clear()
                    await self._send_all()
                    await news.wait()
        except Slow:
            return End.SLOW
        except Forbidden:
            return End.REVOKED
        except Reset as error:
            self.details = error.details
            return End.RESET

    async def refused(self) -> End:
        """It reads no run, so only the credential can be gone."""
        return End.REVOKED

    async def _send_all(self) -> None:
        while (page := await db_read(self._page)).position > self._position:
            entries = page.entries
            while entries:
                if not await self.credit.wait(settings.AGUI_STALL_TIMEOUT):
                    raise Slow
                most = min(self.credit.left, PIECE)
                await self._send(entries[:most])
                entries = entries[most:]
            self._position = page.position

    def _page(self) -> News:
        page = access_feed.page(self._standing(), self._position)
        if page.position == self._position or self._known != epochs.latest:
            newest = feed.bounds(self._team).newest
            if 0 < newest < self._position:  # old entries are swept, so 0 is no loss
                raise Reset.to(newest)
            if self._known != epochs.latest:
                feed.check(self._team, self._position, newest)
                self._known = epochs.latest
        return page

    async def _send(self, entries: list[dict[str, Any]]) -> None:
        self.credit.spend(entry["cursor"] for entry in entries)
        await self._outgoing.frames(
            [
                frames.notification(
                    "feed", subscription=self.name, **{**entry, "cursor": entry["cursor"].name}
                )
                for entry in entries
            ]
        )
