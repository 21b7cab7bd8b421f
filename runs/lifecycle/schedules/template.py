"""The input of a schedule's runs: a RunAgentInput without ids, with a few placeholders."""

import json
from datetime import datetime
from typing import Any
from uuid import uuid4, uuid5

from agui_host.protocol.errors import Invalid
from agui_host.protocol.input import run_agent_input
from agui_host.protocol.input.fields import rename
from agui_host.protocol.input.run_agent_input import RunRequest
from agui_host.protocol.input.zones import zone
from agui_host.protocol.strict_json import dumps
from runs.models import Schedule, ThreadPolicy

LARGEST = 256 * 1024
PER_RUN = ("threadId", "runId", "resume")


def stored(value: Any) -> str:
    """An input as a schedule stores it. Raises Invalid for what cannot be the same in each run.

    Messages lose their ids: a message that a thread already has would add nothing.
    """
    if not isinstance(value, dict):
        raise Invalid("The input must be an object: a RunAgentInput.", details={"path": "input"})
    names = rename(value, run_agent_input.SNAKE)
    for name in PER_RUN:
        if name in names:
            raise Invalid(
                f"The input of a schedule cannot have {name}, which differs for each run.",
                details={"path": f"input.{name}"},
            )
    messages = value.get("messages")
    if isinstance(messages, list):
        value = {**value, "messages": [_without_id(message) for message in messages]}
    text = dumps(value)
    if len(text.encode()) > LARGEST:
        raise Invalid(f"The input is larger than {LARGEST // 1024} KB.", details={"path": "input"})
    return text


def request_of(schedule: Schedule, tick: datetime, *, by_hand: bool = False) -> RunRequest:
    """The request that a tick starts a run with. Raises Invalid.

    Ids follow from the tick, so that a tick has one run even by the rules of threads; those of a
    run ``by_hand`` are new, but its request is the same each time: it only names the schedule.
    """
    run_id = str(uuid4() if by_hand else uuid5(schedule.pk, tick.isoformat()))
    fixed = schedule.thread == ThreadPolicy.FIXED
    data = json.loads(_filled(schedule, tick))
    data |= {"threadId": schedule.thread_id if fixed else run_id, "runId": run_id}
    digest = run_agent_input.digest_of("schedule", str(schedule.pk)) if by_hand else None
    return run_agent_input.parse(
        data, agent=schedule.agent, on_busy=schedule.on_busy or None, digest=digest
    )


def _filled(schedule: Schedule, tick: datetime) -> str:
    """The JSON with its placeholders replaced; no value needs escaping in JSON."""
    local = tick.astimezone(zone(schedule.time_zone))
    text = schedule.input
    for name, value in (
        ("scheduled_at", local.isoformat(timespec="seconds")),
        ("scheduled_date", local.date().isoformat()),
        ("schedule_id", str(schedule.pk)),
    ):
        text = text.replace(f"{{{{{name}}}}}", value)
    return text


def _without_id(message: Any) -> Any:
    if not isinstance(message, dict):
        return message
    return {name: value for name, value in message.items() if name != "id"}
