"""The Model Context Protocol: agents as tools."""
