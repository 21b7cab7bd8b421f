"""Budgets in a worker: watches what its runs report."""
