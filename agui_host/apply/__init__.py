"""``agui-host apply``: teams, their people, agents and rules from one file."""
