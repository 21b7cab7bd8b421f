"""LangGraph's checkpoints in the host's PostgreSQL: their tables, and the key of a conversation.

They are in a schema apart, made by ``migrate`` where the extra ``langgraph`` is installed. A
conversation's checkpoints are erased with its thread, or when all of its runs have been purged.
"""

import hashlib
import importlib.util

from django.db import connection

from agui_host.backends.postgres import roles
from agui_host.backends.postgres.base import session_parameters

SCHEMA = "langgraph"
TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
PREFIX = "left(thread_id, 41)"
"""What ``_prefix`` gives, of a row."""
GRANT = """
do $$ begin
    if exists (select from pg_roles where rolname = '{role}') then
        grant usage on schema {schema} to "{role}";
        grant select, insert, update, delete on all tables in schema {schema} to "{role}";
    end if;
end $$
"""


def is_installed() -> bool:
    """Whether this process has LangGraph's checkpointer for PostgreSQL."""
    try:
        return importlib.util.find_spec("langgraph.checkpoint.postgres") is not None
    except ModuleNotFoundError:
        return False


def setup() -> None:
    """Make the tables, or bring them up to date; ``migrate`` calls it."""
    if not is_installed():
        return
    from langgraph.checkpoint.postgres import PostgresSaver
    from psycopg import connect
    from psycopg.rows import dict_row

    own = {"autocommit": True, "row_factory": dict_row}
    with connect(**{**session_parameters(), **own}) as raw:
        raw.execute(f"create schema if not exists {SCHEMA}")
        raw.execute(f"set search_path to {SCHEMA}")
        PostgresSaver(raw).setup()
        for table in TABLES:
            raw.execute(f"create index if not exists {table}_conversation on {table} ({PREFIX})")
        role = roles.name(raw.info.dbname, roles.APPLICATION)
        raw.execute(GRANT.format(role=role, schema=SCHEMA).encode())


def key_of(team: str, thread: str, agent: str) -> str:
    """The ``thread_id`` of an agent's conversation: those of other teams and agents differ."""
    return f"{_prefix(team, thread)}{agent}"


def forget(team: str, *threads: str) -> None:
    """Delete what the team's graphs have stored about these threads, by their clients' names."""
    with connection.cursor() as cursor:
        cursor.execute("select to_regclass(%s)", [f"{SCHEMA}.{TABLES[-1]}"])
        if cursor.fetchone()[0] is None:
            return
        prefixes = [_prefix(team, thread) for thread in threads]
        for table in TABLES:
            cursor.execute(f"delete from {SCHEMA}.{table} where {PREFIX} = any (%s)", [prefixes])  # noqa: S608


def _prefix(team: str, thread: str) -> str:
    return hashlib.sha256(f"{team}\0{thread}".encode(errors="replace")).hexdigest()[:40] + "/"
