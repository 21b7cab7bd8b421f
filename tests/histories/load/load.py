"""A team at work: conversations one after another, each with readers over several transports."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tests.histories.load import people
from tests.histories.load.ag_ui_wires import BY_ID, BY_NAME
from tests.histories.load.clients import Clients
from tests.histories.load.dialects import DIALECTS
from tests.histories.load.feeds import Feed
from tests.histories.load.one_socket import OneSocket
from tests.histories.load.producers import Producer
from tests.histories.load.readers import ONE_RUN, Reader, Sse
from tests.histories.load.starting import Order, Posted, Script

FED, REPEATABLE = "fed", "again"
"""Agents by slug: an external one, and one whose lost runs the host starts again."""
OF_ATTEMPTS: list[type[Reader]] = [*ONE_RUN, *BY_ID]
ALL = [*OF_ATTEMPTS, *BY_NAME]


@dataclass(frozen=True)
class Size:
    """How much load: conversations at a time, readers and deltas of a run, deltas a second."""

    conversations: int = 4
    readers: int = 4
    deltas: int = 60
    rate: int = 20


class Load:
    """Starts conversations until it ``is_over``, and ends when each of its readers has ended."""

    def __init__(self, clients: Clients, size: Size, is_over: Callable[[], bool]) -> None:
        self.clients, self.size, self.chance = clients, size, clients.chance
        self.is_over = is_over
        self.socket = OneSocket(clients)
        self.feeds = [Feed(clients, 0), Feed(clients, None)]
        self.tasks: set[asyncio.Task[None]] = set()
        # So that each history has each of them.
        self.transports, self.dialects = list(ALL), list(DIALECTS)
        self.first = [self._posted, self._fed, self._answered]
        self.first += [self._dialect for _ in DIALECTS]

    async def work(self, patience: float = 180.0) -> None:
        """``patience``: how many seconds readers may take after the last start."""
        working = [self._spawn(self.socket.work()), *(self._spawn(f.read()) for f in self.feeds)]
        conversations = (self._converse() for _ in range(self.size.conversations))
        await asyncio.gather(self._watch(patience), *conversations)
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while left := self.tasks - set(working):
                    await asyncio.wait(left)
        await self.socket.close()
        for feed in self.feeds:
            feed.stopping = True
        await asyncio.gather(*working, return_exceptions=True)

    async def _watch(self, patience: float) -> None:
        while not self.is_over():
            await asyncio.sleep(0.5)
        self.clients.last_moment = time.monotonic() + patience

    async def read_whole_feed(self) -> None:
        await Feed(self.clients, 0, whole=True).read()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: "asyncio.Task[None]") -> None:
        self.tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self.clients.refused.append(repr(error))

    async def _converse(self) -> None:
        kinds = [
            self._plain, self._plain, self._posted, self._cancelled, self._failing,
            self._repeatable, self._repeatable, self._fed, self._answered,
            *(self._dialect for _ in DIALECTS),
        ]  # fmt: skip
        while not self.is_over():
            with suppress(TimeoutError):
                await (self.first.pop() if self.first else self.chance.choice(kinds))()

    def _order(self, script: Script, agent: str | None = None) -> Order:
        name = self.clients.name("order")
        return Order(self.clients, script, key=name, thread=f"thread of {name}", agent=agent)

    def _text(self) -> Script:
        deltas = self.chance.randint(1, self.size.deltas)
        rate = self.size.rate * self.chance.choice([1, 1, 5])
        return [{"text": "x", "n": deltas, "rate": rate, "pad": self.chance.randint(0, 300)}]

    async def _read(self, run: str, kinds: list[type[Reader]] = ALL) -> None:
        """Several readers at once, of which some begin late and some leave."""
        tasks = []
        most = self.size.readers
        first = [self.transports.pop() for _ in self.transports[:most]] if kinds is ALL else []
        others = [self.chance.choice(kinds) for _ in range(self.chance.randint(1, most))]
        for kind in first or others:
            reader = kind(self.clients, run)
            if self.chance.random() < 0.1:
                reader.leaves_at = self.chance.randint(2, self.size.deltas)
            tasks.append(self._spawn(self._later(reader.read())))
        await self.socket.subscribe(run)
        await asyncio.gather(*tasks, Sse(self.clients, run).read())

    async def _later(self, work: Coroutine[Any, Any, None]) -> None:
        await asyncio.sleep(self.chance.choice([0, 0, 0, self.chance.uniform(0, 5)]))
        await work

    async def _plain(self) -> None:
        order = self._order(self._text())
        run = await (order.twice() if self.chance.random() < 0.5 else order.start())
        await self._read(run)

    async def _posted(self) -> None:
        posted = Posted(self._order(self._text()))
        reading = self._spawn(posted.read())
        await self._read(await posted.started)
        await asyncio.wait({reading})

    async def _cancelled(self) -> None:
        order = self._order([*self._text(), {"sleep": 60}])
        run = await order.start()
        reading = self._spawn(self._read(run))
        await asyncio.sleep(self.chance.uniform(0, 2))

        async def cancel() -> Any:
            async with self.clients.http() as client:
                return await client.post(f"/api/v1/runs/{run}/cancel")

        await self.clients.insist(cancel)
        await asyncio.wait({reading})

    async def _failing(self) -> None:
        await self._read(await self._order([*self._text(), {"raise": "on purpose"}]).start())

    async def _repeatable(self) -> None:
        """The host starts it again if it loses its worker."""
        await self._read(await self._order(self._text(), REPEATABLE).start(), OF_ATTEMPTS)

    async def _fed(self) -> None:
        order = self._order([], FED)
        run = await order.start()
        reading = self._spawn(self._read(run))
        await Producer(order, run).work()
        await asyncio.wait({reading})

    async def _answered(self) -> None:
        run = await self._order([*self._text(), {"interrupt": {"reason": "confirm"}}]).start()
        await self._read(run)
        for question in await people.questions_of(self.clients, run):
            for following in await people.answer_all(self.clients, question):
                await self._read(following)

    async def _dialect(self) -> None:
        kind = self.dialects.pop() if self.dialects else self.chance.choice(DIALECTS)
        await kind(self._order(self._text())).read()
