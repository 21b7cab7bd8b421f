"""One socket to the run host, for any number of requests and subscriptions.

It opens when it is needed. When it breaks, it comes back: requests without an answer are sent
again, and subscriptions continue after the last event that was taken.
"""

import asyncio
import itertools
import json
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from agui_client.backoff import Backoff
from agui_client.errors import AGUIError, Broken, ConnectionLost, Refused, Reset
from agui_client.reading import AGAIN, Event
from agui_client.sockets import opened
from agui_client.subscription import Subscription

SUBPROTOCOL = "agui.host.v1"
Then = Callable[[Event], None]


class Connection:
    """``opens`` counts the sockets that it took."""

    def __init__(
        self,
        address: str,
        headers: Mapping[str, str],
        *,
        timeout: float,
        verify: ssl.SSLContext | bool,
    ) -> None:
        """``timeout``: seconds without the host before waiting callers get ConnectionLost."""
        self.opens = 0
        self._address = address
        self._headers = headers
        self._timeout = timeout
        self._verify = verify
        self._ids = itertools.count(1)
        self._calls: dict[int, _Call] = {}
        self._subscriptions: set[Subscription] = set()
        self._names: dict[str, Subscription] = {}
        self._socket: ClientConnection | None = None
        self._running: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def call(self, method: str, params: Event, then: Then | None = None) -> Event:
        """The result of a request that means the same each time it is sent.

        ``then`` gets the result before any later frame is read. Raises Refused, Untrusted,
        ConnectionLost.
        """
        backoff = Backoff(self._timeout)
        while True:
            try:
                return await self._ask(method, params, then)
            except Broken as error:
                await backoff.again(error)

    async def subscribe(self, subscription: Subscription) -> None:
        """Deliver its frames from its position on, until ``leave``."""
        self._subscriptions.add(subscription)
        await self.call(
            subscription.method,
            subscription.params(),
            lambda result: self._name(subscription, result),
        )

    def acknowledge(self, subscription: Subscription, position: Event) -> None:
        """Tell the host that everything up to here was taken."""
        if subscription.name is not None:
            self._send({"method": "ack", "params": {"subscription": subscription.name, **position}})

    def leave(self, subscription: Subscription) -> None:
        """No more frames of this one."""
        self._subscriptions.discard(subscription)
        name, subscription.name = subscription.name, None
        if name is not None and self._names.pop(name, None) is not None:
            self._unsubscribe(name)

    async def close(self) -> None:
        """Leave the host; what runs there continues."""
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running
        self._fail(ConnectionLost("The client was closed."))

    async def _ask(self, method: str, params: Event, then: Then | None) -> Event:
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run(), name="agui-connection")
        number = next(self._ids)
        call = _Call({"id": number, "method": method, "params": params}, then)
        self._calls[number] = call
        self._send(call.frame)
        try:
            return await call.answer
        finally:
            self._calls.pop(number, None)

    async def _run(self) -> None:
        backoff = Backoff(self._timeout)
        try:
            while True:
                try:
                    await self._session(backoff)
                except Broken as error:
                    await backoff.again(error)
        except AGUIError as error:
            self._fail(error)
        except Exception as error:
            self._fail(ConnectionLost(repr(error)))
            raise

    async def _session(self, backoff: Backoff) -> None:
        async with opened(
            self._address, self._headers, self._verify, subprotocol=SUBPROTOCOL
        ) as socket:
            self.opens += 1
            self._socket = socket
            try:
                self._begin()
                async for text in socket:
                    backoff.succeeded()
                    self._take(json.loads(text))
            finally:
                self._socket = None
        raise Broken("the host closed the socket")

    def _begin(self) -> None:
        self._names.clear()
        for call in self._calls.values():
            self._send(call.frame)
        for subscription in self._subscriptions:
            if subscription.name is not None:  # else its request is among the calls
                subscription.rewind()
                self._spawn(self._again(subscription))

    async def _again(self, subscription: Subscription) -> None:
        try:
            await self.subscribe(subscription)
        except AGUIError as error:
            subscription.fail(error)

    def _take(self, frame: Event) -> None:
        params = frame.get("params", {})
        if (call := self._calls.get(frame.get("id") or 0)) is not None:
            call.settle(frame)
        elif frame.get("method") == "end":
            if (ended := self._names.pop(params["subscription"], None)) is not None:
                ended.end(params)
        elif (subscription := self._names.get(params.get("subscription", ""))) is not None:
            subscription.put(params)

    def _name(self, subscription: Subscription, result: Event) -> None:
        if subscription in self._subscriptions:
            self._names[result["subscription"]] = subscription
            subscription.begin(result)
        else:
            self._unsubscribe(result["subscription"])

    def _unsubscribe(self, name: str) -> None:
        params = {"subscription": name}
        self._send({"id": f"leave {name}", "method": "unsubscribe", "params": params})

    def _send(self, frame: Event) -> None:
        if self._socket is not None:
            self._spawn(_sent(self._socket, json.dumps({"jsonrpc": "2.0", **frame})))

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _fail(self, error: AGUIError) -> None:
        for call in self._calls.values():
            call.fail(error)
        for subscription in list(self._subscriptions):
            subscription.fail(error)


class _Call:
    """A request on its way, over as many sockets as it takes."""

    def __init__(self, frame: Event, then: Then | None) -> None:
        self.frame = frame
        self.answer: asyncio.Future[Event] = asyncio.get_running_loop().create_future()
        self._then = then

    def settle(self, frame: Event) -> None:
        if self.answer.done():
            return
        if (error := frame.get("error")) is None:
            if self._then is not None:
                self._then(frame["result"])
            self.answer.set_result(frame["result"])
            return
        number, data = int(error["code"]), error.get("data") or {}
        if number in AGAIN:
            self.answer.set_exception(Broken(error["message"], float(data.get("retry_after", 0))))
        elif data.get("code") == "reset":
            self.answer.set_exception(Reset.of(data.get("details") or {}, number))
        else:
            refused = Refused(number, str(data.get("code", "")), error["message"])
            self.answer.set_exception(refused)

    def fail(self, error: AGUIError) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


async def _sent(socket: ClientConnection, text: str) -> None:
    with suppress(ConnectionClosed):  # the next socket gets it
        await socket.send(text)
