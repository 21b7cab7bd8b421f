"""Agents and what runs them: authors import its names from ``agui_host``."""

from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.registry import agent

__all__ = ["RunContext", "agent"]
