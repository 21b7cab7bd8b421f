"""Places that teams take turns for: one team leaves room for others."""

import asyncio
from uuid import UUID, uuid4

from agui_host.backends.places import Places
from agui_host.backends.postgres import scope


async def hold(places: Places, team: UUID, begun: list[UUID], until: asyncio.Event) -> None:
    with scope.limited(team):
        async with places.taken():
            begun.append(team)
            await until.wait()


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_loud_team_leaves_a_place_to_a_quiet_one() -> None:
    places, begun, never, now = Places(2), list[UUID](), asyncio.Event(), asyncio.Event()
    loud, quiet = uuid4(), uuid4()
    stuck = [asyncio.create_task(hold(places, loud, begun, never)) for _ in range(9)]
    await settled()
    assert begun == [loud]
    now.set()
    await hold(places, quiet, begun, now)
    assert begun == [loud, quiet]
    for task in stuck:
        task.cancel()
    await asyncio.gather(*stuck, return_exceptions=True)
    await asyncio.gather(*(hold(places, loud, begun, now) for _ in range(9)))
    assert begun == [loud, quiet, *[loud] * 9]


async def test_teams_take_turns_and_who_is_cancelled_keeps_no_place() -> None:
    places, begun, gate = Places(1), list[UUID](), asyncio.Event()
    loud, quiet = uuid4(), uuid4()
    teams = [loud, loud, loud, quiet]
    tasks = [asyncio.create_task(hold(places, team, begun, gate)) for team in teams]
    await settled()
    tasks[1].cancel()
    gate.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert begun[0] == loud
    assert sorted(begun, key=str) == sorted([loud, loud, quiet], key=str)
    gone = asyncio.create_task(hold(places, loud, begun, gate))
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    await hold(places, quiet, begun, gate)
