"""Schedules: when the next tick is, what happens to missed ticks, and a tick's run."""
