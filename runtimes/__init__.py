"""Agents and what runs them: ``from runtimes import agent, RunContext``."""

from runtimes.base import RunContext
from runtimes.registry import agent

__all__ = ["RunContext", "agent"]
