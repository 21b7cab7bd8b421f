"""A graph whose run is continued: finished nodes are not run again, and no text is doubled."""

import asyncio
import re
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection
from procrastinate.contrib.django.utils import connector_params
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from agui_host.frameworks import checkpoints
from agui_host.protocol.fold.fold import Fold
from events.writer import JournalWriter
from runs.lifecycle.deletion import erasure
from runs.models import Run, Thread
from tests.cast import Cast, Register, start
from tests.house.repository import ROOT
from tests.needs import need_module
from tests.runs.playing import settled
from tests.runs.recovery.lost import Workers, lose

need_module("ag_ui_langgraph")
need_module("langgraph.checkpoint.postgres")
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore:`get_config_jsonschema` is deprecated"),
]


WAITING = """
select pid from pg_locks where relation = 'langgraph.checkpoints'::regclass and not granted
"""


def stored(team: str, thread: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "select count(*) from langgraph.checkpoints where starts_with(thread_id, %s)",
            [checkpoints.key_of(team, thread, "")],
        )
        return int(cursor.fetchone()[0])


@pytest.fixture
async def workers(cast: Cast, register: Register, writer: JournalWriter, tmp_path: Path) -> Any:
    from agui_host.frameworks import langgraph
    from tests.acceptance.recovery.kinds.two_nodes import two_nodes

    async def begin(stops_at: str, thread: str = "t") -> Workers:
        def prepare() -> Run:
            agent = register(f"nodes-{thread}", two_nodes, recovery="continue")
            props = {"folder": str(tmp_path), "stops_at": stops_at}
            words = [{"id": "u", "role": "user", "content": "Find it"}]
            return start(
                cast.alice, agent, threadId=thread, runId="r", messages=words, forwardedProps=props
            )

        made = Workers(await db(prepare), writer)
        await made.take()
        return made

    await db(checkpoints.setup)
    yield begin
    await langgraph.close()


def texts(log: list[dict[str, Any]]) -> list[tuple[str, str]]:
    fold = Fold()
    for event in log:
        fold.feed(event)
    return [(message["role"], message["content"]) for message in fold.messages]


@pytest.mark.parametrize(
    ("point", "tools"),
    [
        ("before", ["first", "second"]),
        ("first", ["first", "first", "second"]),
        ("between", ["first", "second"]),
        ("second", ["first", "second", "second"]),
        ("sending", ["first", "second", "second"]),
    ],
)
async def test_it_continues_after_its_last_checkpoint(
    workers: Any, tmp_path: Path, point: str, tools: list[str]
) -> None:
    from tests.acceptance.recovery.kinds.two_nodes import ANSWER, FACTS

    made = await workers(point)
    async with asyncio.timeout(20):
        while not (tmp_path / "fired").exists():
            await asyncio.sleep(0.01)
    first = made.task
    assert await db(lose, made.run)
    first.cancel()
    await asyncio.wait({first}, timeout=20)
    await made.take()
    run, log = await settled(await made.to_the_end())
    assert run.status == "succeeded", log[-1]
    assert (tmp_path / "tools").read_text().split() == tools
    assert texts(log) == [("user", "Find it"), ("assistant", FACTS), ("assistant", ANSWER)]


async def test_it_is_lost_between_a_nodes_result_and_the_next_checkpoint(
    workers: Any, tmp_path: Path
) -> None:
    """The result is stored, so the node is not run again; the nodes after it are run."""
    from tests.acceptance.recovery.kinds import two_nodes

    made = await workers("first")
    async with asyncio.timeout(20):
        while not (tmp_path / "fired").exists():
            await asyncio.sleep(0.01)
        with psycopg.connect(**connector_params()) as other:
            other.execute("lock table langgraph.checkpoints in share mode")
            *_, world = two_nodes.worlds.values()
            world.released.set()
            while (waiting := other.execute(WAITING).fetchone()) is None:
                await asyncio.sleep(0.01)
            assert await db(lose, made.run)
            other.execute("select pg_terminate_backend(%s)", waiting)
            await asyncio.wait({made.task})
    await made.take()
    run, log = await settled(await made.to_the_end())
    assert run.status == "succeeded", log[-1]
    assert (tmp_path / "tools").read_text().split() == ["first", "second"]
    assert [text for _, text in texts(log)] == ["Find it", two_nodes.FACTS, two_nodes.ANSWER]


async def test_its_checkpoints_are_erased_with_the_thread(workers: Any, cast: Cast) -> None:
    team = str(cast.team.pk)
    for thread in ("t", "u"):
        made = await workers("", thread)
        await settled(await made.to_the_end())
        assert await db(stored, team, thread) > 1

    def erase() -> None:
        erasure.erase_thread("host", Thread.objects.get(team=cast.team, thread_id="t"))

    await db(erase)
    assert await db(stored, team, "t") == 0
    assert await db(stored, team, "u") > 1
    assert await db(stored, str(cast.other_team.pk), "u") == 0


async def test_the_guides_example(cast: Cast, register: Register, writer: JournalWriter) -> None:
    from agui_host.frameworks import langgraph
    from agui_host.runtimes import registry

    page = (ROOT / "docs" / "howto-durable.md").read_text()
    (example,) = (code for code in re.findall(r"```python\n(.*?)```", page, re.S) if "look" in code)
    exec(example, {"__name__": "example"})  # noqa: S102
    target = registry.get("looking").target

    def prepare() -> Run:
        agent = register("from-the-guide", target)
        return start(cast.alice, agent, messages=[{"id": "u", "role": "user", "content": "Look"}])

    await db(checkpoints.setup)
    workers = Workers(await db(prepare), writer)
    await workers.take()
    _, log = await settled(await workers.to_the_end())
    assert texts(log) == [("user", "Look"), ("assistant", "I have looked.")]
    await langgraph.close()


async def test_a_frozen_worker_keeps_no_rows(workers: Any, settings: Settings) -> None:
    """It was frozen before the end of a transaction, for whose rows the next attempt would wait."""
    from agui_host.frameworks import langgraph

    settings.AGUI_WORKER_LOST_AFTER = 600.0
    pool: Any = (await langgraph.checkpointer()).conn
    write = (
        "insert into checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx,"
        " channel, blob) values ('frozen', '', 'c', 't', 0, 'x', '') on conflict do nothing"
    )
    frozen = await pool.getconn()
    await frozen.execute("begin")
    await frozen.execute(write)
    async with pool.connection() as next_attempt, asyncio.timeout(20):
        waiting = asyncio.create_task(next_attempt.execute(write))
        await asyncio.sleep(0)
        await langgraph.let_go()
        assert (await frozen.execute("select 1")).rowcount == 1, "a busy worker keeps its rows"
        settings.AGUI_WORKER_LOST_AFTER = 1.0
        while not waiting.done():
            await langgraph.let_go()
            await asyncio.sleep(0.1)
        assert (await waiting).rowcount == 1
        await next_attempt.execute("delete from checkpoint_writes where thread_id = 'frozen'")
    await pool.putconn(frozen)
