"""What an agent gets wrong is stored beside its log, with the events it belongs to."""

import io
from collections.abc import AsyncIterator
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.models import Agent
from events.models import Finding
from events.writer import JournalWriter
from runs.models import Run
from runs.worker import findings
from tests.asgi import ask
from tests.cast import Cast, Register, log_of, perform, start

pytestmark = pytest.mark.django_db(transaction=True)

DELTA = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "hi"}
STEPPED = {"type": "STEP_FINISHED", "stepName": "never begun"}


def playing(*events: Any) -> Any:
    async def agent(ctx: Any) -> AsyncIterator[Any]:
        for event in events:
            yield event

    return agent


def rows(run: Run) -> list[tuple[int, str, str, int]]:
    return list(
        Finding.objects.filter(journal_id=run.pk)
        .order_by("pk")
        .values_list("seq", "rule", "action", "times")
    )


async def ran(cast: Cast, agent: Agent, writer: JournalWriter) -> tuple[Run, list[Any], list[Any]]:
    run = await perform(await db(start, cast.alice, agent), writer)
    return run, await db(log_of, run), await db(rows, run)


async def test_repairs_are_stored_and_never_in_the_log(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    done = {"type": "RUN_FINISHED"}
    agent = await db(register, "sloppy", playing(STEPPED, DELTA, STEPPED, done))
    run, log, stored = await ran(cast, agent, writer)
    assert run.status == "succeeded"
    assert [event["type"] for event in log] == [
        "RUN_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ]
    assert stored == [
        (2, "V7", "dropped", 1),
        (2, "V4", "inserted_start", 1),
        (4, "V7", "dropped", 1),
        (4, "V8", "closed", 1),
    ]
    assert "metadata" not in str(log)
    answer = await ask("GET", f"/api/v1/runs/{run.pk}/findings", cast.vera.headers)
    listed = answer.json["findings"]
    assert [(row["seq"], row["rule"], row["action"], row["times"]) for row in listed] == stored
    assert all(row["text"] for row in listed)
    page = await ask("GET", f"/runs/{run.pk}/", cast.vera.cookie)
    assert "The host mended events of this run" in page.body.decode()


@pytest.mark.parametrize(("raw", "types"), [(True, ["RAW", "CUSTOM"]), (False, ["CUSTOM"])])
@pytest.mark.parametrize("policy", ["repair", "fail"])
async def test_what_a_framework_reports_never_ends_a_run(
    cast: Cast, register: Register, writer: JournalWriter, raw: bool, types: list[str], policy: str
) -> None:
    odd = {"chunk": object(), "bytes": b"\xff", 1: float("nan")}
    events = [{"type": "RAW", "event": odd}, {"type": "CUSTOM", "name": "n", "value": odd}]
    agent = await db(register, "sloppy", playing(*events), policy=policy, raw=raw)
    run, log, stored = await ran(cast, agent, writer)
    assert run.status == "succeeded"
    assert [event["type"] for event in log[1:-1]] == types
    assert log[-2]["value"] == {"chunk": "<object>", "bytes": "/w==", "1": "NaN"}
    assert [row[1:3] for row in stored] == [("json", "coerced")] * len(types)


async def test_what_fails_a_run_is_a_finding_too(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    agent = await db(register, "sloppy", playing(DELTA), policy="fail")
    run, log, stored = await ran(cast, agent, writer)
    assert (run.status, run.error_code) == ("failed", "invalid_order")
    assert stored == [(len(log), "V4", "failed", 1)]


async def test_more_findings_than_are_kept_are_counted(
    cast: Cast, register: Register, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agui_host.protocol.intake.findings.LIMIT", 3)
    agent = await db(register, "sloppy", playing(*[STEPPED] * 10))
    *_, stored = await ran(cast, agent, writer)
    assert stored == [(2, "V7", "dropped", 1)] * 3 + [(2, "V7", "dropped", 7)]
    assert await db(findings.report, agent) == [("V7", "dropped", 10, 1)]


async def test_the_report_counts_an_agents_runs_and_no_other_agents(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    sloppy = await db(register, "sloppy", playing(STEPPED, STEPPED, DELTA))
    other = await db(register, "other", playing(STEPPED))
    for agent in (sloppy, sloppy, other):
        await ran(cast, agent, writer)
    assert await db(findings.report, sloppy) == [
        ("V7", "dropped", 4, 2),
        ("V4", "inserted_start", 2, 2),
    ]
    assert await db(findings.report, other) == [("V7", "dropped", 1, 1)]
    assert await db(findings.report, await db(lambda: cast.echo)) == []
    report = io.StringIO()
    await db(call_command, "conformance_report", agent="sloppy", stdout=report)
    assert report.getvalue().split("\n")[1].split() == ["4", "×", "V7", "dropped,", "2", "runs"]


def test_the_database_knows_the_policies(cast: Cast) -> None:
    assert cast.echo.policy == "repair"
    with pytest.raises(IntegrityError, match="agent_policy_known"):
        Agent.objects.filter(pk=cast.echo.pk).update(policy="maybe")
