"""One open socket: its caller, its subscriptions, and the checks of its rights to read."""

import asyncio
from collections.abc import Coroutine, Mapping, Set
from types import MappingProxyType
from typing import Any
from uuid import UUID

from agui_host.backends.postgres.bridge import db_read
from agui_host.errors import NotFound, Unauthenticated
from agui_host.protocol.input.numbers import whole
from agui_host.teams import authentication, revocation
from agui_host.teams.authentication import Principal
from agui_host.teams.limits import LimitReached
from agui_host.web.host_socket import frames
from agui_host.web.host_socket.outgoing import Outgoing
from agui_host.web.host_socket.receipts import Receipts
from agui_host.web.host_socket.subscriptions import End, Subscription, ThreadSubscription
from agui_host.web.host_socket.threads import Threads
from events import recheck
from runs.access import access, sight

MOST_SUBSCRIPTIONS = 1_000


class Room:
    """What one socket holds; ``close`` ends all of it.

    ``over`` is done when the socket has to close: with an error of the host, or with None once the
    caller's credential is gone.
    """

    def __init__(self, principal: Principal, outgoing: Outgoing, every: float) -> None:
        """``every``: seconds between two checks of the caller's access."""
        self.principal = principal
        self.outgoing = outgoing
        self.threads = Threads(self.standing)
        self.receipts = Receipts(outgoing, self.standing)
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._every = every
        self._number = 0
        self._taken = 0
        self._subscriptions: dict[str, Subscription] = {}
        self._following: dict[str, asyncio.Task[None]] = {}
        self._watched: set[UUID | str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._watch(principal.team.pk)

    def standing(self) -> Principal:
        """The caller with its rights as they are now. Raises Unauthenticated; queries."""
        return authentication.current(self.principal)

    async def close(self) -> None:
        """End all subscriptions and checks."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if not self.over.cancel() and not self.over.cancelled():
            self.over.exception()  # it was raised, or came while the socket closed anyway

    # --- subscriptions

    def take_place(self) -> str:
        """The name of a new subscription: ``begin`` it, or ``give_back``. Raises LimitReached."""
        if self._taken >= MOST_SUBSCRIPTIONS:
            raise LimitReached(
                f"A socket has at most {MOST_SUBSCRIPTIONS:,} subscriptions.",
                details={"limit": "socket_subscriptions", "max": MOST_SUBSCRIPTIONS},
            )
        self._taken += 1
        self._number += 1
        return f"s{self._number}"

    def give_back(self) -> None:
        """Give back the place of an ended subscription."""
        self._taken -= 1

    def begin(self, subscription: Subscription, owner: UUID) -> None:
        """Send its events from now on; ``owner`` is the team that owns its runs."""
        name = subscription.name
        self._subscriptions[name] = subscription
        self._following[name] = self._spawn(self._follow(subscription))
        self._watch(owner)
        self._once("soon", self._check_soon())
        if isinstance(subscription, ThreadSubscription):
            self._once("threads", self.threads.watch(self._of_threads))

    def wait_for(self, run: UUID, seq: int) -> None:
        """Notify the client once a message that it has sent is read, or never will be."""
        self.receipts.add(run, seq)
        self._once("receipts", self.receipts.watch())

    async def end(self, name: str) -> None:
        """End a subscription without an ``end``. Raises NotFound if there never was one."""
        if not self._existed(name):
            raise NotFound("This socket has no such subscription.")
        await self._stop(name)

    def acknowledge(self, name: str, run: UUID | None, seq: int) -> None:
        """Raises NotFound and Invalid; ignored if the subscription has already ended."""
        if (subscription := self._subscriptions.get(name)) is not None:
            subscription.credit.acknowledge(run, seq)
        elif not self._existed(name):
            raise NotFound("This socket has no such subscription.")

    def _existed(self, name: str) -> bool:
        number = name.removeprefix("s")
        return whole(number, 1, self._number) is not None

    def _of_threads(self) -> list[ThreadSubscription]:
        subscriptions = self._subscriptions.values()
        return [each for each in subscriptions if isinstance(each, ThreadSubscription)]

    async def _follow(self, subscription: Subscription) -> None:
        try:
            reason = await subscription.follow()
        except Unauthenticated:
            reason = End.REVOKED
        self._forget(subscription.name)
        await self._announce_end(subscription.name, reason, subscription.details)

    async def _announce_end(
        self, name: str, reason: End, details: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        notification = frames.notification("end", subscription=name, reason=reason, **details)
        await self.outgoing.answer(notification)

    async def _stop(self, name: str) -> None:
        task = self._following.get(name)
        self._forget(name)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    def _forget(self, name: str) -> None:
        self._following.pop(name, None)
        if self._subscriptions.pop(name, None) is not None:
            self._taken -= 1

    # --- checks

    def _watch(self, team: UUID) -> None:
        """Re-check access when this team's rights change, and at intervals."""
        self._once(team, self._until_refused(team))

    async def _until_refused(self, team: UUID) -> None:
        await recheck.until_refused({revocation.group(team)}, self._check, self._every)
        if not self.over.done():
            self.over.set_result(None)

    async def _check_soon(self) -> None:
        # A right could have been taken away just before its notification could reach the new
        # subscription.
        await asyncio.sleep(recheck.SOON)
        self._watched.discard("soon")
        await self._check()

    async def _check(self) -> bool:
        """End the subscriptions that the caller can no longer read; False without a credential."""
        runs = {name: each.run for name, each in self._subscriptions.items() if each.run}
        in_full = {run for name, run in runs.items() if self._subscriptions[name].in_full}
        readable = await db_read(self._readable, set(runs.values()), in_full)
        if readable is None:
            lost = list(self._subscriptions)
        else:
            lost = [name for name, run in runs.items() if run not in readable]
        for name in lost:
            if (subscription := self._subscriptions.get(name)) is not None:
                await self._stop(name)
                reason = await subscription.refused()
                await self._announce_end(name, reason, subscription.details)
        return readable is not None

    def _readable(self, runs: Set[UUID], in_full: Set[UUID]) -> set[UUID] | None:
        """Those of the runs that can still be sent as they are, some ``in_full``."""
        if authentication.refreshed(self.principal) is None:
            return None
        readable = access.readable(self.principal, runs)
        lost = in_full - sight.seen_whole(self.principal, in_full) if in_full else set()
        return readable - lost

    # --- tasks

    def _once(self, key: UUID | str, work: Coroutine[Any, Any, None]) -> None:
        if key in self._watched:
            work.close()
            return
        self._watched.add(key)
        self._spawn(work)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) and not self.over.done():
            # A reader of a socket that closes comes back with its cursors, as after any cut.
            self.over.set_exception(error)
