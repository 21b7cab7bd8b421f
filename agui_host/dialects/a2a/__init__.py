"""A2A 1.0: agents for other agents."""
