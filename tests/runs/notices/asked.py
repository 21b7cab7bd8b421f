"""A question that no database has, for what a notice says of it."""

from agui_host.runtimes.models import Agent
from runs.models import Interrupt, Run


def unsaved(text: str) -> Interrupt:
    return Interrupt(message=text, reason="confirm", run=Run(agent=Agent(slug="echo")))
