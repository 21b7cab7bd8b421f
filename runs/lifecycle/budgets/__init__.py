"""Budgets: prices, spending as it happens, and the question of a budget that asks."""
