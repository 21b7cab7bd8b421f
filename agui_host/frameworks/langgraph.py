"""A LangGraph graph whose finished nodes are not run again when another worker continues its run.

Its checkpoints are in the host's PostgreSQL (``checkpoints.py``), each stored before the next node
begins. A further attempt calls the graph with None, so that it continues after its last checkpoint.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from typing import Any, cast
from weakref import WeakKeyDictionary

from ag_ui.core import EventType, MessagesSnapshotEvent
from ag_ui_langgraph import LangGraphAgent
from ag_ui_langgraph.utils import langchain_messages_to_agui
from django.conf import settings
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from agui_host.backends.postgres.base import session_parameters
from agui_host.backends.postgres.long_waits import NOT_FOR_A_STANDBY
from agui_host.frameworks import checkpoints
from agui_host.protocol.strict_json import dumps_sorted
from agui_host.runtimes.context.run_context import RunContext

MOST_CONNECTIONS = 8
"""Of one worker process, for the checkpoints of all its graphs."""
APPLICATION = "agui-checkpoints"
"""The name of these connections at PostgreSQL."""
RUN = "agui_run"
"""The member of a checkpoint's metadata that names the run by which it was made."""
# A transaction of checkpoints takes milliseconds. PostgreSQL waits for the rest of a pipeline for
# ever: if its process is frozen, the next attempt would wait for its rows. A worker that is given
# up has been silent for AGUI_WORKER_LOST_AFTER; one that is only busy keeps its transactions.
LET_GO = f"""
select pg_terminate_backend(pid) from pg_stat_activity
 where application_name = %s and datname = current_database() and usename = session_user
   and wait_event_type = 'Client' and xact_start < now() - make_interval(secs => %s)
   and {NOT_FOR_A_STANDBY}
"""  # noqa: S608

Pool = AsyncConnectionPool[AsyncConnection[DictRow]]
_pools: "WeakKeyDictionary[asyncio.AbstractEventLoop, Pool]" = WeakKeyDictionary()


async def checkpointer() -> AsyncPostgresSaver:
    """A checkpointer in the host's PostgreSQL; its connections are shared by this process."""
    loop = asyncio.get_running_loop()
    if loop not in _pools:
        _pools[loop] = pool = cast(
            Pool,
            AsyncConnectionPool(
                kwargs={
                    **session_parameters(), "autocommit": True, "prepare_threshold": None,
                    "row_factory": dict_row, "application_name": APPLICATION,
                },
                configure=_configure, min_size=0, max_size=MOST_CONNECTIONS, open=False,
            ),
        )  # fmt: skip
        await pool.open()
    return AsyncPostgresSaver(_pools[loop])


async def close() -> None:
    """Close the connections of this event loop."""
    if (pool := _pools.pop(asyncio.get_running_loop(), None)) is not None:
        await pool.close()


async def let_go() -> None:
    """End transactions of checkpoints whose processes are frozen or cut off."""
    async with cast(Pool, (await checkpointer()).conn).connection() as raw:
        await raw.execute(LET_GO, [APPLICATION, settings.AGUI_WORKER_LOST_AFTER / 2])


async def events(ctx: RunContext, graph: Any, **options: Any) -> AsyncIterator[Any]:
    """Run a StateGraph as the agent of this run, and continue it in a further attempt.

    ``graph`` is not compiled yet: it gets the host's checkpointer. ``options`` are those of
    ``LangGraphAgent``. Questions by ``interrupt()`` end the run with an interrupt.
    """
    options = {"emit_interrupt_outcome": True, **options}
    compiled = graph.compile(checkpointer=await checkpointer())
    key = checkpoints.key_of(ctx.team, ctx.thread_id, ctx.agent)
    # An attempt that brings answers has the runId of the run that asked.
    run = f"{ctx.run_id} {hashlib.sha256(dumps_sorted(ctx.resume).encode()).hexdigest()[:16]}"
    config = {"configurable": {"thread_id": key, RUN: run}}
    adapter = Continuing(name=ctx.agent or "graph", graph=compiled, config=config, **options)
    adapter.recovers = run if ctx.recovered else ""
    if ctx.recovered:
        await let_go()
        state = await compiled.aget_state({"configurable": {"thread_id": key}})
        if adapter.has_begun(state):
            # What the lost attempt had written of a node that is run again is taken back.
            messages = langchain_messages_to_agui(state.values.get("messages", []))
            yield MessagesSnapshotEvent(type=EventType.MESSAGES_SNAPSHOT, messages=messages)
    async for event in adapter.run(ctx.input.model_copy(update={"thread_id": key})):
        yield event


class Continuing(LangGraphAgent):  # type: ignore[misc]  # it has no types
    """The adapter, which gives a graph no input that a checkpoint of the same run contains."""

    recovers = ""

    def has_begun(self, state: Any) -> bool:
        """Whether the newest checkpoint was made by an earlier attempt of this run."""
        return bool(self.recovers and (state.metadata or {}).get(RUN) == self.recovers)

    async def prepare_stream(self, input: Any, agent_state: Any, config: Any) -> Any:
        """As the adapter's, and without an input for a graph that has it already."""
        if not self.has_begun(agent_state):
            return await super().prepare_stream(input, agent_state, config)
        config["configurable"]["thread_id"] = input.thread_id
        self.active_run["schema_keys"] = self.get_schema_keys(config)
        kwargs = self.get_stream_kwargs(input=None, config=config, subgraphs=True, version="v2")
        # ``next`` leaves out nodes whose results are stored, also if no checkpoint has them yet.
        stream = self.graph.astream_events(**kwargs) if agent_state.tasks else _nothing()
        return {"stream": stream, "state": dict(agent_state.values), "config": config}

    def get_stream_kwargs(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """As the adapter's; a node begins when the checkpoint before it is stored."""
        return {**super().get_stream_kwargs(*args, **kwargs), "durability": "sync"}


async def _configure(raw: AsyncConnection[Any]) -> None:
    await raw.execute(f"set search_path to {checkpoints.SCHEMA}")


async def _nothing() -> AsyncIterator[Any]:
    nothing: tuple[Any, ...] = ()
    for event in nothing:
        yield event
