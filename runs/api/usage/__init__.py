"""The team's limits, its usage over time, and the prices of models."""
