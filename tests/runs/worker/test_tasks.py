"""What a fault costs a periodic task: at most a minute, whatever its rhythm."""

from datetime import UTC, datetime

import pytest
from django.db import OperationalError
from procrastinate.contrib.django import app
from procrastinate.jobs import Job

from runs.worker import tasks

EVERY_MINUTE = "* * * * *"


def rare() -> list[str]:
    registered = app.periodic_registry.periodic_tasks.values()
    return sorted(each.task.name for each in registered if each.cron != EVERY_MINUTE)


def test_the_rare_tasks_are_known() -> None:
    assert tasks.purge_what_is_over.name in rare()


@pytest.mark.parametrize("attempts", [0, 10])
def test_a_rare_task_that_met_a_fault_is_tried_again_within_a_minute(attempts: int) -> None:
    for name in rare():
        job = Job(
            id=1, queue="runs", lock=None, queueing_lock=None, task_name=name, attempts=attempts
        )
        again = app.tasks[name].get_retry_exception(
            exception=OperationalError("No space left on device"), job=job
        )
        assert again is not None, name
        due = again.retry_decision.retry_at
        assert due is not None, name
        assert (due - datetime.now(UTC)).total_seconds() <= 60, name
