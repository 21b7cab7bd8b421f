"""The pages of a team: people, keys, shared runs, rules."""
