"""Effects: calls whose results a run keeps, so that a later attempt does not repeat them.

``ctx.once`` is made of these. A ``Store`` keeps the results: the host's is the database, and an
agent that runs without a host has a dictionary.
"""

import asyncio
import hashlib
import inspect
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol

from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.protocol.strict_json import dumps_ascii, dumps_sorted
from agui_host.runtimes.context.threads import in_thread

OnUnverified = Literal["retry", "ask", "fail"]
LONGEST_KEY = 200
MOST_BYTES = 1024 * 1024
"""Bytes of one effect's value, as JSON."""
MOST_BYTES_OF_A_RUN = 64 * 1024 * 1024
MOST_EFFECTS = 10_000
QUESTION = "effect_unverified"
"""The ``reason`` of the question whether an effect has happened."""
ANSWER = {
    "type": "object",
    "properties": {"happened": {"type": "boolean"}, "value": {}},
    "required": ["happened"],
}


class EffectConflict(RunFailed):
    """A key of ``ctx.once`` was used with other arguments before."""

    def __init__(self, key: str) -> None:
        super().__init__(
            RunErrorCode.EFFECT_CONFLICT,
            f"The effect {key!r} was called with other arguments before; each needs its own key.",
        )


class EffectTooLarge(RunFailed):
    """An effect's value, or all of a run's effects, are too large to be kept."""

    def __init__(self, message: str) -> None:
        super().__init__(RunErrorCode.EFFECT_TOO_LARGE, message)


class EffectUnverified(RunFailed):
    """An effect was started by an earlier attempt, which did not report its end."""

    def __init__(self, key: str) -> None:
        super().__init__(
            RunErrorCode.EFFECT_UNVERIFIED,
            f"The effect {key!r} was started, and its worker was lost: it may have happened.",
        )


class Begun(Protocol):
    """``status`` is ``new`` if the effect is to be called now; ``value`` that of a done one."""

    @property
    def status(self) -> str:
        """``new``, ``done`` or ``unverified``."""
        ...

    @property
    def digest(self) -> str:
        """Of the arguments with which the key was first used."""
        ...

    @property
    def value(self) -> str | None:
        """JSON."""
        ...


class Store(Protocol):
    """Where the effects of one attempt are kept."""

    async def earlier(self) -> tuple[set[str], int]:
        """The keys of effects that began before this attempt, and the bytes of their values."""
        ...

    async def begin(self, key: str, digest: str, again: bool) -> Begun:
        """Store that the effect has started; ``again``: although it is unverified."""
        ...

    async def end(self, key: str, value: str | None, failed: bool) -> None:
        """Store its end: the value, as JSON, or that it has failed."""
        ...


@dataclass(slots=True)
class Kept:
    """An effect in memory."""

    status: str
    digest: str
    value: str | None = None


class Memory:
    """A Store for an agent without a host."""

    def __init__(self) -> None:
        self.effects: dict[str, Kept] = {}

    async def earlier(self) -> tuple[set[str], int]:
        """As ``Store``."""
        return set(self.effects), 0

    async def begin(self, key: str, digest: str, again: bool) -> Begun:
        """As ``Store``."""
        effect = self.effects.get(key)
        if effect is None or (effect.digest == digest and effect.status != "done"):
            self.effects[key] = Kept("started", digest)
            return Kept("new", digest)
        return effect

    async def end(self, key: str, value: str | None, failed: bool) -> None:
        """As ``Store``."""
        self.effects[key].status = "failed" if failed else "done"
        self.effects[key].value = value


Ask = Callable[[str, str], object]
"""Asks people about an effect, by its key and the question's id; does not return."""
Answers = Callable[[str], Mapping[str, Any] | None]


class Effects:
    """The effects of one attempt, each called by one caller at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._keys: set[str] | None = None
        self._bytes = 0
        self._turns: dict[str, asyncio.Lock] = {}
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._leaving = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self.stored: Callable[[], Coroutine[Any, Any, None]] = _nothing
        """Returns when the events that the agent has sent so far are stored."""

    def open(self) -> None:
        """Bind to the running loop, for effects of plain agents in their threads."""
        self._loop = asyncio.get_running_loop()

    async def settle(self, seconds: float) -> None:
        """Begin no more effects, and wait for the running ones."""
        self._leaving = True
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            return

    async def once(
        self, key: str, call: Callable[[], Any], digest: str, policy: OnUnverified, ask: Ask,
        answers: Answers,
    ) -> Any:  # fmt: skip
        """The value of the effect ``key``, called if it is not done; in the loop's thread."""
        async with self._turns.setdefault(key, asyncio.Lock()):
            is_done, value = await self._begin(key, digest, policy, ask, answers)
            if is_done:
                return value
            storing = asyncio.ensure_future(self.stored())
            try:
                value = await _called(call)
            except Exception:
                await self._fail(key)
                raise
            except BaseException:
                self._leave()
                raise
            return await self._end(key, value, storing)

    def once_in_thread(
        self, key: str, call: Callable[[], Any], digest: str, policy: OnUnverified, ask: Ask,
        answers: Answers,
    ) -> Any:  # fmt: skip
        """As ``once``, called in the agent's own thread."""
        turn = self._turns.setdefault(key, asyncio.Lock())
        self._wait(turn.acquire())
        try:
            is_done, value = self._wait(self._begin(key, digest, policy, ask, answers))
            if is_done:
                return value
            storing = asyncio.run_coroutine_threadsafe(self.stored(), self._in_loop())
            try:
                value = call()
                if inspect.isawaitable(value):
                    value = self._wait(_awaited(value))
            except Exception:
                self._wait(self._fail(key))
                raise
            except BaseException:
                self._in_loop().call_soon_threadsafe(self._leave)
                raise
            return self._wait(self._end(key, value, asyncio.wrap_future(storing, loop=self._loop)))
        finally:
            self._in_loop().call_soon_threadsafe(turn.release)

    async def _begin(
        self, key: str, digest: str, policy: OnUnverified, ask: Ask, answers: Answers
    ) -> tuple[bool, Any]:
        """Whether the effect is done, and its value; if not, it has started."""
        if self._leaving:
            await asyncio.get_running_loop().create_future()  # Until this attempt is stopped.
        # Counted before it is stored, so that a worker that leaves at that moment waits for it.
        self._running += 1
        self._idle.clear()
        try:
            is_done, value = await self._start(key, digest, policy, ask, answers)
        except BaseException:
            self._leave()
            raise
        if is_done:
            self._leave()
        return is_done, value

    async def _start(
        self, key: str, digest: str, policy: OnUnverified, ask: Ask, answers: Answers
    ) -> tuple[bool, Any]:
        keys = await self._earlier()
        if key not in keys and len(keys) >= MOST_EFFECTS:
            raise EffectTooLarge(f"A run can have at most {MOST_EFFECTS:,} effects.")
        question = question_of(key)
        answer = answers(question)
        happened = None if answer is None else _happened(answer)
        begun = await self._store.begin(key, digest, policy == "retry" or happened is not None)
        if begun.digest != digest:
            raise EffectConflict(key)
        if begun.status == "done":
            return True, json.loads(begun.value or "null")
        if begun.status == "unverified":
            if policy == "ask":
                ask(key, question)
            raise EffectUnverified(key)
        keys.add(key)
        if happened is not None and happened[0]:
            return True, await self._keep(key, happened[1])
        return False, None

    async def _earlier(self) -> set[str]:
        """The keys of the run's effects, which are read before the first one."""
        if self._keys is None:
            keys, size = await self._store.earlier()
            if self._keys is None:  # or another effect was first
                self._keys, self._bytes = keys, size
        return self._keys

    async def _end(self, key: str, value: Any, stored: Awaitable[None]) -> Any:
        """Store the value after the events that were sent before the effect."""
        try:
            await stored
            return await self._keep(key, value)
        finally:
            self._leave()

    async def _keep(self, key: str, value: Any) -> Any:
        text = _as_json(key, value)
        if len(text) > MOST_BYTES:
            raise _too_large(key, len(text))
        self._bytes += len(text)
        if self._bytes > MOST_BYTES_OF_A_RUN:
            raise EffectTooLarge(
                f"The values of a run's effects can have {MOST_BYTES_OF_A_RUN:,} bytes in all."
            )
        await self._store.end(key, text, False)
        return json.loads(text)

    async def _fail(self, key: str) -> None:
        try:
            await self._store.end(key, None, True)
        finally:
            self._leave()

    def _leave(self) -> None:
        self._running -= 1
        if not self._running:
            self._idle.set()

    def _wait(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._in_loop()).result()

    def _in_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            raise RuntimeError("ctx.once works only while the agent runs")
        return self._loop


def digest_of(key: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """The digest of an effect's arguments. Raises TypeError or ValueError for unusable ones."""
    if not isinstance(key, str) or not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
        raise ValueError(f"an effect's key is text of 1 to {LONGEST_KEY} printable characters")
    try:
        text = dumps_sorted([args, kwargs])
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"the arguments of the effect {key!r} are not JSON ({error}): bind them with "
            "functools.partial, and name in the key whatever tells two calls apart"
        ) from None
    return hashlib.sha256(text.encode()).hexdigest()


def question_of(key: str) -> str:
    """The id of the question whether an effect has happened."""
    return f"effect-{hashlib.sha256(key.encode()).hexdigest()[:24]}"


def _too_large(key: str, size: int) -> EffectTooLarge:
    return EffectTooLarge(
        f"The value of the effect {key!r} has {size:,} bytes; at most {MOST_BYTES:,} are kept."
    )


def _happened(answer: Mapping[str, Any]) -> tuple[bool, Any]:
    payload = answer.get("payload")
    if answer.get("status") == "cancelled" or not isinstance(payload, dict):
        raise RunFailed(RunErrorCode.EFFECT_UNVERIFIED, "Nobody could tell if an effect happened.")
    return payload.get("happened") is True, payload.get("value")


def _as_json(key: str, value: Any) -> str:
    if isinstance(value, str) and len(value) > MOST_BYTES:
        raise _too_large(key, len(value))
    try:
        return dumps_ascii(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"the value of the effect {key!r} is not JSON ({error})") from None


async def _called(call: Callable[[], Any]) -> Any:
    """Its value: of an async function in this loop, of a plain one in a thread."""
    inner = call
    while isinstance(inner, partial):
        inner = inner.func
    value = call() if inspect.iscoroutinefunction(inner) else await in_thread(call)
    return await value if inspect.isawaitable(value) else value


async def _nothing() -> None:
    return


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value
