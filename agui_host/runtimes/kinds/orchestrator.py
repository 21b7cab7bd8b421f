"""The ``orchestrator`` kind: plans over the team's other agents and runs them as subagents.

It has neither code nor a URL: it follows its settings and starts agents through
``RunContext.spawn``. Only operators create it, since it lets agents run others.
"""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field, ValidationError

from agui_host.backends.postgres.bridge import db
from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.context.spawn import ChildRun
from agui_host.runtimes.kinds.python import PythonRuntime
from agui_host.runtimes.registry import Registered

if TYPE_CHECKING:
    from agui_host.runtimes.models import Agent

PLANNING, ACTIVITY = "orchestrator-planning", "AGENT_EXECUTION"
RISKS = ("none", "low", "medium", "high", "critical")
IDS = ("messageId", "toolCallId", "parentMessageId")
PASSED_ON = ("TEXT_MESSAGE_", "TOOL_CALL_", "STEP_", "ACTIVITY_", "SUBAGENT_", "CUSTOM")
ASK = (
    "Choose who shall work on the request. Answer with JSON only: "
    '{"agents": ["<id>", …], "risk_level": "none|low|medium|high|critical"}.\n\nAgents:\n'
)
Wire = dict[str, Any]


class Rule(BaseModel):
    """Which agents work on a request that contains one of these words, and how risky it is."""

    words: list[str]
    agents: list[str]
    risk_level: str = "none"


class Settings(BaseModel):
    """The members of an agent's settings that it reads; ``/agui/info`` shows others."""

    agents: list[str] | None = None
    rules: list[Rule] = []
    planner: str | None = None
    at_once: int = Field(1, ge=1, le=8)


@dataclass(slots=True)
class Task:
    """One agent's part of the plan; with ``thread`` it continues there, with these answers."""

    agent: str
    thread: str | None = None
    answers: list[Wire] = field(default_factory=list)


class OrchestratorRuntime(PythonRuntime):
    """Plans, runs the plan, reports the outcome."""

    kind = "orchestrator"

    def __init__(self, row: "Agent") -> None:
        target = self._orchestrate
        super().__init__(Registered(row.slug, row.name, "", None, None, True, target))
        self._row = row

    @classmethod
    def of(cls, row: "Agent") -> "OrchestratorRuntime":
        """The runtime of an Agent row."""
        return cls(row)

    async def _orchestrate(self, ctx: RunContext) -> None:
        try:
            settings = Settings.model_validate(ctx.settings)
        except ValidationError as bad:
            ctx.log.error("orchestrator.settings", problems=bad.errors(include_input=False))
            raise RunFailed(
                RunErrorCode.AGENT_ERROR, "The orchestrator's settings cannot be used."
            ) from None
        initial = ctx.body.get("state")
        known = {key: value for key, value in (initial or {}).items() if key != "plan"}
        ctx.state.replace({**known, "status": "planning", "risk_level": "none"})
        with ctx.step(PLANNING):
            tasks, risk = suspended(ctx), "none"
            if not tasks:
                names, risk = await self._plan(ctx, settings)
                tasks = [Task(name) for name in names]
            parts = [{"agent_id": task.agent, "status": "pending"} for task in tasks]
            ctx.state["plan"] = {"request": ctx.text, "tasks": parts}
        with ctx.state.batch():
            ctx.state["status"] = "running"
            ctx.state["risk_level"] = risk
        await Work(ctx, tasks, settings.at_once).run()

    async def _plan(self, ctx: RunContext, settings: Settings) -> tuple[list[str], str]:
        """Choose the agents and the risk, by the planner or by rule."""
        team = await db(self._others)
        slugs = team if settings.agents is None else settings.agents
        allowed = {slug: team[slug] for slug in slugs if slug in team}
        allowed.pop(settings.planner or "", None)
        if settings.planner is not None:
            plan = await self._ask(ctx, settings.planner, allowed)
            if plan is not None:
                return plan
        text = ctx.text.lower()
        rules = [rule for rule in settings.rules if any(word in text for word in rule.words)]
        named = dict.fromkeys(name for rule in rules for name in rule.agents if name in allowed)
        return list(named or allowed), worst(rule.risk_level for rule in rules)

    def _others(self) -> dict[str, str]:
        from agui_host.runtimes.models import Agent

        rows = Agent.objects.for_team(self._row.team).filter(enabled=True).exclude(pk=self._row.pk)
        return {row.slug: row.description or row.name for row in rows}

    async def _ask(
        self, ctx: RunContext, planner: str, agents: dict[str, str]
    ) -> tuple[list[str], str] | None:
        """The planner's plan; None if its answer is not a plan, so that the rules decide."""
        listed = "\n".join(f"- {slug}: {about}" for slug, about in agents.items())
        prompt = f"{ASK}{listed}\n\nRequest:\n{ctx.text}"
        message = {"id": "plan", "role": "user", "content": prompt}
        async with ctx.spawn(planner, {"messages": [message]}) as child:
            deltas = [e["delta"] async for e in child if e["type"] == "TEXT_MESSAGE_CONTENT"]
        text = "".join(deltas)
        try:
            answer = json.loads(text[text.index("{") : text.rindex("}") + 1])
            named = [slug for slug in dict.fromkeys(answer["agents"]) if slug in agents]
        except (ValueError, KeyError, TypeError):
            named = []
        if not named:
            ctx.log.warning("orchestrator.no_plan", planner=planner)
            return None
        return named, worst([answer.get("risk_level")])


class Work:
    """A plan in progress."""

    def __init__(self, ctx: RunContext, tasks: list[Task], at_once: int) -> None:
        self._ctx = ctx
        self._tasks = tasks
        self._free = asyncio.Semaphore(at_once)
        self._ended = 0
        self._failed = 0
        self._asked = False

    async def run(self) -> None:
        """Run all tasks; a subagent that fails does not end the others."""
        ctx = self._ctx
        async with asyncio.TaskGroup() as group:
            for number, task in enumerate(self._tasks):
                group.create_task(self._one(number, task))
        if self._asked:
            ctx.state["status"] = "waiting"
            return
        if self._failed == len(self._tasks):
            ctx.state["status"] = "failed"
            raise RunFailed(RunErrorCode.AGENT_ERROR, "None of the agents completed its part.")
        with ctx.message() as message:
            message.write(f"{self._ended - self._failed} of {self._ended} agents are done. ")
            message.write(f"Risk: {ctx.state['risk_level']}.")
        ctx.state["status"] = "completed"
        ctx.result = {"status": "COMPLETED"}

    async def _one(self, number: int, task: Task) -> None:
        ctx = self._ctx
        async with self._free:
            activity = ctx.activity(ACTIVITY, self._about(number, task, "running"))
            try:
                status = await self._delegate(task)
            except RunFailed as failed:
                ctx.log.warning("orchestrator.subagent", agent=task.agent, error=str(failed))
                status = "failed"
            self._ended += 1
            self._failed += status == "failed"
            self._asked |= status == "waiting"
            activity.update(self._about(number, task, status))

    def _about(self, number: int, task: Task, status: str) -> Wire:
        # The activity's content; ``progress`` is the finished part of the plan, in percent.
        self._ctx.state["plan"]["tasks"][number]["status"] = status
        progress = 100 * self._ended // len(self._tasks)
        return {"agent_id": task.agent, "status": status, "progress": progress}

    async def _delegate(self, task: Task) -> str:
        """Run the subagent and pass its events on; returns how it ended."""
        ctx = self._ctx
        body: Wire = {"messages": conversation(ctx), "context": ctx.context}
        if task.thread is not None:
            body = {"threadId": task.thread, "resume": task.answers}
        async with ctx.spawn(task.agent, body) as child:
            ctx.emit({"type": "SUBAGENT_STARTED", "subagentRunId": child.id, "name": task.agent})
            async for event in child:
                if (passed := tagged(event, child)) is not None:
                    ctx.emit(passed)
                    await ctx.drain()
            end = await child.end()
        about = {"subagentRunId": child.id}
        outcome = (end.get("outcome") or {}).get("type", "success")
        if end["type"] == "RUN_ERROR" or outcome == "cancelled":
            message = end.get("message", "It was cancelled.")
            ctx.emit({"type": "SUBAGENT_ERROR", **about, "message": message})
            return "failed"
        self._heed(end.get("result"))
        if outcome == "interrupt":
            interrupt_ids = [
                self._pass_on(question, child) for question in end["outcome"]["interrupts"]
            ]
            suspension = {"type": "suspended", "interruptIds": interrupt_ids}
            ctx.emit({"type": "SUBAGENT_FINISHED", **about, "outcome": suspension})
            return "waiting"
        result = {"result": end["result"]} if "result" in end else {}
        ctx.emit({"type": "SUBAGENT_FINISHED", **about, **result})
        return "completed"

    def _heed(self, result: Any) -> None:
        """A subagent can name a risk in its result; the highest counts."""
        state = self._ctx.state
        if isinstance(result, dict):
            risk = worst([state["risk_level"], result.get("risk_level")])
            if risk != state["risk_level"]:
                state["risk_level"] = risk

    def _pass_on(self, question: Wire, child: ChildRun) -> str:
        """Ask the subagent's question; the id names the subagent that gets the answer."""
        return self._ctx.interrupt(
            question["reason"],
            message=question.get("message"),
            response_schema=question.get("responseSchema"),
            expires_at=question.get("expiresAt"),
            metadata=question.get("metadata"),
            id=f"{child.agent}|{child.thread_id}|{question['id']}",
            wait=True,
        )


def suspended(ctx: RunContext) -> list[Task]:
    """The subagents that this run's answers are for."""
    tasks: dict[tuple[str, str], Task] = {}
    for entry in ctx.resume:
        if entry["interruptId"].count("|") < 2:
            continue  # The question of another agent of this thread.
        agent, thread, question = entry["interruptId"].split("|", 2)
        task = tasks.setdefault((agent, thread), Task(agent, thread))
        task.answers.append({**entry, "interruptId": question})
    return list(tasks.values())


def conversation(ctx: RunContext) -> list[Wire]:
    """The conversation without tool calls, which another agent cannot know."""
    copied = ("id", "role", "content")
    return [
        {key: message[key] for key in copied}
        for message in ctx.messages
        if message["role"] in ("user", "assistant") and message.get("content")
    ]


def tagged(event: Wire, child: ChildRun) -> Wire | None:
    """The event as the subagent's; None if the parent does not show it, such as its state.

    Ids of messages and calls get the subagent's prefix: two agents can use the same.
    """
    if not event["type"].startswith(PASSED_ON):
        return None
    copied = {**event, **{key: f"{child.id}:{event[key]}" for key in IDS if key in event}}
    if event["type"] == "SUBAGENT_STARTED":
        copied.setdefault("parentSubagentRunId", child.id)
    else:
        copied.setdefault("subagentRunId", child.id)
    copied.pop("parentToolCallId", None)
    return copied


def worst(levels: Any) -> str:
    """The highest of these risks; unknown ones do not count."""
    known: Iterator[int] = (RISKS.index(level) for level in levels if level in RISKS)
    return RISKS[max(known, default=0)]
