"""Procrastinate's tasks, the chores: storing outlines, and periodic work."""

import asyncio
import time
from typing import Any
from uuid import UUID

import structlog
from django.contrib.sessions.backends.db import SessionStore
from procrastinate import JobContext, RetryStrategy
from procrastinate.contrib.django import app
from procrastinate.middleware import SyncCallNext
from procrastinate.worker import Worker
from prometheus_client import Counter

from agui_host.backends import metrics
from agui_host.backends.postgres.bridge import db, db_read
from agui_host.backends.postgres.deadlines import LONGEST, allowing
from events import outlines, partitions
from runs.access.alerts import checking
from runs.access.notices import warnings
from runs.lifecycle import admission, interrupts, jobs
from runs.lifecycle.budgets import spending
from runs.lifecycle.deletion import retention, sealing
from runs.lifecycle.files import uploads
from runs.lifecycle.insight import storing as insight
from runs.lifecycle.insight import tool_days
from runs.lifecycle.usage import rollup
from runs.lifecycle.webhooks import deliveries
from runs.lifecycle.words import faces, storing

log = structlog.get_logger(__name__)
LEAVING = "leaving"
OUTLINE_REST = 2.0
"""Seconds of rest for each second of folding: live runs share the processor and the interpreter."""
PURGE_SECONDS, SWEEP_SECONDS, SEAL_SECONDS = 600.0, 45.0, 240.0
# A full disk or an absent database must not cost a purge its quarter of an hour, or the nightly
# tasks their night. The tasks of every minute need no retries: the next one is sooner.
AGAIN = RetryStrategy(max_attempts=20, wait=20)


@app.task(name=jobs.TASK, queue=jobs.QUEUE, pass_context=True)
async def execute_run(context: JobContext, run_id: str, traceparent: str | None = None) -> None:
    """A job that was made for workers of the previous release: its run is due here."""
    await db(jobs.pass_on, UUID(run_id), context.job.id, traceparent)


@app.task(name=jobs.OUTLINE, queue=jobs.QUEUE, pass_context=True)
async def store_outline(context: JobContext, journal_id: str) -> None:
    """Store the outline of a long run that has ended; a worker that is to stop leaves the rest."""
    storing = outlines.Storing(UUID(journal_id))
    began = time.monotonic()
    while await db_read(storing.step):
        if context.additional_context[LEAVING]():
            await db(jobs.store_outline, storing.journal_id, outlines.WORTH_STORING)
            return
        await asyncio.sleep(OUTLINE_REST * (time.monotonic() - began))
        began = time.monotonic()


def failures_of(task: str) -> Counter:
    """The counter of a task's failures. Workers make it at their start, so it begins at 0."""
    return metrics.chore_failures.labels(task.rpartition(".")[2])


def count_failures(call_next: SyncCallNext, context: JobContext, worker: Worker) -> Any:
    """Count a periodic task that fails."""
    try:
        return call_next()
    except Exception:
        failures_of(context.job.task_name).inc()
        raise


@app.periodic(cron="* * * * *")
@app.task(name="runs.tasks.expire_interrupts", queue=jobs.QUEUE, queueing_lock="interrupts")
def expire_interrupts(timestamp: int) -> None:
    """Expire the questions that were not answered in time."""
    if expired := interrupts.expire():
        log.info("interrupts.expired", count=expired)


@app.periodic(cron="*/15 * * * *")
@app.task(
    name="runs.tasks.purge_what_is_over",
    queue=jobs.QUEUE,
    queueing_lock="retention",
    lock="retention",
    retry=AGAIN,
)
def purge_what_is_over(timestamp: int) -> None:
    """Purge by the teams' retention, and drop the months that are left empty."""
    with allowing(LONGEST):
        retention.run_once(seconds=PURGE_SECONDS)


@app.periodic(cron="* * * * *")
@app.task(name="runs.tasks.sweep_erased", queue=jobs.QUEUE, queueing_lock="sweep", lock="sweep")
def sweep_erased(timestamp: int) -> None:
    """Delete rows of erased logs."""
    with allowing(LONGEST):
        retention.sweep(time.monotonic() + SWEEP_SECONDS)


@app.periodic(cron="*/5 * * * *")
@app.task(
    name="runs.tasks.seal_old_logs",
    queue=jobs.QUEUE,
    queueing_lock="seals",
    lock="seals",
    retry=AGAIN,
    pass_context=True,
)
def seal_old_logs(context: JobContext, timestamp: int) -> None:
    """Move logs of long ago to the file store, and delete erased ones from it."""
    with allowing(LONGEST):
        sealing.run_once(SEAL_SECONDS, context.additional_context[LEAVING])


@app.periodic(cron="* * * * *")
@app.task(name="runs.tasks.sweep_webhooks", queue=jobs.QUEUE, queueing_lock="webhooks")
def sweep_webhooks(timestamp: int) -> None:
    """Disable webhooks whose backlog is too long; delete old deliveries and notices."""
    until = time.monotonic() + SWEEP_SECONDS
    deliveries.stop_overfull()
    while time.monotonic() < until and (deliveries.sweep() or warnings.sweep()):
        pass


@app.periodic(cron="* * * * * */15")
@app.task(
    name="runs.tasks.store_words",
    queue=jobs.QUEUE,
    queueing_lock="words",
    lock="words",
    pass_context=True,
)
def store_words(context: JobContext, timestamp: int) -> None:
    """Store the words of runs that are new, have ended or were renamed, for the search."""
    storing.run_once(SWEEP_SECONDS, context.additional_context[LEAVING])


@app.periodic(cron="* * * * *")
@app.task(
    name="runs.tasks.add_up_usage",
    queue=jobs.QUEUE,
    queueing_lock="usage",
    lock="usage",
    pass_context=True,
)
def add_up_usage(context: JobContext, timestamp: int) -> None:
    """Add up the usage of teams: the runs that have ended, changed or were erased."""
    with allowing(LONGEST):
        rollup.run_once(SWEEP_SECONDS, context.additional_context[LEAVING])


@app.periodic(cron="* * * * * */15")
@app.task(
    name="runs.tasks.read_ended_runs",
    queue=jobs.QUEUE,
    queueing_lock="insight",
    lock="insight",
    pass_context=True,
)
def read_ended_runs(context: JobContext, timestamp: int) -> None:
    """Store the tool calls of runs that have ended, and the issues of failed ones."""
    leaving = context.additional_context[LEAVING]
    insight.run_once(SWEEP_SECONDS, leaving)
    with allowing(LONGEST):
        tool_days.run_once(SWEEP_SECONDS, leaving)


@app.periodic(cron="* * * * *")
@app.task(
    name="runs.tasks.settle_budgets",
    queue=jobs.QUEUE,
    queueing_lock="budgets",
    lock="budgets",
    pass_context=True,
)
def settle_budgets(context: JobContext, timestamp: int) -> None:
    """Count the spending of ended runs in their budgets, which warn of it."""
    spending.settle_all(time.monotonic() + SWEEP_SECONDS, context.additional_context[LEAVING])


@app.periodic(cron="* * * * *")
@app.task(
    name="runs.tasks.check_alerts",
    queue=jobs.QUEUE,
    queueing_lock="alerts",
    lock="alerts",
    pass_context=True,
)
def check_alerts(context: JobContext, timestamp: int) -> None:
    """Compare the teams' alerts with their thresholds."""
    checking.run_once(SWEEP_SECONDS, context.additional_context[LEAVING])


@app.periodic(cron="* * * * *")
@app.task(
    name="runs.tasks.store_faces",
    queue=jobs.QUEUE,
    queueing_lock="faces",
    lock="faces",
    pass_context=True,
)
def store_faces(context: JobContext, timestamp: int) -> None:
    """Store what runs of earlier releases were asked and answered, for lists."""
    faces.run_once(SWEEP_SECONDS, context.additional_context[LEAVING])


@app.periodic(cron="* * * * *")
@app.task(name="runs.tasks.sweep_files", queue=jobs.QUEUE, queueing_lock="files")
def sweep_files(timestamp: int) -> None:
    """Delete files without any remaining reference, or that never came whole."""
    until = time.monotonic() + SWEEP_SECONDS
    while time.monotonic() < until and uploads.sweep():
        pass


@app.periodic(cron="17 3 * * *")
@app.task(
    name="runs.tasks.keep_partitions_ahead",
    queue=jobs.QUEUE,
    queueing_lock="partitions",
    retry=AGAIN,
)
def keep_partitions_ahead(timestamp: int) -> None:
    """Create the coming months' partitions; report a row that has no month as an error."""
    if made := partitions.ensure_ahead():
        log.info("partitions.made", names=made)
    with allowing(LONGEST):
        stray = partitions.stray_rows()
    if stray:
        log.error("partitions.stray_rows", hint="docs/operations.md#stray-rows")


@app.periodic(cron="41 3 * * *")
@app.task(
    name="runs.tasks.recount_stored_bytes",
    queue=jobs.QUEUE,
    queueing_lock="recount",
    retry=AGAIN,
)
def recount_stored_bytes(timestamp: int) -> None:
    """Sum up what each team has stored: purged events count no more."""
    with allowing(LONGEST):
        admission.recount()


@app.periodic(cron="53 3 * * *")
@app.task(
    name="runs.tasks.drop_expired_sessions",
    queue=jobs.QUEUE,
    queueing_lock="sessions",
    retry=AGAIN,
)
def drop_expired_sessions(timestamp: int) -> None:
    """Delete the rows of sign-ins that have expired."""
    with allowing(LONGEST):
        SessionStore.clear_expired()
