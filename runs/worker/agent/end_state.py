"""The state at the end of a run, compared with the schema of its agent."""

from agui_host.protocol.intake.findings import Finding
from agui_host.protocol.intake.intake import Intake
from agui_host.runtimes.models import Agent, OnBadState
from events.writer.lease import Lease
from runs.access.inspect import schemas

RULE = "state_schema"


def findings(agent: Agent, intake: Intake, lease: Lease) -> list[Finding]:
    """The findings to store now; with the end of a run also that its state does not match."""
    batch, terminal = intake.take_findings(), intake.terminal
    if terminal is None or terminal["type"] != "RUN_FINISHED":
        return batch
    state = intake.replicas.state
    if agent.on_bad_state == OnBadState.IGNORE or not schemas.problems_of(agent, state):
        return batch
    return [*batch, Finding(lease.head + lease.in_flight + 1, RULE, "unmatched")]
