"""Finding runs: each filter of the runs list, for a team that has RUNS runs (a million).

Each run has its face (question and answer), tokens and cost; one in 40 is rated. As the
application's role, so that PostgreSQL's policies apply. The promise: 150 ms at the 95th percentile
for any single filter, on the first page and on one that is far back; the same for whole answers of
the API, and for the list as people get it. The first of each TIMES + 1 requests can read from the
disk and compiles templates, so it does not count. A data directory (``AGUI_DATA_DIR``) that an
earlier call has filled is measured as it is.
"""

import importlib
import os
import time
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any

from benchmarks.inspector.filling import in_bulk

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")
os.environ["AGUI_DATABASE_DEADLINE"] = "3600"  # to fill in the rows takes longer than a request may

RUNS = int(os.environ.get("RUNS", "1000000"))
TIMES = int(os.environ.get("TIMES", "20"))
PROMISE = 0.150
DAYS = 365
THREADS = """
insert into runs_thread (id, team_id, thread_id, created_by, visibility, title, tags)
select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, %(team)s, 'thread-' || n, '',
       'team', 'Order ' || n,
       case when n %% 100 = 0 then array['vip'] when n = 7 then array['once'] else '{}' end
  from generate_series(0, %(runs)s / 10) n
"""
NEWEST = """
update runs_thread thread set newest = last.run
  from (select distinct on (thread_id) thread_id, journal_id as run
          from runs_run where team_id = %(team)s order by thread_id, journal_id desc) last
 where thread.id = last.thread_id
"""
FINDINGS = """
insert into events_finding (journal_id, seq, rule, action, times)
select journal_id, 1, 'message', 'repaired', 1
  from runs_run where team_id = %(team)s and right(run_id, 2) = '00'
"""
FILL = """
with made as (
    select n, now() - (%(days)s * interval '1 day') * (1 - n::float / %(runs)s) as at
      from generate_series(1, %(runs)s) n
), named as (
    select n, at, (
        lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0')
        || '7' || lpad(to_hex(n %% 4096), 3, '0') || '8' || lpad(to_hex(n), 15, '0'))::uuid as id
      from made
), journals as (
    insert into events_journal (id, head, writer, bytes, closed_at)
    select id, 10, 1, 1000, at from named
)
insert into runs_run (
    journal_id, team_id, thread_id, agent_id, run_id, attempt, tries, status, input,
    request_digest, started_by, starter, created_at, started_at, ended_at, error_code,
    error_message, asked, answered, tool_calls, tokens_in, tokens_out, cost, ttft_ms)
select id, %(team)s, ('00000000-0000-7000-8000-' || lpad((n / 10)::text, 12, '0'))::uuid,
       case when n = 100 then %(rare_agent)s else %(agent)s end, 'run-' || n, 1, 1,
       case when n %% 50 = 0 then 'failed' else 'succeeded' end, '{}', 'x', 'user:' || n %% 10,
       '', at, at, at + (n %% 20) * interval '1 second',
       case when n %% 50 > 0 then '' when n %% 50000 = 0 then 'timeout' else 'agent_error' end,
       case when n %% 50 > 0 then '' else 'Stripe says: insufficient funds for order ' || n end,
       rpad('Why was order ' || n || ' charged twice? ', 50 + n %% 150, 'Please look. '),
       rpad('Order ' || n || ' was charged once. ', 50 + n %% 150, 'The other was returned. '),
       n %% 7, 500 + n %% 1000, 100 + n %% 300, (n %% 100) / 1000.0, 200 + n %% 3000
  from named
"""
RATED = """
insert into runs_feedback (team_id, run_id, author, writer, thumb, text, updated_at)
select team_id, journal_id, 'user:finder', 'user:1',
       case when right(run_id, 2) = '00' then 'down' else 'up' end, '', now()
  from runs_run where team_id = %(team)s and substr(run_id, 5)::int %% 40 = 0
"""


# Each run has the words of its names, and SPOKEN of a vocabulary in which a word is the rarer the
# greater its number: w1 is in nearly every run, w40000 in few. Besides, there are words that a
# planner may misjudge: in every second run, and in none of the newer half.
SPOKEN, VOCABULARY = int(os.environ.get("SPOKEN", "60")), 50_000
WORDS = """
insert into runs_runwords (run_id, team_id, due, words)
select journal_id, team_id, 0, array_to_tsvector((
           select array_agg(distinct %(prefix)s || word) from (
               select 'w' || floor(exp(random() * ln(%(vocabulary)s)))::int
                 from generate_series(1, %(spoken)s) where run.n is not null
               union all select unnest(array[
                   'run', 'thread', 'order', run.n::text, (run.n / 10)::text,
                   case when run.n %% 2 = 0 then 'even' else 'odd' end,
                   case when run.n < %(runs)s / 2 then 'early' else 'late' end])
               union all select unnest(array['stripe', 'says', 'insufficient', 'funds', 'for'])
                where run.n %% 50 = 0
               union all select 'unique' where run.n = 77
               union all select format('#%%s.%%s', level, run.minute >> (2 * level))
                from generate_series(0, %(top)s) level) said (word)))
  from (select journal_id, team_id, substr(run_id, 5)::int as n,
               ('x' || left(replace(journal_id::text, '-', ''), 12))::bit(48)::bigint / 60000
                   as minute
          from runs_run where team_id = %(team)s) run
"""
TABLES = (
    "runs_run", "runs_runwords", "events_journal", "runs_thread", "events_finding", "runs_feedback",
)  # fmt: skip


def fill() -> Any:
    """A team with that many runs of the last year; its owner, as a Principal."""
    from django.contrib.auth.models import User
    from django.db import connection

    from agui_host.runtimes import create_team
    from agui_host.runtimes.models import Agent
    from agui_host.teams.authentication import Principal
    from agui_host.teams.models import Membership, Role, Team
    from runs.lifecycle.words import cut, stretches

    if (filled := Team.objects.filter(slug="finding").first()) is not None:
        user = User.objects.get(username="finder")
        return Principal("user", "finder", filled, Role.OWNER, user.pk)
    team = create_team.create_team("finding", "Finding")
    agent = Agent.objects.create(team=team, slug="billing", name="Billing")
    rare = Agent.objects.create(team=team, slug="rare", name="Rare")
    user = User.objects.create_user("finder")
    Membership.objects.create(team=team, user=user, role=Role.OWNER)
    values = {
        "runs": RUNS, "days": DAYS, "team": team.pk, "agent": agent.pk, "rare_agent": rare.pk,
        "prefix": cut.lexemes(team.pk, [""])[0], "spoken": SPOKEN, "vocabulary": VOCABULARY,
        "top": stretches.LEVELS[-1],
    }  # fmt: skip
    with connection.cursor() as cursor, in_bulk(cursor, TABLES):
        for statement in (THREADS, FILL, NEWEST, RATED, FINDINGS, WORDS):
            cursor.execute(statement, values)
    return Principal("user", "finder", team, Role.OWNER, user.pk)


def queries() -> dict[str, str]:
    """Addresses by what they filter for."""
    now = datetime.now(UTC)

    def ago(days: float) -> str:
        return f"{now - timedelta(days=days):%Y-%m-%dT%H:%M:%SZ}"

    return {
        "nothing": "",
        "since an hour": "since=1h",
        "until a year ago, less a day": f"until={ago(DAYS - 1)}",
        "one day of half a year ago": f"since={ago(180)}&until={ago(179)}",
        "status": "status=failed",
        "status that no run has": "status=cancelled",
        "error": "error=agent_error",
        "rare error": "error=timeout",
        "unknown error": "error=no_such_code",
        "error and an old day": f"error=agent_error&since={ago(300)}&until={ago(299)}",
        "agent": "agent=billing",
        "agent with one old run": "agent=rare",
        "agent that does not exist": "agent=nobody",
        "thread": "thread_id=thread-50",
        "run": "run_id=run-77",
        "run that does not exist": "run_id=nothing",
        "person": "started_by=user:3",
        "person without runs": "started_by=user:nobody",
        "tag": "tag=vip",
        "tag of one old thread": "tag=once",
        "by duration": "sort=span",
        "by cost, of a status": "sort=cost&status=failed",
        "by cost, with a text": "sort=cost&q=w20",
        "length": "took=>18s",
        "length that no run has": "took=>1h",
        "findings": "findings=yes",
        "without findings": "findings=no",
        "rated up": "thumb=up",
        "rated down": "thumb=down",
        "rated, and a person": "thumb=down&started_by=user:3",
        "rated, on an old day": f"thumb=up&since={ago(180)}&until={ago(179)}",
        "text": 'q="insufficient funds"',
        "text that no run has": "q=unheard",
        "text of one old run": "q=unique",
        "words of every run": "q=run order thread",
        "a word of nearly every run": "q=w1",
        "a common word": "q=w20",
        "a word of a few thousand runs": "q=w800",
        "a rare word": "q=w40000",
        "a common word and a rare one": "q=w2 w30000",
        "two common words of the same runs": "q=w3 w5",
        "text and status": "q=w20&status=failed",
        "text and an old day": f"q=w1&since={ago(180)}&until={ago(179)}",
        "text since nearly a year": f"q=insufficient funds&since={ago(360)}",
        "text and rare error": "q=funds&error=timeout",
        "text and agent": "q=w20&agent=billing",
        "text and agent with one old run": "q=w1&agent=rare",
        "text and tag": "q=w20&tag=vip",
        "text and rated": "q=w20&thumb=down",
        "rare word and length": "q=w40000&took=>10s",
        "common words, never together": "q=odd even",
        "a common word of old runs only": "q=early",
    }


WHOLE = (
    "/api/v1/runs?limit=50", "/api/v1/runs?limit=50&thumb=up", "/api/v1/runs?limit=50&q=w800",
    "/api/v1/runs?limit=50&agent=billing&status=failed", "/runs/", "/runs/?q=thumb:down",
    '/runs/?q="insufficient funds"',
)  # fmt: skip
"""Addresses whose whole answers are measured: queries, serializing, rendering."""


def main() -> None:
    import django

    from agui_host.embedded import embedded
    from benchmarks.report import keep, percentile
    from benchmarks.row_security import switch

    embedded.ensure()
    django.setup()
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.db import connection
    from django.http import QueryDict
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from agui_host.backends import interpreter
    from agui_host.backends.postgres import scope
    from agui_host.dashboard import listing
    from runs.api.listing import search

    call_command("migrate", verbosity=0)
    switch(False)
    principal = fill()
    switch(True)
    importlib.import_module(settings.ROOT_URLCONF)
    interpreter.settle()  # as a web process does, once all is imported
    lines, rows_kept = [], []
    with scope.limited(principal.team.pk):
        for name, address in queries().items():
            seconds, rows, queries_made = [], 0, set()
            for _ in range(TIMES + 1):
                began = time.perf_counter()
                with CaptureQueriesContext(connection) as captured:
                    matches = search.matching(principal, QueryDict(address))
                    page = listing.page(principal, matches)
                    listing.histogram_of(matches)
                seconds.append(time.perf_counter() - began)
                rows = len(page.runs)
                queries_made.add(len(captured))
            del seconds[0]
            late = percentile(seconds, 0.95)
            verdict = "kept" if late <= PROMISE else "BROKEN"
            lines.append(
                f"{name:33} {rows:>3} rows   median {median(seconds) * 1e3:>6.1f} ms"
                f"   p95 {late * 1e3:>6.1f} ms"
                f"   {max(queries_made)} queries   {verdict}"
            )
            print(lines[-1], flush=True)  # a page of a busy machine takes its time
            rows_kept.append(
                {
                    "filter": name,
                    "address": address,
                    "rows": rows,
                    "median_ms": round(median(seconds) * 1e3, 1),
                    "p95_ms": round(late * 1e3, 1),
                    "queries": sorted(queries_made),
                }
            )
    browser = Client(headers={"host": "localhost"})
    browser.force_login(User.objects.get(pk=principal.user_id))
    for address in WHOLE:
        seconds = []
        for _ in range(TIMES + 1):
            began = time.perf_counter()
            answer = browser.get(address)
            seconds.append(time.perf_counter() - began)
            assert answer.status_code == 200, answer.content[:300]
        late = percentile(seconds[1:], 0.95)  # the first compiles templates
        verdict = "kept" if late <= PROMISE else "BROKEN"
        lines.append(
            f"GET {address:51} median {median(seconds[1:]) * 1e3:>6.1f} ms"
            f"   p95 {late * 1e3:>6.1f} ms   {verdict}"
        )
        rows_kept.append({"address": address, "p95_ms": round(late * 1e3, 1)})
    keep("find_runs", [f"{RUNS:,} runs", *lines], rows_kept)
    switch(False)


if __name__ == "__main__":
    main()
