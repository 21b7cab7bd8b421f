"""Effects whose worker leaves at a bad moment."""

import asyncio
from typing import Any

import pytest

from agui_host.runtimes.context.effects import EffectConflict, Effects, Memory


class Slow(Memory):
    """A store that waits in ``begin`` until it is freed."""

    def __init__(self) -> None:
        super().__init__()
        self.here, self.freed = asyncio.Event(), asyncio.Event()

    async def begin(self, key: str, digest: str, again: bool) -> Any:
        begun = await super().begin(key, digest, again)
        self.here.set()
        await self.freed.wait()
        return begun


async def test_a_worker_that_leaves_waits_for_an_effect_that_is_just_stored_as_started() -> None:
    """Or the next attempt would find it unverified, although nothing was called."""
    store = Slow()
    effects = Effects(store)
    effects.open()
    calling = asyncio.create_task(
        effects.once("charge", lambda: 42, "digest", "fail", lambda *_: None, lambda _: None)
    )
    await store.here.wait()
    leaving = asyncio.create_task(effects.settle(20))
    await asyncio.sleep(0)
    assert not leaving.done()
    store.freed.set()
    assert await calling == 42
    await leaving
    assert store.effects["charge"].status == "done"


async def test_it_waits_for_no_effect_that_was_refused() -> None:
    effects = Effects(Memory())
    effects.open()
    asked = ("fail", lambda *_: None, lambda _: None)
    await effects.once("k", lambda: 1, "one", *asked)
    with pytest.raises(EffectConflict):
        await effects.once("k", lambda: 1, "another", *asked)
    await asyncio.wait_for(effects.settle(60), 1)
