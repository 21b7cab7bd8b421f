"""Hydrating a thread: what it costs must follow its messages, not the number of its runs.

Two threads with the same 2,000 messages: 10 runs of 200, and 1,000 runs of 2; with
``HYDRATION_RUNS=10000`` the second has 10,000 runs and both 20,000 messages. Promise: the many
runs cost at most 1.2 times the few, once the history was brought up to date.
"""

import os
import statistics
import time
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")

FEW = 10
MANY = int(os.environ.get("HYDRATION_RUNS", "1000"))
ROUNDS = 15
PROMISE = 1.2


def thread_of(team: Any, agent: Any, name: str, runs: int, messages: int) -> Any:
    """A thread of ``runs`` ended runs with ``messages`` messages in all."""
    import uuid6
    from django.db import transaction
    from django.utils import timezone

    from agui_host.protocol.intake.intake import Intake
    from events import journal
    from events.journal import Batch
    from events.models import Journal
    from runs.models import Run, Status, Thread

    thread = Thread.objects.create(team=team, thread_id=name)
    for first in range(0, runs, 100):
        batches, journals, rows = [], [], []
        for number in range(first, min(runs, first + 100)):
            intake = Intake(name, f"run {number}")
            records = intake.start()
            for index in range(messages // runs):
                item = {"messageId": f"{number}-{index}"}
                records += intake.accept({"type": "TEXT_MESSAGE_START", **item})
                delta = {"type": "TEXT_MESSAGE_CONTENT", **item, "delta": "some words " * 5}
                records += intake.accept(delta)
                records += intake.accept({"type": "TEXT_MESSAGE_END", **item})
            records += intake.finish()
            log = Journal(id=uuid6.uuid7(), writer=1)
            journals.append(log)
            batches.append(Batch(log.pk, 1, 1, records))
            rows.append(
                Run(
                    journal=log, team=team, thread=thread, agent=agent, run_id=f"run {number}",
                    status=Status.SUCCEEDED, input="{}", request_digest="", started_by="bench",
                    ended_at=timezone.now(),
                )
            )  # fmt: skip
        with transaction.atomic():
            Journal.objects.bulk_create(journals)
            Run.objects.bulk_create(rows)
            journal.append(batches)
    return thread


def hydrate(thread: Any) -> float:
    from runs.lifecycle.logs import joining

    began = time.perf_counter()
    joined = joining.thread(thread.pk)
    seconds = time.perf_counter() - began
    assert joined is not None
    assert len(joined[0].opening) > 10_000
    return seconds


def main() -> None:
    import django

    from agui_host.embedded import embedded
    from benchmarks.report import keep

    embedded.ensure()
    django.setup()
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    from agui_host.runtimes.demo import ensure_demo
    from agui_host.runtimes.models import Agent
    from agui_host.teams.models import Team

    ensure_demo()
    team, stamp = Team.objects.get(), str(time.time())
    agent = Agent.objects.for_team(team).first()
    messages = 2 * MANY
    few = thread_of(team, agent, f"few {stamp}", FEW, messages)
    many = thread_of(team, agent, f"many {stamp}", MANY, messages)
    first = {thread: hydrate(thread) for thread in (few, many)}
    rounds = [(hydrate(few), hydrate(many)) for _ in range(ROUNDS)]
    short, long = (statistics.median(seconds) for seconds in zip(*rounds, strict=True))
    verdict = "kept" if long / short <= PROMISE else "BROKEN"
    keep(
        "hydration",
        [
            f"{messages} messages in {FEW:>5} runs  {short * 1000:>8.1f} ms"
            f"   the first time {first[few] * 1000:,.0f} ms",
            f"{messages} messages in {MANY:>5} runs  {long * 1000:>8.1f} ms"
            f"   the first time {first[many] * 1000:,.0f} ms",
            f"ratio {long / short:.2f}   promise {PROMISE}: {verdict}",
        ],
    )
    connection.close()
    connection.close_pool()


if __name__ == "__main__":
    main()
