"""Uploads of several teams: each has its turn, and its bytes are charged to it."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any
from uuid import UUID, uuid4

import pytest

from agui_host.backends import metrics, work
from agui_host.errors import Overloaded
from agui_host.web.asgi import application
from agui_host.web.consumers.files import places, upload
from tests.asgi import http_scope
from tests.cast import Cast
from tests.runs.files.attaching import posted, uploaded

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("bell")]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "PATIENCE", 0.05)


async def stand(stack: AsyncExitStack, team: UUID) -> None:
    """Begin as many uploads of a team as it gets without waiting."""
    while places.places().has_room(str(team)):
        await stack.enter_async_context(places.taken(team))


async def test_standing_uploads_of_eight_teams_refuse_no_other_team(
    cast: Cast, impatient: None
) -> None:
    """Neither its first upload nor a second one beside it."""
    async with AsyncExitStack() as standing:
        for _ in range(8):
            await stand(standing, uuid4())
        async with places.taken(cast.team.pk):
            await uploaded(cast.alice.headers)


async def test_other_teams_uploads_never_keep_out_a_teams_only_one(
    cast: Cast, impatient: None
) -> None:
    async with AsyncExitStack() as standing:
        for _ in range(places.AT_ONCE):
            await stand(standing, uuid4())
        assert places.places().free <= 0
        await uploaded(cast.alice.headers)
        await standing.enter_async_context(places.taken(cast.team.pk))
        second = await posted(cast.alice.headers, b"x", "a.txt", "text/plain")
        assert (second.status, second.code) == (503, "overloaded")


async def test_who_waits_gets_the_next_place_in_its_teams_turn(cast: Cast) -> None:
    loud, begun = uuid4(), list[UUID]()

    async def begin(team: UUID) -> None:
        async with places.taken(team):
            begun.append(team)

    async with AsyncExitStack() as standing, AsyncExitStack() as last:
        await stand(standing, loud)
        for _ in range(places.AT_ONCE):
            await stand(standing, uuid4())
        await last.enter_async_context(places.taken(cast.team.pk))
        tasks = [asyncio.create_task(begin(loud)) for _ in range(places.WAITING)]
        while places.places().waiting(str(loud)) < places.WAITING:
            await asyncio.sleep(0)
        with pytest.raises(Overloaded):
            await begin(loud)
        second = asyncio.create_task(uploaded(cast.alice.headers))
        while not places.places().waiting(str(cast.team.pk)):
            await asyncio.sleep(0)
        assert begun == []
        await standing.aclose()
        await second
        await asyncio.gather(*tasks)
    assert places.places().free == places.AT_ONCE


async def test_a_team_that_continues_none_of_its_uploads_leaves_room(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, impatient: None
) -> None:
    monkeypatch.setattr(places, "OF_A_TEAM", 1)
    going, held_back = asyncio.Event(), asyncio.Event()

    async def receive() -> Any:
        going.set()
        await held_back.wait()
        return {"type": "http.request", "body": b"hello", "more_body": False}

    statuses: list[int] = []

    async def send(message: Any) -> None:
        statuses.append(message.get("status", 0))

    scope = http_scope("POST", "/api/v1/files?name=a.txt", cast.alice.headers)
    slow = asyncio.create_task(application(scope, receive, send))
    await asyncio.wait_for(going.wait(), 30)
    second = await posted(cast.alice.headers, b"x", "a.txt", "text/plain")
    assert (second.status, second.code) == (503, "overloaded")
    await uploaded(cast.charlie.headers)
    held_back.set()
    await asyncio.wait_for(slow, 30)
    assert statuses[0] == 201


def charged(cast: Cast) -> float:
    labels = {"team": str(cast.team.pk), "kind": "upload"}
    return metrics.REGISTRY.get_sample_value("agui_team_work_total", labels) or 0.0


async def test_bytes_are_charged_to_the_team(cast: Cast) -> None:
    await uploaded(cast.alice.headers, b"x" * 1_000_000)
    assert charged(cast) >= 1_000_000 // upload.UNIT_BYTES


async def test_a_team_above_its_share_is_refused(cast: Cast) -> None:
    work.charge(cast.team.pk, "upload", int(work.SHARE * (work.BURST + 30)))
    answer = await posted(cast.alice.headers, b"x", "a.txt", "text/plain")
    assert (answer.status, answer.code) == (429, "limit_reached")
    assert answer.json["error"]["details"]["limit"] == "work"
    await uploaded(cast.charlie.headers)


async def test_a_body_of_a_team_in_debt_is_read_more_slowly(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    debts, pauses = [0.001, 0.001], list[float]()
    monkeypatch.setattr(work, "debt", lambda team: debts.pop() if pauses and debts else 0.0)
    charge = work.charge
    monkeypatch.setattr(
        work,
        "charge",
        lambda team, kind, amount: (pauses.append(amount), charge(team, kind, amount))[-1],
    )
    pieces = [(b"a", True), (b"b", False)]

    async def receive() -> Any:
        assert not (pauses and debts), "a piece was read while the team was in debt"
        body, more = pieces.pop(0)
        return {"type": "http.request", "body": body, "more_body": more}

    statuses: list[int] = []

    async def send(message: Any) -> None:
        statuses.append(message.get("status", 0))

    scope = http_scope("POST", "/api/v1/files?name=a.txt", cast.alice.headers)
    await asyncio.wait_for(application(scope, receive, send), 30)
    assert statuses[0] == 201
    assert (pieces, debts) == ([], [])
