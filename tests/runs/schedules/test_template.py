"""The input of a schedule's runs: no database."""

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from agui_host.protocol.errors import Invalid
from runs.lifecycle.schedules import template
from runs.models import Schedule, ThreadPolicy

TICK = datetime(2026, 1, 1, 23, 30, tzinfo=UTC)


def schedule(text: str, **fields: Any) -> Schedule:
    made = {"id": UUID(int=7), "agent": "a", "time_zone": "Europe/Berlin", **fields}
    return Schedule(
        input=template.stored({"messages": [{"role": "user", "content": text}]}), **made
    )


@pytest.mark.parametrize("name", ["threadId", "thread_id", "runId", "resume"])
def test_what_differs_for_each_run_is_refused(name: str) -> None:
    with pytest.raises(Invalid) as refused:
        template.stored({name: "x"})
    assert refused.value.details["path"].startswith("input.")


def test_an_input_is_an_object_of_a_limited_size() -> None:
    for value in ([], "x", {"state": "x" * template.LARGEST}):
        with pytest.raises(Invalid) as refused:
            template.stored(value)
        assert refused.value.details == {"path": "input"}


def test_messages_are_stored_without_their_ids() -> None:
    text = template.stored({"messages": [{"id": "m", "role": "user", "content": "x"}, 3]})
    assert json.loads(text) == {"messages": [{"role": "user", "content": "x"}, 3]}


def test_placeholders_have_the_schedules_own_time() -> None:
    text = "{{scheduled_at}} {{scheduled_date}} {{schedule_id}} {{other}}"
    message = template.request_of(schedule(text), TICK).body["messages"][0]
    assert message["content"] == f"2026-01-02T00:30:00+01:00 2026-01-02 {UUID(int=7)} {{{{other}}}}"


def test_the_ids_of_a_tick_are_the_same_each_time() -> None:
    one = schedule("x")
    first, second = template.request_of(one, TICK), template.request_of(one, TICK)
    assert (first.run_id, first.thread_id) == (second.run_id, first.run_id)
    assert template.request_of(one, TICK, by_hand=True).run_id != first.run_id
    fixed = schedule("x", thread=ThreadPolicy.FIXED, thread_id="t")
    assert template.request_of(fixed, TICK).thread_id == "t"
