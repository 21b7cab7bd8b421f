"""Subscriptions: joined once for all who wait, mended and given back by the tick."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from channels.layers import channel_layers, get_channel_layer

from events import subscriptions
from events.subscriptions import Subscriptions


class Layer:
    """A layer that counts its calls, answers when it is let, and can be away."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.answers, self.away = asyncio.Event(), False
        self.answers.set()

    async def new_channel(self) -> str:
        await asyncio.sleep(0)
        self.calls.append(("new_channel", ""))
        return f"channel-{len(self.calls)}"

    async def group_add(self, group: str, channel: str) -> None:
        await self._called("group_add", group)

    async def group_discard(self, group: str, channel: str) -> None:
        await self._called("group_discard", group)

    async def hang_up_on_silence(self) -> None:
        """Nothing is silent here."""

    async def _called(self, verb: str, group: str) -> None:
        self.calls.append((verb, group))
        await self.answers.wait()
        if self.away:
            raise ConnectionError


@pytest.fixture
def layer(monkeypatch: pytest.MonkeyPatch) -> Layer:
    layer = Layer()
    monkeypatch.setattr(subscriptions, "get_channel_layer", lambda: layer)
    return layer


async def test_all_who_wait_for_a_group_share_one_call(layer: Layer) -> None:
    groups = Subscriptions()
    layer.answers.clear()
    joins = [asyncio.create_task(groups.join("a")) for _ in range(20)]
    await asyncio.sleep(0)
    layer.answers.set()
    await asyncio.gather(*joins)
    await groups.join("a")
    assert layer.calls == [("new_channel", ""), ("group_add", "a")]


async def test_whoever_leaves_takes_the_subscription_from_nobody_else(layer: Layer) -> None:
    groups = Subscriptions()
    layer.answers.clear()
    leaves, stays = (asyncio.create_task(groups.join("a")) for _ in range(2))
    while ("group_add", "a") not in layer.calls:
        await asyncio.sleep(0)
    leaves.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaves
    layer.answers.set()
    await asyncio.wait_for(stays, 30)
    assert layer.calls.count(("group_add", "a")) == 1


async def test_a_layer_that_is_away_fails_nobody_and_the_tick_joins_later(layer: Layer) -> None:
    groups = Subscriptions()
    layer.away = True
    await groups.join("a")
    await groups.settle({"a", "b"})
    assert layer.calls.count(("group_add", "a")) + layer.calls.count(("group_add", "b")) == 2, (
        "after the first failure the tick waits for the next one"
    )
    layer.away = False
    await groups.settle({"a", "b"})
    before = len(layer.calls)
    await groups.settle({"a", "b"})
    await groups.join("a")
    assert len(layer.calls) == before


async def test_the_tick_gives_back_what_nobody_reads(layer: Layer) -> None:
    groups = Subscriptions()
    await groups.join("a")
    await groups.join("b")
    await groups.settle({"b"})
    assert layer.calls[-1] == ("group_discard", "a")
    await groups.join("a")
    assert layer.calls[-1] == ("group_add", "a")


@pytest.fixture
async def real() -> AsyncIterator[Any]:
    yield get_channel_layer()
    await channel_layers["default"].flush()


async def test_what_is_sent_to_a_joined_group_arrives_on_the_one_channel(real: Any) -> None:
    groups = Subscriptions()
    await groups.join("one")
    await groups.join("two")
    for name in ("one", "two"):
        await real.group_send(name, {"type": "x", "from": name})
    channel = await groups.channel()
    messages = [await asyncio.wait_for(real.receive(channel), 30) for _ in range(2)]
    assert {message["from"] for message in messages} == {"one", "two"}
