"""A conversation whose client sends all messages with each turn: the database ÷ its text.

``python -m benchmarks.sizes.conversation [TURNS KB]``: by default 40 turns of 50 KB, half of it
the question, half the answer, of letters that do not compress. Room that is left behind counts:
nothing but the database's own autovacuum frees it. It also prints what starts and claims took.
"""

import base64
import os
import random
import statistics
import sys
import time
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")

TABLES = """
select relname, pg_total_relation_size(oid) from pg_class
 where relkind = 'r' and relnamespace = 'public'::regnamespace
"""


def words(size: int) -> str:
    return base64.b64encode(random.randbytes(size)).decode()[:size]


def turn(team: Any, agent: Any, messages: list[Any], number: int, half: int) -> tuple[float, float]:
    """One turn, whose client sends all before it; the seconds of its start and of its claim."""
    from django.db import transaction

    from agui_host.protocol.input import run_agent_input
    from agui_host.protocol.intake.intake import Intake
    from events import journal
    from runs.lifecycle import lifecycle

    messages.append({"id": f"u{number}", "role": "user", "content": words(half)})
    request = run_agent_input.parse(
        {"threadId": messages[0]["content"][:20], "messages": list(messages)}
    )
    began = time.perf_counter()
    run = lifecycle.start(team, agent, request, started_by="bench").run
    started = time.perf_counter()
    claimed = lifecycle.claim(run.pk)
    claims = time.perf_counter() - started
    assert claimed
    prepared, thread = claimed.prepared, claimed.run.thread.thread_id
    assert len(prepared.input["messages"]) == len(messages)
    intake = Intake(thread, run.run_id, input=prepared.echo, history=prepared.history)
    name = {"messageId": f"a{number}"}
    answer = words(half)
    records = intake.start()
    records += intake.accept({"type": "TEXT_MESSAGE_START", **name, "role": "assistant"})
    for place in range(0, half, 256):
        delta = answer[place : place + 256]
        records += intake.accept({"type": "TEXT_MESSAGE_CONTENT", **name, "delta": delta})
    records += intake.accept({"type": "TEXT_MESSAGE_END", **name})
    records += intake.finish()
    claim = claimed.claim
    with transaction.atomic():
        journal.append([journal.Batch(run.pk, claim.generation, claim.head + 1, records)])
    assert intake.terminal
    lifecycle.finish(run.pk, intake.terminal)
    messages.append({"id": f"a{number}", "role": "assistant", "content": answer})
    return started - began, claims


def main() -> None:
    import django

    from agui_host.embedded import embedded
    from benchmarks.report import keep

    turns, kilobytes = (int(word) for word in (sys.argv[1:] or ("40", "50")))
    embedded.ensure()
    django.setup()
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    from agui_host.runtimes.demo import ensure_demo
    from agui_host.runtimes.models import Agent
    from agui_host.teams.models import Team

    ensure_demo()
    team = Team.objects.get()
    agent = Agent.objects.for_team(team).first()

    def sizes() -> tuple[int, dict[str, int]]:
        with connection.cursor() as cursor:
            cursor.execute("select pg_database_size(current_database())")
            total = cursor.fetchone()[0]
            cursor.execute(TABLES)
            return total, dict(cursor.fetchall())

    half = kilobytes * 500
    turn(team, agent, [], 0, half)  # so that each table has its first pages
    before, tables = sizes()
    messages: list[Any] = []
    seconds = [turn(team, agent, messages, number, half) for number in range(turns)]
    after, tables_after = sizes()
    text = sum(len(message["content"]) for message in messages)
    grows = after - before
    grown = {name: size - tables.get(name, 0) for name, size in tables_after.items()}
    largest = sorted(grown.items(), key=lambda pair: -pair[1])[:6]
    last = seconds[-max(1, turns // 8) :]
    starts, claims = ([1000 * each for each in column] for column in zip(*last, strict=True))
    keep(
        "conversation",
        [
            f"{turns} turns of {kilobytes} KB, all sent each time: {text / 1e6:.2f} MB of text",
            f"database {grows / 1e6:,.1f} MB more: {grows / text:.1f} × the text",
            *(f"{name:<24}{size / 1e6:>8.1f} MB" for name, size in largest),
            f"of the last turns: start {statistics.median(starts):.1f} ms,"
            f" claim {statistics.median(claims):.1f} ms (medians)",
        ],
    )
    connection.close()
    connection.close_pool()


if __name__ == "__main__":
    main()
