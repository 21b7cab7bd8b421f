"""The content of ``GET /agui/info``: a team's agents, and their capabilities for clients.

AgentCapabilities of AG-UI 1.0: an absent member means unknown, so it lists only what this host
honours for every agent, and the capabilities in the settings of a team's agents.
"""

from typing import Any

from django.conf import settings

from agui_host.runtimes import registry
from agui_host.runtimes.models import Agent
from agui_host.teams.authentication import Principal
from runs.access.start import DEFAULT

SERVICE = "AG-UI run host"
SHOWN_SETTINGS = ("profile", "goal", "constraints")
"""Members of an agent's settings that are shown unchanged if they are text."""

Json = dict[str, Any]


def info(principal: Principal, socket: str | None = None) -> Json:
    """The agents that the credential is for, in the shape of CopilotKit's runtime info.

    ``socket``: the address of the channels of its Intelligence runtime.
    """
    rows = Agent.objects.for_team(principal.team).filter(enabled=True)
    agents = [agent for agent in rows if principal.may_use(agent.slug)]
    agents_info = {agent.slug: describe(agent) for agent in agents}
    default = next((agent for agent in agents if agent.is_default), None)
    if default and DEFAULT not in agents_info:
        agents_info[DEFAULT] = {**describe(default), "id": DEFAULT}
    version = settings.SPECTACULAR_SETTINGS["VERSION"]
    runtime = _RUNTIME
    if socket is not None:
        runtime = {**runtime, "mode": "intelligence", "intelligence": {"wsUrl": socket}}
    return {"service": SERVICE, "version": version, **runtime, "agents": agents_info}


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
    """One agent; ``id`` is its name in URLs and bodies."""
    texts = {name: agent.settings.get(name) for name in SHOWN_SETTINGS}
    return {
        "id": agent.slug,
        "name": agent.name,
        "description": agent.description,
        **{name: value for name, value in texts.items() if isinstance(value, str)},
        **({} if (schema := registry.state_schema_of(agent)) is None else {"stateSchema": schema}),
        "className": "HttpAgent",
        "capabilities": capabilities(agent),
    }


def capabilities(agent: Agent) -> Json:
    """AgentCapabilities; ``settings.capabilities`` adds to a group, or overrides members of it.

    It cannot change the host's own: how events travel, and how long a run may take.
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
    """Both, member by member; a group that is not an object is left out."""
    merged = dict(groups)
    for name, members in others.items():
        if isinstance(members, dict):
            merged[name] = {**merged.get(name, {}), **members}
    return merged
