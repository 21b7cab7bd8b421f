"""The team's feed: every change once, in an order that never changes, for those who may see it."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from agui_host.teams import keys
from agui_host.teams.models import ApiKey
from events.writer import JournalWriter
from runs.lifecycle import feed, lifecycle
from runs.lifecycle.deletion import erasure
from runs.models import FeedEntry, Run, Thread, Visibility
from tests.cast import Cast, LiveRun, start
from tests.together import together
from tests.web.calling import Peer, calling

pytestmark = pytest.mark.django_db(transaction=True)


async def news(peer: Peer, many: int) -> list[dict[str, Any]]:
    return [await peer.params("feed") for _ in range(many)]


def types(entries: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(entry["run"], entry["type"]) for entry in entries]


@pytest.fixture(autouse=True)
def _often(settings: Settings) -> None:
    settings.AGUI_HUB_TICK = 0.05


async def test_every_change_of_runs_and_questions(cast: Cast, writer: JournalWriter) -> None:
    async with calling(cast.alice.headers) as peer:
        opened = await peer.call("team.subscribe")
        asking = await LiveRun.begin(await db(start, cast.bob, threadId="t"), writer)
        await asking.ask("q")
        question = await db(asking.run.interrupts.get)
        params = {"interrupt": str(question.pk), "status": "resolved", "payload": 1}
        answering = (await peer.call("interrupt.answer", **params))["run"]["id"]
        await peer.call("run.cancel", run=answering)
        one = str(asking.run.pk)
        entries = await news(peer, 8)
    assert types(entries[:4]) == [
        (one, "run.created"), (one, "run.started"), (one, "run.interrupted"),
        (one, "interrupt.opened"),
    ]  # fmt: skip
    assert sorted(types(entries[4:6])) == sorted(
        [(one, "interrupt.answered"), (answering, "run.created")]
    )
    # Its answer was never acted on, so the question is open again.
    assert sorted(types(entries[6:])) == sorted(
        [(answering, "run.cancelled"), (one, "interrupt.opened")]
    )
    cursors = [entry["cursor"] for entry in entries]
    assert cursors == sorted(set(cursors))
    assert opened["cursor"] < cursors[0]
    assert {entry["subscription"] for entry in entries} == {opened["subscription"]}
    assert entries[0]["thread_id"] == "t"
    assert entries[0]["agent"] == "echo"
    assert entries[3]["interrupt"] == str(question.pk)


async def test_a_cursor_continues_after_its_entry(cast: Cast, bell: None) -> None:
    runs = [str((await db(start, cast.alice)).pk) for _ in range(3)]
    async with calling(cast.alice.headers) as peer:
        assert (await peer.call("team.subscribe", after=0))["cursor"] == 0
        entries = await news(peer, 3)
        assert types(entries) == [(run, "run.created") for run in runs]
        first, newest = entries[0]["cursor"], entries[-1]["cursor"]
        assert await peer.refused("team.subscribe", after=newest + 1) == "bad_cursor"
        assert await peer.refused("team.subscribe", after="x") == "bad_cursor"
    async with calling(cast.vera.headers) as peer:
        await peer.call("team.subscribe", after=first)
        assert await news(peer, 2) == entries[1:]
        await db(FeedEntry.objects.update, at=timezone.now() - timedelta(days=31))
        late = await db(start, cast.alice)
        assert await db(feed.sweep) == 3
        assert types(await news(peer, 1)) == [(str(late.pk), "run.created")]
        assert await peer.refused("team.subscribe", after=first) == "purged"


def end(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(status="cancelled", ended_at=timezone.now())


async def test_an_entry_that_is_committed_late_is_not_skipped(cast: Cast, bell: None) -> None:
    """Its id is lower than that of an entry which a reader has already; its position is not."""
    early, late = await db(start, cast.alice), await db(start, cast.alice)
    async with calling(cast.alice.headers) as peer:
        cursor = (await peer.call("team.subscribe"))["cursor"]

        inside, may_commit = threading.Event(), threading.Event()

        def commits_late() -> None:
            with transaction.atomic():
                end(early)
                inside.set()
                assert may_commit.wait(30)

        def overtakes() -> None:
            assert inside.wait(30)
            end(late)
            feed.number(cast.team.pk)
            assert feed.bounds(cast.team.pk).newest > cursor
            may_commit.set()

        assert await db(together, commits_late, overtakes) == [None, None]
        entries = await news(peer, 2)
        assert types(entries) == [
            (str(late.pk), "run.cancelled"), (str(early.pk), "run.cancelled"),
        ]  # fmt: skip
        assert cursor < entries[0]["cursor"] < entries[1]["cursor"]
    rows = await db(lambda: list(FeedEntry.objects.filter(status="cancelled").order_by("id")))
    assert [row.run_id for row in rows] == [early.pk, late.pk]


async def test_of_private_threads_only_those_who_see_them_are_types(cast: Cast, bell: None) -> None:
    async with calling(cast.alice.headers) as alice, calling(cast.vera.headers) as vera:
        await alice.call("team.subscribe")
        await vera.call("team.subscribe")
        private = await db(start, cast.alice, threadId="private")
        await alice.note("feed")
        await vera.note("feed")
        await db(Thread.objects.filter(thread_id="private").update, visibility=Visibility.PRIVATE)
        await db(lifecycle.cancel, private)
        shared = await db(start, cast.bob, threadId="open")
        assert types(await news(vera, 1)) == [(str(shared.pk), "run.created")]


async def test_another_team_has_a_feed_of_its_own(cast: Cast, bell: None) -> None:
    await db(start, cast.alice)
    async with calling(cast.charlie.headers) as peer:
        await peer.call("team.subscribe", after=0)
        mine = await db(start, cast.charlie)
        assert types(await news(peer, 1)) == [(str(mine.pk), "run.created")]


async def test_credit_and_revocation(cast: Cast, bell: None) -> None:
    for _ in range(3):
        await db(start, cast.alice)
    async with calling(cast.bob.headers) as peer:
        name = (await peer.call("team.subscribe", after=0, window=2))["subscription"]
        entries = await news(peer, 2)
        await peer.call("ping")
        assert peer.notes == []
        await peer.notify("ack", subscription=name, seq=entries[-1]["cursor"] + 100)
        assert (await peer.next())["error"]["data"]["code"] == "invalid"
        await peer.notify("ack", subscription=name, cursor=entries[-1]["cursor"])
        await news(peer, 1)
        await db(lambda: keys.revoke(ApiKey.objects.get(name="bob")))
        assert await peer.closed() == 4403
        assert peer.notes[-1]["params"] == {"subscription": name, "reason": "revoked"}


async def test_erased_runs_leave_the_feed(cast: Cast, bell: None) -> None:
    run = await db(start, cast.alice)
    await db(lifecycle.cancel, run)
    await db(feed.number, cast.team.pk)
    await db(erasure.erase_thread, "test", run.thread)
    assert not await db(FeedEntry.objects.exists)
    assert not await db(Run.objects.exists)


def test_each_entry_draws_one_number(cast: Cast) -> None:
    """Also by a plan that looks at the new entries once for each row of the table."""
    start(cast.alice, threadId="a", runId="r")
    with connection.cursor() as cursor:
        cursor.execute("analyze runs_feedentry")  # it has one row, so such a plan looks cheap
    for name in "bcd":
        start(cast.alice, threadId=name, runId="r")
    feed.number(cast.team.pk)
    numbered = FeedEntry.objects.of_any_team().filter(team=cast.team).order_by("pk")
    positions = [entry.position for entry in numbered]
    first = positions[0]
    assert first is not None
    assert positions == list(range(first, first + 4))
