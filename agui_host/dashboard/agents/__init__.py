"""The pages of a team's agents."""
