"""Agents that come with the host and work offline."""
