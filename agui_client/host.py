"""HostClient: everything that a program does with runs of a host, over one socket.

Unlike AGUIClient it is no conversation: it starts any number of runs, follows them side by side,
answers their questions and cancels them, and is where it was after any break.
"""

import json
import ssl
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any
from urllib.parse import urljoin

import httpx

from agui_client.caller import Caller
from agui_client.connection import Connection
from agui_client.cursors import Cursor, Cursors
from agui_client.errors import OnReset, Reset
from agui_client.reading import Event, Numbered, request
from agui_client.subscription import Subscription

Run = dict[str, Any]
"""A run as the API shows it: ``id``, ``status``, ``run_id``, ``thread_id``, …"""
Interrupt = dict[str, Any]

ENDED = frozenset({"succeeded", "interrupted", "cancelled", "failed"})
FEED = "feed"
"""The feed's name among the cursors."""


class HostClient(Caller):
    """The runs of a team on the host at ``host``, such as ``https://agents.example.com``.

    ``timeout``: seconds for which the host can be away before ConnectionLost. ``cursors``: where
    the positions of the runs it follows are kept; with them, a program that was killed continues
    where it was. ``verify`` and ``http_client`` as for AGUIClient. ``window``: events of one run
    that can be under way at once. ``on_reset`` is called when the host's history went back, with
    the ``log`` whose events are then void: they come again from the first. Without it, Reset is
    raised, and the next call begins there. Every method can be called from many tasks.
    """

    def __init__(
        self,
        host: str,
        timeout: float = 60.0,
        *,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        cursors: Cursors | None = None,
        window: int = 256,
        verify: ssl.SSLContext | bool = True,
        http_client: httpx.AsyncClient | None = None,
        on_reset: OnReset | None = None,
    ) -> None:
        super().__init__(timeout, api_key, headers, verify, http_client)
        self._host = host
        self._timeout = timeout
        self._window = window
        self._cursors = cursors
        self._on_reset = on_reset
        address = urljoin(host, "/ws/").replace("http", "ws", 1)
        more = {**self._http.headers, **self._headers}
        self._connection = Connection(address, more, timeout=timeout, verify=verify)

    @property
    def sockets_opened(self) -> int:
        """How many sockets it took so far: one, and one for each break."""
        return self._connection.opens

    # --- runs

    async def start(
        self,
        agent: str | None = None,
        message: str | None = None,
        *,
        key: str | None = None,
        on_busy: str | None = None,
        **input: Any,
    ) -> Run:
        """Start a run; the same ``key`` is the same run, also from another process.

        ``agent``: its slug, by default the team's default agent. ``input``: more of RunAgentInput,
        such as ``threadId``, ``messages`` or ``forwardedProps``.
        """
        if message is not None:
            # Without an id, so that the same key goes with the same request in every process.
            input["messages"] = [
                *input.get("messages", []),
                {"role": "user", "content": message},
            ]
        params = {
            "agent": agent,
            "input": input,
            "on_busy": on_busy,
            "idempotency_key": key or str(uuid.uuid4()),
        }
        return dict((await self._connection.call("run.start", params))["run"])

    async def cancel(self, run_id: str) -> Run:
        """Stop a run; an ended run stays as it is."""
        return dict((await self._connection.call("run.cancel", {"run": run_id}))["run"])

    async def get(self, run_id: str) -> Run:
        """One run as it is now."""
        return dict(await self._get(f"runs/{run_id}"))

    async def list(self, **filters: Any) -> AsyncGenerator[Run, None]:
        """The team's runs, newest first, by filters such as ``status`` or ``thread_id``."""
        async for row in self._rows("runs", filters):
            yield row

    async def wait(self, run_id: str) -> Run:
        """The run once it has ended."""
        run = await self.get(run_id)
        if run["status"] not in ENDED:
            reading = self._subscription(
                "run.subscribe", {"run": run_id}, run["events"], cursor_of, on_reset=_nothing
            )
            async with aclosing(reading.read()) as events:
                async for _ in events:
                    pass
            run = await self.get(run_id)
        return run

    async def follow(
        self, run_id: str, after: Cursor | None = None
    ) -> AsyncGenerator[Numbered, None]:
        """The (seq, event) pairs of a run after ``after``, until it has ended.

        Without ``after`` from the position in ``cursors``, else from the start. An event counts as
        done when the next one is taken: an event whose handling was cut off comes again.
        """
        is_from_host = after is None
        if is_from_host:
            after = self._position(run_id)
        reading = self._subscription(
            "run.subscribe", {"run": run_id}, after or 0, cursor_of, name=run_id,
            is_from_host=is_from_host,
        )  # fmt: skip
        async with aclosing(reading.read()) as frames:
            async for frame in frames:
                yield frame["seq"], frame["event"]
                self._save(run_id, cursor_of(frame))

    async def follow_thread(
        self, thread_id: str, after: Cursor | Mapping[str, Any] | None = None
    ) -> AsyncGenerator[tuple[str, int, Event], None]:
        """The (run, seq, event) of a thread's runs, of now and later; it never ends.

        ``after``: 0 for all of them, or ``{"run", "seq"}`` of an event.
        """
        subscription = self._subscription(
            "thread.subscribe",
            {"thread_id": thread_id},
            after,
            lambda frame: {"run": frame["run"], "seq": cursor_of(frame)},
        )
        async with aclosing(subscription.read()) as frames:
            async for frame in frames:
                yield frame["run"], frame["seq"], frame["event"]

    async def feed(self, after: Cursor | None = None) -> AsyncGenerator[Event, None]:
        """What happens to the team's runs and questions; it never ends.

        Without ``after`` from the position in ``cursors``, else from now; 0: from the oldest.
        """
        is_from_host = after is None
        if is_from_host:
            after = self._position(FEED)
        subscription = self._subscription(
            "team.subscribe", {}, after, cursor_of, name=FEED, is_from_host=is_from_host
        )
        async with aclosing(subscription.read()) as frames:
            async for frame in frames:
                yield {name: value for name, value in frame.items() if name != "subscription"}
                self._save(FEED, cursor_of(frame))

    # --- questions

    async def inbox(self, status: str = "open", **filters: Any) -> AsyncGenerator[Interrupt, None]:
        """The questions of the team's runs, newest first."""
        async for row in self._rows("interrupts", {"status": status, **filters}):
            yield row

    async def answer(
        self, interrupt_id: str, payload: Any = None, *, status: str = "resolved"
    ) -> Run | None:
        """Answer a question; the run that brings the answer, or None while others are open."""
        params = {"interrupt": interrupt_id, "status": status, "payload": payload}
        run = (await self._connection.call("interrupt.answer", params))["run"]
        return None if run is None else dict(run)

    # ---

    async def close(self) -> None:
        """Leave; the runs continue."""
        await self._connection.close()
        await super().close()

    def _subscription(
        self,
        method: str,
        target: Event,
        after: Any,
        place: Callable[[Event], Any],
        *,
        name: str | None = None,
        on_reset: OnReset | None = None,
        is_from_host: bool = False,
    ) -> Subscription:
        """``name``: that of its position among the cursors."""

        def restart(reset: Reset) -> None:
            if name is not None and self._cursors is not None:
                self._cursors.restart(name)
            if self._on_reset is None:
                raise reset
            self._on_reset(reset)

        return Subscription(
            self._connection, method, target, after, window=self._window, place=place,
            on_reset=on_reset or restart, is_from_host=is_from_host,
        )  # fmt: skip

    def _position(self, name: str) -> Cursor | None:
        return None if self._cursors is None else self._cursors.get(name)

    def _save(self, name: str, position: Cursor) -> None:
        if self._cursors is not None:
            self._cursors.save(name, position)

    async def _rows(self, kind: str, query: Mapping[str, Any]) -> AsyncGenerator[Event, None]:
        url: str | None = urljoin(self._host, f"/api/v1/{kind}")
        while url is not None:
            page = await self._get(url, query)
            for row in page["results"]:
                yield row
            # The next page's address has the query in it; behind a proxy it can have another host.
            url = page["next"] and urljoin(self._host, httpx.URL(page["next"]).raw_path.decode())
            query = {}

    async def _get(self, path: str, query: Mapping[str, Any] | None = None) -> Any:
        url = urljoin(urljoin(self._host, "/api/v1/"), path)
        answer = await request(
            self._http, "GET", url, self._timeout, headers=self._headers, params=query or None
        )
        return json.loads(answer.content)


def cursor_of(frame: Event) -> Cursor:
    """The place of a frame; a host that names no cursor counts on the ``seq``."""
    cursor: Cursor = frame["cursor"] if "cursor" in frame else frame["seq"]
    return cursor


def _nothing(_: Reset) -> None:
    """A caller that waits for a run's end has read nothing that could be lost."""
