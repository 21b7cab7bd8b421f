"""Schedules: when the next tick is, what happens to missed ticks, and what a tick starts."""
