"""The messages that the receivers of a task's push notifications get.

A message is a StreamResponse of A2A: the task as it was at the end of a run, or its status alone.
"""

from typing import Any

from agui_host.dialects.a2a.fold import Task
from agui_host.protocol import patient_json
from agui_host.protocol.strict_json import dumps
from agui_host.protocol.wire.durations import timestamp_of
from events import journal
from runs.lifecycle import turns
from runs.lifecycle.logs import corrections
from runs.lifecycle.webhooks.pushes import secrets
from runs.models import BY_EVENT, Run, Status, Webhook, WebhookDelivery

Json = dict[str, Any]
STATES = {
    Status.QUEUED: "TASK_STATE_SUBMITTED",
    Status.RUNNING: "TASK_STATE_WORKING",
    Status.SUCCEEDED: "TASK_STATE_COMPLETED",
    Status.INTERRUPTED: "TASK_STATE_INPUT_REQUIRED",
    Status.CANCELLED: "TASK_STATE_CANCELED",
    Status.FAILED: "TASK_STATE_FAILED",
}
LONGEST_LOG = 1024 * 1024
"""Bytes of a task's logs that are read for one message; of a longer task its status is sent."""
TOKEN = "X-A2A-Notification-Token"  # noqa: S105  (the name of a header)


def headers(webhook: Webhook) -> dict[str, str]:
    """The headers that prove the sender to the receiver. Raises SecretUnreadable."""
    stored = secrets(webhook)
    proof = {"content-type": "application/a2a+json"}
    if stored["token"]:
        proof[TOKEN] = stored["token"]
    if stored["credentials"]:
        proof["authorization"] = f"{stored['scheme']} {stored['credentials']}"
    return proof


def body(delivery: WebhookDelivery) -> bytes | None:
    """The message; None if the task has been erased, or the run is not one of its runs."""
    runs = Run.objects.filter(team=delivery.team_id, purged_at=None)
    rows = runs.select_related("journal", "thread", "agent")
    first = rows.filter(journal=delivery.webhook.task).first()
    turn = turns.starting(first) if first else []
    keys = [run.pk for run in turn]
    if first is None or delivery.run not in keys:
        return None
    turn = turn[: keys.index(delivery.run) + 1]
    long = sum(run.journal.bytes for run in turn) > LONGEST_LOG
    if delivery.type == Status.RUNNING.event or long:
        message = {"statusUpdate": _status(delivery, first)}
    else:
        message = {"task": _task(turn)}
    return dumps(message).encode("utf-8", "backslashreplace")


def _status(delivery: WebhookDelivery, first: Run) -> Json:
    status = {
        "state": STATES[BY_EVENT[delivery.type]],
        "timestamp": timestamp_of(delivery.created_at.timestamp() * 1_000),
    }
    return {"taskId": str(first.pk), "contextId": first.thread.thread_id, "status": status}


def _task(turn: list[Run]) -> Json:
    task = Task(str(turn[0].pk), context=turn[0].thread.thread_id)
    for run in turn:
        if run is not turn[0]:
            task.next_run()
        now = corrections.of(run.pk, run.team_id, run.journal.head)
        for payload in journal.payloads(run.pk):
            event = patient_json.loads(payload)
            task.feed(event if now is None else now.show(event))
    return task.wire
