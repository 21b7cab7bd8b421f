"""Agents and what runs them: ``from runtimes import agent, RunContext``."""

from runtimes.context.run_context import RunContext
from runtimes.registry import agent

__all__ = ["RunContext", "agent"]
