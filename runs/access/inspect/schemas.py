"""The state that a start brings, and the schema of its agent."""

from typing import Any

from agui_host.protocol.errors import Invalid
from agui_host.protocol.intake.response_schema import ResponseSchema, Unusable
from agui_host.runtimes import registry
from agui_host.runtimes.models import Agent, OnBadState


class StateRefused(Invalid):
    """The state does not match the agent's schema."""

    code = "state_refused"


def check(agent: Agent, state: Any) -> None:
    """Refuse a state that does not match, if the agent says so. Raises StateRefused."""
    if agent.on_bad_state != OnBadState.REFUSE or state in (None, {}):
        return
    if problems := problems_of(agent, state):
        raise StateRefused(details={"problems": problems})


def problems_of(agent: Agent, state: Any) -> list[dict[str, str]]:
    """The differences from the agent's schema; none without a schema that can be checked."""
    schema = registry.state_schema_of(agent)
    if schema is None:
        return []
    try:
        return ResponseSchema(schema).problems(state)
    except Unusable:
        return []
