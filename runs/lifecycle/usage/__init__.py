"""The usage of teams: the prices of their models, and their sums by day and hour."""
