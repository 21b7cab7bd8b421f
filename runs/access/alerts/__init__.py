"""Alerts: a measure of the runs of a team, a threshold, and who is told."""
