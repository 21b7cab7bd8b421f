"""The list of a team's agents, and the page of each."""

from typing import Any
from uuid import uuid4

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from agui_host.backends.postgres.servers.replica import reading
from agui_host.dashboard.agents import figures, health, snippets
from agui_host.dashboard.agents.state_form import StateForm
from agui_host.dashboard.inbox.fields import ABSENT
from agui_host.dashboard.pages import Question, action, page
from agui_host.errors import Forbidden, NotFound
from agui_host.kinds import starts
from agui_host.protocol.errors import BadRequest, HostError, Invalid
from agui_host.protocol.input import run_agent_input
from agui_host.protocol.input.numbers import LARGEST, whole
from agui_host.runtimes import team_agents, team_options
from agui_host.runtimes.kinds import kinds
from agui_host.runtimes.models import Agent
from agui_host.teams.api import csv_cells
from agui_host.teams.authentication import Principal
from runs.access.budgets import manage as budgets
from runs.access.inspect.schemas import StateRefused
from runs.access.start import start_run

LONGEST_MESSAGE = 100_000
MOST_PAGES = 1_000


@page
@reading
def listing(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The agents, each with its figures."""
    if request.GET.get("format") == "csv":
        return _file(principal)
    number = whole(request.GET.get("page", ""), 1, MOST_PAGES) or 1
    entries, more = figures.listing(principal, number)
    context = {
        "principal": principal,
        "entries": entries,
        "next": number + 1 if more else None,
        "days": figures.DAYS,
        "manages": principal.can("manage_agents"),
    }
    return render(request, "agents/list.html", context)


def _file(principal: Principal) -> HttpResponse:
    """All agents with their figures, page by page."""
    head = ("agent", "name", "kind", "enabled", "runs", "failed", "tokens", "cost", "p50_ms",
            "p95_ms", "version", "last_run")  # fmt: skip
    lines: list[tuple[object, ...]] = [head]
    for number in range(1, MOST_PAGES):
        entries, more = figures.listing(principal, number)
        for entry in entries:
            agent, sums = entry.agent, entry.line.sums
            lines.append((
                agent.slug, agent.name, agent.kind, agent.enabled, sums.runs, sums.failed,
                sums.tokens, sums.cost, entry.p50 and round(entry.p50),
                entry.line.p95 and round(entry.line.p95), agent.version,
                entry.last and entry.last.created_at.isoformat(),
            ))  # fmt: skip
        if not more:
            break
    return csv_cells.as_file("agents", lines)


@page
def detail(request: HttpRequest, principal: Principal, slug: str) -> HttpResponse:
    """One agent."""
    budgets.count(principal)  # which writes, so not on a standby
    return _detail(request, principal, slug)


@reading
def _detail(request: HttpRequest, principal: Principal, slug: str) -> HttpResponse:
    return show(request, principal, team_agents.find(principal, slug))


@starts
@action("agent")
def try_it(request: HttpRequest, principal: Principal, slug: str) -> HttpResponse:
    """Start a run with a message, and show it; the list's form chooses another ``agent``."""
    agent = team_agents.find(principal, request.POST.get("agent", slug))
    text, form = request.POST.get("message", ""), StateForm(agent, request.POST)
    try:
        if not form.is_valid():
            raise Invalid("Correct the state.", details={"path": "state"})
        run = start_run(principal, _request(agent.slug, text, form.state()), key=None).run
    except (NotFound, Forbidden):
        raise
    except HostError as error:
        if isinstance(error, StateRefused):
            form.blame(error.details.get("problems", ()))
        refusal = {"text": text[:LONGEST_MESSAGE], "problem": error.message}
        return show(request, principal, agent, status=error.status, refusal=refusal, state=form)
    return redirect("run", run.pk)


@action("agent")
def switch(request: HttpRequest, principal: Principal, slug: str) -> HttpResponse:
    """Enable or disable an agent."""
    enabled = request.POST.get("enabled") == "yes"
    team_agents.change(principal, slug, {"enabled": enabled})
    return redirect("agent", slug)


@action(
    "agent",
    asks=Question(
        "Delete this agent?",
        "Nobody can start a run of it from now on, and its headers and keys are removed. If it has"
        " runs, they stay with their logs, and so does a disabled agent of this name.",
        "Delete",
    ),
)
def remove(request: HttpRequest, principal: Principal, slug: str) -> HttpResponse:
    """Delete an agent of the team; one with runs is disabled."""
    team_agents.remove(principal, slug)
    is_gone = not team_agents.visible(principal).filter(slug=slug).exists()
    messages.success(
        request,
        f"The agent {slug} was deleted."
        if is_gone
        else f"The agent {slug} is disabled and its secrets are removed; its runs stay.",
    )
    return redirect("agents")


def show(
    request: HttpRequest,
    principal: Principal,
    agent: Agent,
    *,
    status: int = 200,
    refusal: dict[str, str] | None = None,
    state: StateForm | None = None,
) -> HttpResponse:
    """The page of an agent; ``refusal`` and ``state`` come with a message that was sent back."""
    kind, entry = kinds.of(agent.kind), figures.of(principal, agent)
    context: dict[str, Any] = {
        "principal": principal,
        "agent": agent,
        "entry": entry,
        "health": health.of(principal, agent, entry),
        "versions": figures.versions_of(principal, agent, _before(request)),
        "runs": figures.newest_runs(principal, agent),
        "snippets": snippets.of(agent),
        "days": figures.DAYS,
        "refusal": refusal,
        "state": state or StateForm(agent),
        "remote": kind.remote,
        "lists": [
            ("Middleware", team_options.visible(agent, "middleware")),
            ("Context providers", team_options.visible(agent, "context_providers")),
        ],
        "may_try": agent.enabled
        and not agent.is_fed
        and principal.can("run")
        and principal.may_use(agent.slug),
        "manages": principal.can("manage_agents"),
        "may_remove": kind.of_team and principal.can("manage_agents"),
    }
    return render(request, "agents/agent.html", context, status=status)


def _request(slug: str, text: str, state: Any) -> run_agent_input.RunRequest:
    if not text.strip() or "\0" in text:
        raise Invalid("Write a message.", details={"path": "message"})
    if len(text) > LONGEST_MESSAGE:
        raise Invalid("This message is too long.", details={"path": "message"})
    body: dict[str, Any] = {"messages": [{"id": str(uuid4()), "role": "user", "content": text}]}
    if state is not ABSENT:
        body["state"] = state
    return run_agent_input.parse(body, agent=slug)


def _before(request: HttpRequest) -> int | None:
    text = request.GET.get("before", "")
    if not text:
        return None
    if (number := whole(text, 0, LARGEST)) is None:
        raise BadRequest("before is not a place in the list of versions.")
    return number
