"""What ``GET /agui/info`` says of a team's agents: who they are, what a client may rely on.

AgentCapabilities of AG-UI 1.0: an absent member says nothing, so there is only what this host
honours for every agent, and what a team says of its own in the agent's settings.
"""

from typing import Any

from django.conf import settings

from runs.access.start import DEFAULT
from runtimes.models import Agent
from teams.authentication import Principal

SERVICE = "AG-UI run host"
TOLD = ("profile", "goal", "constraints")
"""Members of an agent's settings that are shown as they are, where they are text."""

Json = dict[str, Any]


def info(principal: Principal) -> Json:
    """The map of the agents that the credential is for, beside what CopilotKit's runtime says."""
    rows = Agent.objects.for_team(principal.team).filter(enabled=True)
    agents = [agent for agent in rows if principal.may_use(agent.slug)]
    told = {agent.slug: describe(agent) for agent in agents}
    default = next((agent for agent in agents if agent.is_default), None)
    if default and DEFAULT not in told:
        told[DEFAULT] = {**describe(default), "id": DEFAULT}
    version = settings.SPECTACULAR_SETTINGS["VERSION"]
    return {"service": SERVICE, "version": version, **_RUNTIME, "agents": told}


_RUNTIME: Json = {
    "mode": "sse",
    "threadEndpoints": {
        "list": True,
        "inspect": True,
        "mutations": False,
        "realtimeMetadata": False,
    },
    "audioFileTranscriptionEnabled": False,
    "suggestions": False,
    "a2uiEnabled": False,
    "openGenerativeUIEnabled": False,
    "telemetryDisabled": True,
}
"""What ``@copilotkit/core`` 1.75 reads of a runtime's info, besides version and agents."""


def describe(agent: Agent) -> Json:
    """One agent; ``id`` is its name in addresses and bodies."""
    told = {name: agent.settings.get(name) for name in TOLD}
    return {
        "id": agent.slug,
        "name": agent.name,
        "description": agent.description,
        **{name: value for name, value in told.items() if isinstance(value, str)},
        "className": "HttpAgent",
        "capabilities": capabilities(agent),
    }


def capabilities(agent: Agent) -> Json:
    """AgentCapabilities; ``settings.capabilities`` adds to a group, or overrides members of it.

    Except for what is the host's to say: how events travel, and how long a run may take.
    """
    seconds = agent.timeout_seconds or settings.AGUI_RUN_TIMEOUT
    known: Json = {
        "identity": {"name": agent.name, "type": agent.kind, "description": agent.description},
        "tools": {"clientProvided": True},
        "state": {"snapshots": True, "deltas": True, "persistentState": True},
        "humanInTheLoop": {"interrupts": True},
    }
    ours: Json = {
        "transport": {
            "streaming": True,
            "websocket": True,
            "httpBinary": False,
            "pushNotifications": False,
            "resumable": True,
        },
        "execution": {"maxExecutionTime": round(seconds * 1000)},
    }
    own = agent.settings.get("capabilities")
    return _merged(_merged(known, own if isinstance(own, dict) else {}), ours)


def _merged(groups: Json, others: Json) -> Json:
    """Both, member by member; a group that is no object is left out."""
    found = dict(groups)
    for name, members in others.items():
        if isinstance(members, dict):
            found[name] = {**found.get(name, {}), **members}
    return found
