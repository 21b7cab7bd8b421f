"""docs/examples/flagpilot.md: an orchestrator over a team, event by event."""

import asyncio
import json
import re
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.protocol.fold.fold import Fold
from agui_host.runtimes import registry
from agui_host.runtimes.models import Agent
from events.writer import JournalWriter
from runs.models import Run
from tests.asgi import ask
from tests.cast import Cast, Register, perform, start
from tests.house.repository import ROOT
from tests.runs.playing import settled

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = (ROOT / "docs" / "examples" / "flagpilot.md").read_text()
(CODE,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SETTINGS, BODY, SEQUENCE = map(json.loads, re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))
SLUG = "flagpilot_orchestrator"


@pytest.fixture
async def orchestrator(cast: Cast) -> Agent:
    def made() -> Agent:
        exec(CODE, {"__name__": "example"})  # noqa: S102
        registry.provision(cast.team)
        row: Agent = Agent.objects.create(
            team=cast.team, slug=SLUG, name="FlagPilotOrchestrator", kind="orchestrator",
            settings=SETTINGS,
        )  # fmt: skip
        return row

    return await db(made)


async def change(orchestrator: Agent, **settings: Any) -> None:
    orchestrator.settings = {**SETTINGS, **settings}
    await db(orchestrator.save)


def matches(want: Any, got: Any) -> bool:
    """``want`` leaves out what it does not care for."""
    if isinstance(want, dict):
        return isinstance(got, dict) and all(
            key in got and matches(value, got[key]) for key, value in want.items()
        )
    if isinstance(want, list):
        return isinstance(got, list) and len(want) == len(got) and all(map(matches, want, got))
    return bool(want == got)


def state_of(log: list[dict[str, Any]]) -> Any:
    fold = Fold()
    for event in log:
        fold.feed(event)
    return fold.state


def statuses(log: list[dict[str, Any]]) -> dict[str, str]:
    return {task["agent_id"]: task["status"] for task in state_of(log)["plan"]["tasks"]}


async def ran(
    cast: Cast, agent: Agent, writer: JournalWriter, **body: Any
) -> tuple[Run, list[dict[str, Any]]]:
    run = await db(start, cast.alice, agent, **{**BODY, **body})
    return await settled(await perform(run, writer))


async def test_the_example(cast: Cast, orchestrator: Agent, writer: JournalWriter) -> None:
    run, log = await ran(cast, orchestrator, writer)
    rest = iter(log)
    for want in SEQUENCE:
        assert any(matches(want, got) for got in rest), want
    assert not list(rest)
    state = state_of(log)
    assert (state["status"], state["risk_level"]) == ("completed", "high")
    assert set(statuses(log).values()) == {"completed"}
    children = await db(lambda: list(Run.objects.filter(parent=run).order_by("pk")))
    started = [e["subagentRunId"] for e in log if e["type"] == "SUBAGENT_STARTED"]
    assert started == [str(child.pk) for child in children]
    assert {child.parent_run_id for child in children} == {"1"}


async def test_discovery(cast: Cast, orchestrator: Agent) -> None:
    answer = await ask("GET", "/api/agui/info", cast.vera.headers)
    discovered = answer.json["agents"]
    assert answer.json["service"]
    for name in ("profile", "goal", "constraints"):
        assert discovered[SLUG][name] == SETTINGS[name]
    assert (discovered[SLUG]["id"], discovered[SLUG]["name"]) == (SLUG, "FlagPilotOrchestrator")
    assert discovered["contract-guardian"]["description"] == "Reads contracts."
    assert (await ask("GET", "/api/agui/info")).status == 401


async def test_one_agent_is_spoken_to_directly(
    cast: Cast, orchestrator: Agent, writer: JournalWriter
) -> None:
    json_type = {"content-type": "application/json"}
    for body, slug in (
        ({**BODY, "agent_id": "contract-guardian", "run_id": "2"}, "contract-guardian"),
        ({"forwardedProps": {"agent_id": "payment-enforcer"}}, "payment-enforcer"),
        ({}, "echo"),
    ):
        asking = asyncio.create_task(
            ask(
                "POST",
                "/api/agui",
                {**cast.alice.headers, **json_type},
                body=json.dumps(body).encode(),
            )
        )
        queued = Run.objects.filter(status="queued")
        while (run := await db(queued.first)) is None:
            assert not asking.done()
        await perform(run, writer)
        assert (await asking).status == 200
        assert (await db(lambda row=run: row.agent.slug)) == slug


async def test_an_agent_plans(
    cast: Cast, orchestrator: Agent, register: Register, writer: JournalWriter
) -> None:
    prompts: list[str] = []

    def planner(ctx: Any) -> str:
        prompts.append(ctx.text)
        return 'Well: {"agents": ["payment-enforcer", "stranger"], "risk_level": "medium"}.'

    await db(register, "planner", planner)
    await change(orchestrator, planner="planner", agents=["payment-enforcer", "contract-guardian"])
    _, log = await ran(cast, orchestrator, writer)
    assert statuses(log) == {"payment-enforcer": "completed"}
    assert state_of(log)["risk_level"] == "medium"
    assert "- contract-guardian: Reads contracts." in prompts[0]
    assert BODY["messages"][0]["content"] in prompts[0]
    assert "echo" not in prompts[0]


async def test_a_planner_without_a_plan_leaves_it_to_the_rules(
    cast: Cast, orchestrator: Agent, register: Register, writer: JournalWriter
) -> None:
    await db(register, "planner", lambda ctx: "{no idea}")
    await change(orchestrator, planner="planner")
    _, log = await ran(cast, orchestrator, writer)
    assert list(statuses(log)) == ["contract-guardian", "payment-enforcer"]


async def test_a_subagent_that_fails_does_not_end_the_others(
    cast: Cast, orchestrator: Agent, register: Register, writer: JournalWriter
) -> None:
    def broken(ctx: Any) -> None:
        raise ValueError("hunter2")

    await db(register, "broken", broken)
    await change(orchestrator, rules=[], agents=["broken", "payment-enforcer"], at_once=2)
    run, log = await ran(cast, orchestrator, writer)
    assert run.status == "succeeded"
    assert statuses(log) == {"broken": "failed", "payment-enforcer": "completed"}
    assert [e["type"] for e in log].count("SUBAGENT_ERROR") == 1
    assert "hunter2" not in str(log)


async def test_when_no_agent_can_do_its_part_the_run_fails(
    cast: Cast, orchestrator: Agent, writer: JournalWriter
) -> None:
    await change(orchestrator, rules=[], agents=["gone"])
    run, log = await ran(cast, orchestrator, writer)
    assert run.error_code == "agent_error"
    assert state_of(log)["status"] == "failed"


async def test_a_subagents_question_is_asked_and_answered(
    cast: Cast, orchestrator: Agent, register: Register, writer: JournalWriter
) -> None:
    async def careful(ctx: Any) -> str:
        answer = ctx.resumed("sure")
        if answer is None:
            ctx.interrupt("confirmation", message="Sure?", id="sure")
        return f"Told: {answer['payload']}"

    await db(register, "careful", careful)
    await change(orchestrator, rules=[], agents=["careful"])
    run, log = await ran(cast, orchestrator, writer)
    assert run.status == "interrupted"
    (question,) = log[-1]["outcome"]["interrupts"]
    assert question["message"] == "Sure?"
    (suspended,) = [e["outcome"] for e in log if e["type"] == "SUBAGENT_FINISHED"]
    assert suspended == {"type": "suspended", "interruptIds": [question["id"]]}
    listed = "/api/v1/interrupts"
    (interrupt,) = (await ask("GET", listed, cast.alice.headers)).json["results"]
    assert (interrupt["run"], interrupt["message"]) == (str(run.pk), "Sure?"), (
        "and not the subagent's too"
    )
    child = await db(lambda: Run.objects.get(parent=run))
    (its,) = (await ask("GET", f"{listed}?run={child.pk}", cast.alice.headers)).json["results"]
    assert its["run"] == str(child.pk)
    resume = [{"interruptId": question["id"], "status": "resolved", "payload": "yes"}]
    run, log = await ran(cast, orchestrator, writer, run_id="2", messages=[], resume=resume)
    assert run.status == "succeeded"
    assert "Told: yes" in str(log)
    assert statuses(log) == {"careful": "completed"}
    threads = await db(lambda: set(Run.objects.filter(agent__slug="careful").values_list("thread")))
    assert len(threads) == 1
