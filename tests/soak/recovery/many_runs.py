"""A table of many runs, without the hours in which a team would make them."""

import psycopg

EVENTS = 3
"""Of each run, so a run has six rows: itself, its thread, its journal, and these."""
IDS = """
create temporary table past as
select n, (lpad(to_hex((extract(epoch from now()) * 1000)::bigint - n), 12, '0')
           || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid as run,
       gen_random_uuid() as thread
  from generate_series(1, %(runs)s) n
"""
# Whatever columns a commit has: those of the template, and others here. A function in the list of
# columns would be called for each of them.
ROWS = """
insert into {table}
select made.*
  from past, (select * from {table} where {key} = %(of)s {more} limit 1) template,
       jsonb_populate_record(null::{table}, to_jsonb(template) || {others}) made
"""
TABLES = (
    ("runs_thread", "id", "thread", "", """jsonb_build_object(
        'id', thread, 'team_id', %(team)s::text, 'thread_id', 'past ' || n, 'newest', run)"""),
    ("events_journal", "id", "run", "", "jsonb_build_object('id', run)"),
    ("runs_run", "journal_id", "run", "", """jsonb_build_object(
        'journal_id', run, 'thread_id', thread, 'team_id', %(team)s::text,
        'run_id', 'past ' || n, 'idempotency_key', null)"""),
    *(
        ("events_event", "journal_id", "run", f"and seq = {seq}",
         "jsonb_build_object('journal_id', run)")
        for seq in range(1, EVENTS + 1)
    ),
)  # fmt: skip


def multiply(where: str, run: str, team: str, count: int) -> int:
    """Give a team so many runs that are like this one; how many rows that are."""
    rows = 0
    with psycopg.connect(where) as link:
        link.execute("set session_replication_role = replica")  # no trigger counts them
        link.execute(IDS, {"runs": count})
        (thread,) = link.execute(
            "select thread_id from runs_run where journal_id = %s", [run]
        ).fetchone() or ("",)
        for table, key, kind, more, others in TABLES:
            statement = ROWS.format(table=table, key=key, more=more, others=others)
            of = thread if kind == "thread" else run
            rows += link.execute(statement, {"team": team, "of": of}).rowcount
    with psycopg.connect(where, autocommit=True) as link:
        link.execute("vacuum (analyze) runs_run")
    return rows
