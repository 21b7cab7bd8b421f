"""Former versions of an agent: whether one can run again, and the agent as it was then."""

from typing import NamedTuple

from django.core.exceptions import ValidationError

from agui_host.backends.postgres.bridge import db
from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.runtimes import team_agents
from agui_host.runtimes.columns import check_context_providers, check_middleware
from agui_host.runtimes.kinds import kinds, on_behalf
from agui_host.runtimes.kinds.kind import BadSettings
from agui_host.runtimes.middleware import keys
from agui_host.runtimes.models import Agent, AgentVersion
from agui_host.runtimes.versions.codes import code_of
from agui_host.teams.tenancy import TeamQuerySet
from runs.models import AgentTerms, Run

UNKNOWN = "It is older than this release, the first to keep the parts of a version."
FED = "Its runs are fed from elsewhere, so the host cannot choose their version."
CODE_GONE = "Its code is gone: the host has another version of the agent's module."
OTHER_PART = "A part of it is no longer on this host, or refuses its settings."
KEY_GONE = "An API key of its middleware or context providers was removed."
MOST = 20
"""Versions of an agent to choose from."""


class Choice(NamedTuple):
    """A version of an agent, and why it cannot run; without a ``problem`` it can.

    ``moved``: its address was on another host, which does not get the agent's headers.
    """

    version: AgentVersion
    problem: str
    moved: bool


def choices(agent: Agent) -> list[Choice]:
    """The newest former versions of an agent."""
    rows = AgentVersion.objects.for_team(agent.team).filter(agent=agent.pk)
    newest = list(rows.exclude(version=agent.version).order_by("-id")[:MOST])
    known = _terms(agent).filter(version__in=[row.version for row in newest])
    terms = {row.version: row for row in known}
    return [_choice(agent, row, terms.get(row.version)) for row in newest]


def problem_of(agent: Agent, version: str) -> str:
    """Why this version of the agent cannot run; empty if it can, as far as its row says."""
    return problem(agent, _terms(agent).filter(version=version).first(), agent.code)


def problem(agent: Agent, terms: AgentTerms | None, code: str) -> str:
    """Why a version cannot run where the agent's module has the digest ``code``."""
    if terms is None:
        return UNKNOWN
    kind = kinds.of(terms.kind)
    if kind.fed:
        return FED
    if terms.code != code:
        return CODE_GONE
    try:
        check_middleware(terms.middleware)
        check_context_providers(terms.context_providers)
        kind.check_settings(terms.settings)
    except (ValidationError, BadSettings):
        return OTHER_PART
    return "" if _has_keys(agent, terms) else KEY_GONE


async def put_on(run: Run) -> None:
    """Give the run's agent the values of the version that it is to run, if it names one.

    Raises RunFailed if this process cannot run that version.
    """
    if run.wanted_version is not None:
        await db(_put_on, run.agent, run.wanted_version)


def _put_on(agent: Agent, version: str) -> None:
    terms = _terms(agent).filter(version=version).first()
    target = agent.target if terms is None else terms.target
    code = code_of(Agent(slug=agent.slug, target=target))
    reason = problem(agent, terms, code)
    if terms is None or reason:
        raise RunFailed(RunErrorCode.CODE_CHANGED, f"Version {version} cannot run. {reason}")
    if _is_elsewhere(agent, terms):
        # The headers are for the present address: another host must not learn them.
        agent.seal({"headers": {}, on_behalf.SECTION: ""})
    agent.kind, agent.target, agent.settings = terms.kind, terms.target, terms.settings
    agent.middleware, agent.context_providers = terms.middleware, terms.context_providers
    agent.version = version


def _choice(agent: Agent, row: AgentVersion, terms: AgentTerms | None) -> Choice:
    moved = terms is not None and _is_elsewhere(agent, terms)
    return Choice(row, problem(agent, terms, agent.code), moved)


def _terms(agent: Agent) -> TeamQuerySet[AgentTerms]:
    rows: TeamQuerySet[AgentTerms] = AgentTerms.objects.for_team(agent.team)
    return rows.filter(agent=agent.pk)


def _has_keys(agent: Agent, terms: AgentTerms) -> bool:
    return keys.are_known(terms.middleware, agent.keys_of("middleware")) and keys.are_known(
        terms.context_providers, agent.keys_of("context_providers")
    )


def _is_elsewhere(agent: Agent, terms: AgentTerms) -> bool:
    return team_agents.origin(agent.target) != team_agents.origin(terms.target)
