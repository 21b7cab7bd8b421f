"""The unread messages of a person who has lost access reach no agent."""

import asyncio

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.context.run_context import RunContext
from agui_host.teams import keys
from agui_host.teams.access import members
from agui_host.teams.models import ApiKey, Membership
from events.writer import JournalWriter
from runs.access import comments
from runs.models import Run
from tests.cast import Actor, Cast, Register, log_of, perform, start
from tests.runs.steering.test_messages import (
    DEADLINE,
    conversation,
    listed,
    send,
    user_message,
)

pytestmark = pytest.mark.django_db(transaction=True)


def remove(cast: Cast, actor: Actor) -> None:
    member = Membership.objects.for_team(cast.team).get(user=actor.user)
    members.remove(cast.alice.principal, member.pk)


def say(run: Run, actor: Actor, id: str) -> None:
    """As a person, in a browser."""
    comments.say(actor.principal, run.pk, id, f"from {actor.user}")


async def test_before_the_run_begins_and_in_the_next_run(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    async def agent(ctx: RunContext) -> str:
        return (await anext(aiter(ctx.inbox))).content

    row = await db(register, "one", agent)
    run = await db(start, cast.alice, row, threadId="t", messages=[user_message("Go.", "u1")])
    for actor, id in ((cast.bob, "b"), (cast.alice, "a"), (cast.bob, "b2")):
        await db(say, run, actor, id)
    await db(remove, cast, cast.bob)
    await perform(run, writer)
    assert conversation(await db(log_of, run))[-1] == ("assistant", "from alice")
    rows = {row["id"]: row for row in await db(listed, run, cast.alice)}
    assert rows["b"]["withdrawn_at"]
    assert rows["b"]["seen_seq"] is None
    assert not rows["a"]["withdrawn_at"]
    after = await db(start, cast.alice, threadId="t", messages=[user_message("More.", "u2")])
    await perform(after, writer)
    echoed = (await db(log_of, after))[0]["input"]["messages"]
    assert "b2" not in [message["id"] for message in echoed]


async def test_a_message_that_the_worker_has_already_got(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    asked, go = asyncio.Event(), asyncio.Event()

    async def agent(ctx: RunContext) -> str:
        while ctx.inbox.waiting < 2:
            await asyncio.sleep(0.01)
        asked.set()
        await go.wait()
        while ctx.inbox.waiting > 1:
            await asyncio.sleep(0.01)
        return (await anext(aiter(ctx.inbox))).content

    run = await db(start, cast.alice, await db(register, "slow", agent))
    working = asyncio.create_task(perform(run, writer))
    await send(run, cast.bob, "b", "from a key that is revoked")
    await send(run, cast.alice, "a", "from alice")
    await asyncio.wait_for(asked.wait(), DEADLINE)

    def revoke() -> None:
        row = ApiKey.objects.for_team(cast.team).get(prefix=cast.bob.key_prefix)
        keys.revoke(row, cast.alice.principal)

    await db(revoke)
    go.set()
    await asyncio.wait_for(working, DEADLINE)
    assert conversation(await db(log_of, run))[-1] == ("assistant", "from alice")
